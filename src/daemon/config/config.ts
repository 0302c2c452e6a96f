/**
 * The configuration: defaults < file < environment < flags, checked once by the schema, every fault listed at once, then frozen.
 *
 * Environment: `SFSD_<SECTION>_<KEY>` in upper snake case (`SFSD_SCHEDULER_RESERVE_CPUS=1`); `SFSD_SOCKET` is `socket.path`.
 * Flags: dotted keys (`scheduler.reserveCpus=1`).
 */
import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject } from 'ajv';
import type { SfsdConfig } from '../../contracts/config.js';
import { reasonOf, SfsdError } from '../../contracts/errors.js';
import { policiesBeside } from '../../contracts/invocation.js';
import { configSchema } from './config-schema.js';

export interface ConfigSources {
  /** Absent: no file is read. */
  readonly path?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Dotted key to value; text is read as JSON where it is JSON. */
  readonly flags: Readonly<Record<string, unknown>>;
}

interface Assignment {
  readonly key: string;
  readonly value: unknown;
  /** For the fault's text: where the operator has to look. */
  readonly origin: string;
}

/** @throws SfsdError SFSD_ERR_CONFIG_INVALID that lists every fault with its origin; SFSD_ERR_FILE when the file cannot be read. */
export function loadConfig(sources: ConfigSources): SfsdConfig {
  const faults: string[] = [];
  const tree: Record<string, Record<string, unknown>> = {};
  const origins = new Map<string, string>();
  if (sources.path !== undefined) mergeFile(sources.path, { tree, origins, faults });
  faults.push(...unknownNames(sources.environment));
  for (const assignment of [...fromEnvironment(sources.environment), ...fromFlags(sources.flags)]) {
    assign(assignment, { tree, origins, faults });
  }
  const validate = new Ajv({ allErrors: true, useDefaults: true, strict: true }).compile(configSchema);
  validate(tree);
  for (const error of validate.errors ?? []) faults.push(faultText(error, origins));
  if (faults.length === 0) faults.push(...crossFaults(tree as unknown as SfsdConfig));
  if (faults.length > 0) {
    throw new SfsdError('SFSD_ERR_CONFIG_INVALID', {
      count: faults.length,
      faults: faults.map((fault) => `  ${fault}`).join('\n'),
    });
  }
  return freeze(tree) as unknown as SfsdConfig;
}

/** Environment name of a dotted key: `scheduler.reserveCpus` -> `SFSD_SCHEDULER_RESERVE_CPUS`. */
export function environmentName(key: string): string {
  return `SFSD_${key.replace('.', '_').replace(/([a-z])([A-Z])/g, '$1_$2')}`.toUpperCase();
}

interface Target {
  readonly tree: Record<string, Record<string, unknown>>;
  readonly origins: Map<string, string>;
  readonly faults: string[];
}

function mergeFile(path: string, target: Target): void {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new SfsdError('SFSD_ERR_FILE', { file: path, reason: reasonOf(cause) }, { cause });
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    target.faults.push(`${path}: is not JSON: ${reasonOf(cause)}`);
    return;
  }
  if (!isObject(parsed)) {
    target.faults.push(`${path}: must hold one JSON object`);
    return;
  }
  for (const [sectionName, section] of Object.entries(parsed)) {
    if (!isObject(section)) {
      target.faults.push(`${path}: ${sectionName} must be an object`);
      continue;
    }
    if (!Object.hasOwn(configSchema.properties, sectionName)) {
      target.faults.push(`${path}: ${sectionName} is not a known section`);
      continue;
    }
    for (const [name, value] of Object.entries(section)) {
      assign({ key: `${sectionName}.${name}`, value, origin: path }, target);
    }
  }
}

function knownKeys(): string[] {
  return Object.entries(configSchema.properties).flatMap(([section, { properties }]) =>
    Object.keys(properties).map((name) => `${section}.${name}`),
  );
}

function fromEnvironment(environment: ConfigSources['environment']): Assignment[] {
  const assignments: Assignment[] = [];
  for (const key of knownKeys()) {
    const name = environmentName(key);
    const text = environment[name];
    if (text !== undefined) assignments.push({ key, value: parseText(text), origin: `environment ${name}` });
  }
  const socket = environment.SFSD_SOCKET;
  if (socket !== undefined)
    assignments.push({ key: 'socket.path', value: socket, origin: 'environment SFSD_SOCKET' });
  return assignments;
}

