/**
 * A function definition as a client sends it, checked field by field: every fault is found and listed at once, absent fields get
 * the daemon's defaults, and the result is frozen. Bounds here are such that a spec always fits one message to the spawner.
 */
import { Buffer } from 'node:buffer';
import { SfsdError } from '../contracts/errors.js';
import type { FunctionSpec } from '../contracts/function.js';
import { type PolicyName, policyNames } from '../contracts/invocation.js';

export interface FunctionDefaults {
  readonly timeoutMs: number;
  readonly concurrency: number;
  /** Also the most that a function may ask for. */
  readonly outputMaxBytes: number;
}

export const functionNamePattern = /^[-a-zA-Z0-9_.]{1,128}$/;
const environmentNamePattern = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const loneSurrogate = /\p{Surrogate}/u;
const argumentsMax = 512;
const environmentMax = 512;
/** All text of a spec, as UTF-8; the spawner takes 128 KiB with everything else. */
const textBytesMax = 96 * 1024;
const pathBytesMax = 4095;
/** setTimeout's own bound: beyond it Node fires at once. */
const timeoutMsMax = 2 ** 31 - 1;
/** The spawner's bound on children. */
const concurrencyMax = 32_768;
/** Less holds no process at all. */
const memoryMinBytes = 1024 * 1024;
/** What S itself may be set to. */
const sliceMaxMsBounds: Bounds = { min: 0.5, max: 60_000 };
const weightBounds: Bounds = { min: 0.01, max: 100 };
/** PID_MAX_LIMIT of 64-bit Linux. */
const pidsMaxMax = 4_194_304;
/** 2^32 - 1 means "no one" to the kernel. */
const idMax = 2 ** 32 - 2;

const fieldNames = new Set([
  'name',
  'command',
  'args',
  'env',
  'workingDirectory',
  'memoryMaxBytes',
  'pidsMax',
  'timeoutMs',
  'concurrency',
  'outputMaxBytes',
  'policy',
  'sliceMaxMs',
  'weight',
  'uid',
  'gid',
]);

