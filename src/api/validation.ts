/**
 * Validation of requests against their JSON schemas (draft 2020-12, as OpenAPI 3.1 uses it).
 *
 *   1. The first-fault validator runs on every request: cheap, and the only one a valid request meets.
 *   2. Only when it refuses, and the value is small, the all-faults validator runs, so that the answer names every fault.
 *
 * Listing all faults of an arbitrary value is a known way to exhaust memory (one error object for each of a million wrong
 * items), hence the bound in step 2; a larger value gets its first fault alone. Nothing is coerced and nothing unknown is
 * dropped: what a caller sent wrongly is refused, not guessed. Absent fields get the schema's defaults.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifySchemaCompiler } from 'fastify';
import { SfsdError } from '../contracts/errors.js';

/** Most values (leaves, arrays and objects) in a request part whose faults are all listed. */
const allFaultsNodesMax = 10_000;
/** Most faults in one answer; the rest is counted. */
const faultsListedMax = 50;
/** Names that callers chose are cut here when a fault quotes them. */
const quotedLengthMax = 64;

/** The schemas are ours and a test holds them against the meta-schema; compiling that at each start would take longer than ours. */
const common = {
  useDefaults: true,
  strict: true,
  strictTypes: false,
  strictRequired: false,
  validateSchema: false,
  verbose: true,
} as const;

type Part = 'body' | 'query' | 'path' | 'header';
const partNames: Readonly<Record<string, Part>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

/** @param shared schemas with an `$id`, which routes refer to. */
export function schemaCompiler(shared: readonly object[]): FastifySchemaCompiler<unknown> {
  const first = new Ajv2020({ ...common, allErrors: false, schemas: [...shared] });
  let all: Ajv2020 | undefined;
  return ({ schema, httpPart }) => {
    const source = schema as object;
    const part = partNames[httpPart ?? 'body'] ?? 'body';
    const validateFirst = first.compile(source);
    let validateAll: ValidateFunction | undefined;
    return (value: unknown) => {
      if (validateFirst(value)) return true;
      let errors = validateFirst.errors ?? [];
      if (isSmall(value)) {
        all ??= new Ajv2020({ ...common, allErrors: true, schemas: [...shared] });
        validateAll ??= all.compile(source);
        validateAll(value);
        errors = validateAll.errors ?? errors;
      }
      return { error: new SfsdError('SFSD_ERR_REQUEST_INVALID', { reason: describe(part, errors) }) };
    };
  };
}

/** Walks without recursion: a value may be nested as deep as its text is long. */
function isSmall(value: unknown): boolean {
  const waiting: unknown[] = [value];
  for (let seen = 0; seen < allFaultsNodesMax; seen += 1) {
    const next = waiting.pop();
    if (typeof next === 'object' && next !== null) {
      const children = Array.isArray(next) ? next : Object.values(next);
      if (seen + waiting.length + children.length > allFaultsNodesMax) return false;
      for (const child of children) waiting.push(child);
    }
    if (waiting.length === 0) return true;
  }
  return false;
}

function describe(part: Part, errors: readonly ErrorObject[]): string {
  // Faults inside the branches of a oneOf say why each branch was not taken; the oneOf itself says what is wrong.
  const faults = errors.filter((error) => !/\/oneOf\/\d+\//.test(error.schemaPath));
  const listed = faults.slice(0, faultsListedMax).map((error) => `${part}${fault(error)}`);
  const left = faults.length - listed.length;
  return left > 0 ? `${listed.join('; ')}; and ${left} more` : listed.join('; ');
}

function fault(error: ErrorObject): string {
  const where = error.instancePath.slice(0, 4 * quotedLengthMax);
  switch (error.keyword) {
    case 'additionalProperties':
      return `${where} has the unknown field ${quoted(error.params.additionalProperty)}`;
    case 'enum':
      return `${where} must be one of ${(error.params.allowedValues as readonly unknown[]).join(', ')}`;
    case 'oneOf':
      return `${where} must have exactly one of ${branchNames(error.schema)}`;
    case 'propertyNames':
      return `${where} has the field ${quoted(error.params.propertyName)}, whose name is not valid`;
    default:
      return `${where} ${error.message ?? error.keyword}`;
  }
}

function branchNames(branches: unknown): string {
  const list = branches as readonly { readonly required: readonly string[] }[];
  return list.flatMap((branch) => branch.required).join(' and ');
}

function quoted(name: unknown): string {
  return JSON.stringify(String(name).slice(0, quotedLengthMax));
}
