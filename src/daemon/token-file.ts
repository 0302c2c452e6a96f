/**
 * The token file: who may do what over TCP.
 *
 *   { "tokens": [ { "name": "gateway", "token": "32 or more visible characters", "role": "submit", "uid": 1001, "gid": 1001 } ] }
 *
 * It is read only when nobody but the daemon's user and root can have read or written it: a regular file of theirs, without any
 * right for group and others. That is asked of the open file, so it cannot be changed for another one in between.
 */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { TokenTable } from '../api/token-table.js';
import type { Role } from '../contracts/access.js';
import { reasonOf, SfsdError } from '../contracts/errors.js';

const tokensMax = 256;
const bytesMax = 256 * 1024;
const groupAndOthers = 0o077;
const userId = { type: 'integer', minimum: 0, maximum: 4_294_967_294 } as const;
/** Owns nothing and runs nothing. */
const nobody = { uid: -1, gid: -1 };

interface TokenEntry {
  readonly name: string;
  readonly token: string;
  readonly role: Exclude<Role, 'none'>;
  readonly uid?: number;
  readonly gid?: number;
}

const schema = {
  type: 'object',
  additionalProperties: false,
  required: ['tokens'],
  properties: {
    tokens: {
      type: 'array',
      minItems: 1,
      maxItems: tokensMax,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'token', 'role'],
        properties: {
          name: { type: 'string', pattern: '^[-a-zA-Z0-9_.]{1,64}$' },
          token: { type: 'string', pattern: '^[!-~]{32,512}$' },
          role: { enum: ['read', 'submit', 'operate'] },
          uid: userId,
          gid: userId,
        },
      },
    },
  },
} as const;

/** Throws SFSD_ERR_TOKEN_FILE. No error ever quotes what stands in the file. */
export function readTokenFile(
  path: string,
  daemon: { readonly uid: number; readonly gid: number },
): TokenTable {
  const refuse = (reason: string, cause?: unknown) =>
    new SfsdError('SFSD_ERR_TOKEN_FILE', { file: path, reason }, { cause });
  let text: string;
  try {
    text = readPrivate(path, daemon.uid, refuse);
  } catch (thrown) {
    throw thrown instanceof SfsdError ? thrown : refuse(reasonOf(thrown), thrown);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw refuse('it is not JSON');
  }
  const validate = new Ajv({ allErrors: true, strict: true }).compile<{
    readonly tokens: readonly TokenEntry[];
  }>(schema);
  if (!validate(parsed)) {
    const faults = (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${instancePath.slice(1).replaceAll('/', '.') || 'the file'} ${message ?? 'is not valid'}${unknownName(params)}`,
    );
    throw refuse(faults.slice(0, 8).join('; '));
  }
  const fault = parsed.tokens.flatMap((entry, index) => faultsOf(entry, index, parsed.tokens))[0];
  if (fault !== undefined) throw refuse(fault);
  return new TokenTable(
    parsed.tokens.map(({ name, token, role, uid, gid }) => ({
      name,
      role,
      secret: token,
      credentials:
        uid !== undefined && gid !== undefined ? { uid, gid } : role === 'operate' ? daemon : nobody,
    })),
  );
}

function readPrivate(path: string, daemonUid: number, refuse: (reason: string) => SfsdError): string {
  const fd = openSync(path, 'r');
  try {
    const { uid, mode, size } = fstatSync(fd);
    if ((mode & 0o170000) !== 0o100000) throw refuse('it is not a regular file');
    if (uid !== 0 && uid !== daemonUid)
      throw refuse(`it belongs to uid ${uid}; make it root's or uid ${daemonUid}'s`);
    if ((mode & groupAndOthers) !== 0)
      throw refuse(`its mode is 0${(mode & 0o777).toString(8)}, so others can use it; chmod 0600 it`);
    if (size > bytesMax) throw refuse(`it is larger than ${bytesMax} bytes`);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** What the schema cannot say. */
function faultsOf(entry: TokenEntry, index: number, all: readonly TokenEntry[]): string[] {
  const { name, token, role, uid, gid } = entry;
  const faults: string[] = [];
  if ((uid === undefined) !== (gid === undefined)) faults.push(`${name} needs both uid and gid, or neither`);
  if (role === 'submit' && uid === undefined)
    faults.push(`${name} needs uid and gid: whose functions and processes are its own`);
  if (role === 'submit' && uid === 0)
    faults.push(
      `${name} has uid 0: all of root's processes would be its own; give it operate, or another uid`,
    );
  if (all.findIndex((other) => other.name === name) !== index) faults.push(`${name} is there twice`);
  if (all.findIndex((other) => other.token === token) !== index)
    faults.push(`${name} has the token of another one`);
  return faults;
}

function unknownName(params: Readonly<Record<string, unknown>>): string {
  const { additionalProperty, allowedValues } = params;
  if (Array.isArray(allowedValues)) return `: ${allowedValues.join(', ')}`;
  return typeof additionalProperty === 'string' ? `: ${additionalProperty.slice(0, 64)}` : '';
}