/** Throws SFSD_ERR_FUNCTION_INVALID with all faults in its reason. */
export function defineFunction(name: string, definition: unknown, defaults: FunctionDefaults): FunctionSpec {
  if (typeof definition !== 'object' || definition === null || Array.isArray(definition)) {
    throw new SfsdError('SFSD_ERR_FUNCTION_INVALID', { reason: 'the definition is not an object' });
  }
  const fields = new Fields(definition as Readonly<Record<string, unknown>>);
  fields.require(functionNamePattern.test(name), 'name: 1 to 128 of letters, digits, - _ .');
  fields.require(
    !fields.has('name') || fields.raw('name') === name,
    'name: differs from the name it is put under',
  );
  for (const field of fields.names())
    fields.require(fieldNames.has(field), `${field.slice(0, 64)}: unknown field`);
  const whole = (field: string, bounds: Bounds) => fields.whole(field, bounds);
  const memoryMaxBytes = whole('memoryMaxBytes', { min: memoryMinBytes, max: Number.MAX_SAFE_INTEGER });
  const pidsMax = whole('pidsMax', { min: 1, max: pidsMaxMax });
  const policy = fields.policy();
  const sliceMaxMs = fields.number('sliceMaxMs', sliceMaxMsBounds);
  const weight = fields.number('weight', weightBounds);
  const uid = whole('uid', { min: 0, max: idMax });
  const gid = whole('gid', { min: 0, max: idMax });
  fields.require((uid === undefined) === (gid === undefined), 'uid and gid: both or neither');
  const spec: FunctionSpec = {
    name,
    command: fields.command(),
    args: Object.freeze(fields.args()),
    env: Object.freeze(fields.env()),
    workingDirectory: fields.workingDirectory(),
    timeoutMs: whole('timeoutMs', { min: 0, max: timeoutMsMax }) ?? defaults.timeoutMs,
    concurrency: whole('concurrency', { min: 1, max: concurrencyMax }) ?? defaults.concurrency,
    outputMaxBytes:
      whole('outputMaxBytes', { min: 0, max: defaults.outputMaxBytes }) ?? defaults.outputMaxBytes,
    ...(memoryMaxBytes === undefined ? {} : { memoryMaxBytes }),
    ...(pidsMax === undefined ? {} : { pidsMax }),
    ...(policy === undefined ? {} : { policy }),
    ...(sliceMaxMs === undefined ? {} : { sliceMaxMs }),
    ...(weight === undefined ? {} : { weight }),
    ...(uid === undefined || gid === undefined ? {} : { uid, gid }),
  };
  fields.require(textBytes(spec) <= textBytesMax, `command, args and env: more than ${textBytesMax} bytes`);
  if (fields.faults.length > 0) {
    throw new SfsdError('SFSD_ERR_FUNCTION_INVALID', { reason: fields.faults.join('; ') });
  }
  return Object.freeze(spec);
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Reads one field at a time and notes what is wrong with it; a wrong field reads as harmless. */
class Fields {
  readonly faults: string[] = [];
  readonly #raw: Readonly<Record<string, unknown>>;

  constructor(raw: Readonly<Record<string, unknown>>) {
    this.#raw = raw;
  }

  names(): string[] {
    return Object.keys(this.#raw);
  }

  has(field: string): boolean {
    return Object.hasOwn(this.#raw, field);
  }

  raw(field: string): unknown {
    return this.has(field) ? this.#raw[field] : undefined;
  }

  require(holds: boolean, fault: string): void {
    if (!holds) this.faults.push(fault);
  }

  whole(field: string, { min, max }: Bounds): number | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    this.faults.push(`${field}: a whole number from ${min} to ${max}`);
    return undefined;
  }

  number(field: string, { min, max }: Bounds): number | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && value >= min && value <= max) return value;
    this.faults.push(`${field}: a number from ${min} to ${max}`);
    return undefined;
  }

  policy(): PolicyName | undefined {
    const value = this.raw('policy');
    const known = policyNames.find((name) => name === value);
    this.require(value === undefined || known !== undefined, `policy: one of ${policyNames.join(', ')}`);
    return known;
  }

  command(): string {
    const value = this.raw('command');
    const good =
      isText(value) && value !== '' && (!value.includes('/') || value.startsWith('/')) && isShort(value);
    this.require(good, 'command: an absolute path, or a name without a slash');
    return good ? value : '';
  }

  workingDirectory(): string {
    const value = this.raw('workingDirectory') ?? '/';
    const good = isText(value) && value.startsWith('/') && isShort(value);
    this.require(good, 'workingDirectory: an absolute path');
    return good ? value : '/';
  }

  args(): string[] {
    const value = this.raw('args') ?? [];
    const good = Array.isArray(value) && value.length <= argumentsMax && value.every(isText);
    this.require(good, `args: at most ${argumentsMax} strings without NUL`);
    return good ? [...(value as string[])] : [];
  }

  env(): Record<string, string> {
    const value = this.raw('env') ?? {};
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const entries: [string, unknown][] = isObject ? Object.entries(value) : [];
    this.require(
      isObject && entries.length <= environmentMax,
      `env: an object of at most ${environmentMax} names`,
    );
    const wrong = entries.filter(([name, text]) => !environmentNamePattern.test(name) || !isText(text));
    for (const [name] of wrong.slice(0, 8)) {
      this.faults.push(
        `env ${JSON.stringify(name.slice(0, 64))}: a plain name and a string without NUL are needed`,
      );
    }
    return wrong.length > 0 ? {} : Object.fromEntries(entries as [string, string][]);
  }
}

/** A lone surrogate has no UTF-8: it would reach the program as something else. */
function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && !loneSurrogate.test(value);
}

function isShort(path: string): boolean {
  return Buffer.byteLength(path) <= pathBytesMax;
}

function textBytes(spec: FunctionSpec): number {
  const texts = [spec.command, spec.workingDirectory, ...spec.args, ...Object.entries(spec.env).flat()];
  return texts.reduce((total, text) => total + Buffer.byteLength(text) + 1, 0);
}