/** A misspelt key of ours would otherwise be a setting that silently is not there. */
function unknownNames(environment: ConfigSources['environment']): string[] {
  const known = new Set(knownKeys().map(environmentName));
  const beginnings = Object.keys(configSchema.properties).map((section) => environmentName(`${section}.`));
  return Object.keys(environment)
    .filter((name) => !known.has(name) && beginnings.some((beginning) => name.startsWith(beginning)))
    .map((name) => `environment ${name} is not a known key`);
}

function fromFlags(flags: ConfigSources['flags']): Assignment[] {
  return Object.entries(flags).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? parseText(value) : value,
    origin: `flag ${key}`,
  }));
}

function assign(assignment: Assignment, { tree, origins, faults }: Target): void {
  const [section, name, ...rest] = assignment.key.split('.');
  if (section === undefined || name === undefined || rest.length > 0 || section === '__proto__') {
    faults.push(`${assignment.origin}: ${assignment.key} must be SECTION.KEY`);
    return;
  }
  tree[section] ??= {};
  tree[section][name] = assignment.value;
  origins.set(assignment.key, assignment.origin);
}

/** Numbers and booleans are written bare; a text that is not JSON is itself. Octal modes stay text. */
function parseText(text: string): unknown {
  if (/^0[0-7]+$/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function faultText(error: ErrorObject, origins: ReadonlyMap<string, string>): string {
  const key = error.instancePath.slice(1).replaceAll('/', '.');
  const extra = error.params.additionalProperty;
  const name = typeof extra === 'string' ? [key, extra].filter(Boolean).join('.') : key;
  const origin = origins.get(name) ?? [...origins].find(([known]) => known.startsWith(`${name}.`))?.[1];
  const allowed = Array.isArray(error.params.allowedValues)
    ? `: ${error.params.allowedValues.join(', ')}`
    : '';
  const fact =
    typeof extra === 'string' ? 'is not a known key' : `${error.message ?? 'is not valid'}${allowed}`;
  return `${origin === undefined ? '' : `${origin}: `}${name} ${fact}`;
}

/** What no single key can say. */
function crossFaults({ scheduler, priorities, adopt, protect, tcp, access }: SfsdConfig): string[] {
  const faults: string[] = [];
  if (scheduler.sliceMinMs > scheduler.sliceMaxMs) {
    faults.push('scheduler.sliceMinMs must not be above scheduler.sliceMaxMs');
  }
  const { filter, control, spawner, scheduling, guard } = priorities;
  if (!(filter < control && control < spawner && spawner < scheduling && scheduling < guard)) {
    faults.push('priorities must rise: filter < control < spawner < scheduling < guard');
  }
  if (protect.rules.length > 0 && !(control < priorities.protected && priorities.protected < scheduling)) {
    faults.push('priorities must rise: control < protected < scheduling');
  }
  if (!priorities.realtime && ['fifo', 'eevdf'].includes(priorities.mode)) {
    faults.push(`priorities.realtime is false, but priorities.mode is ${priorities.mode}: drop one of them`);
  }
  protect.rules.forEach(({ commandPattern }, index) => {
    const reason = patternFault(commandPattern);
    if (reason !== undefined) faults.push(`protect.rules[${index}].commandPattern: ${reason}`);
  });
  adopt.rules.forEach(({ name, uid, commandHolds, policy }, index) => {
    if (name === undefined && uid === undefined && commandHolds === undefined)
      faults.push(`adopt.rules[${index}] fits every process: give it a name, a uid or commandHolds`);
    if (policy !== undefined && !policiesBeside(scheduler.policy).includes(policy))
      faults.push(`adopt.rules[${index}].policy is ${policy}, but scheduler.policy is ${scheduler.policy}`);
  });
  if (tcp.port > 0 && tcp.tokenFile === '')
    faults.push('tcp.port needs tcp.tokenFile: over TCP nobody is known without a token');
  if (tcp.port === 0 && tcp.tokenFile !== '')
    faults.push('tcp.tokenFile needs tcp.port: nothing would listen for its tokens');
  access.rules.forEach(({ uid, gid }, index) => {
    if (uid === undefined && gid === undefined)
      faults.push(`access.rules[${index}] names nobody: give it a uid or a gid, or use access.defaultRole`);
  });
  return faults;
}

function patternFault(pattern: string | undefined): string | undefined {
  try {
    new RegExp(pattern ?? '', 'u');
    return undefined;
  } catch (thrown) {
    return reasonOf(thrown);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function freeze<T extends object>(value: T): Readonly<T> {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) freeze(inner);
  return Object.freeze(value);
}
