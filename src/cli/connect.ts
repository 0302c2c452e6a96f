/**
 * Runs a command's work with a client and closes it whatever happens. The client is loaded here, on first use: undici is the
 * larger part of a command's start, and `--help` or a usage error need none of it.
 */
import { readFileSync } from 'node:fs';
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { SfsdClient } from './client.js';

/** The path of a socket, or a daemon over TCP. */
export type DaemonAddress = string | { readonly url: string; readonly tokenFile: string };

export async function withClient<Result>(
  address: DaemonAddress,
  work: (client: SfsdClient) => Promise<Result>,
): Promise<Result> {
  const where =
    typeof address === 'string'
      ? { socketPath: address }
      : { url: address.url, token: readToken(address.tokenFile) };
  const { SfsdClient } = await import('./client.js');
  const client = new SfsdClient(where);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** One line: the client's own token, not the daemon's file of all. */
function readToken(path: string): string {
  const refuse = (reason: string, cause?: unknown) =>
    new SfsdError('SFSD_ERR_TOKEN_FILE', { file: path, reason }, { cause });
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (thrown) {
    throw refuse(reasonOf(thrown), thrown);
  }
  if (/^[!-~]+$/.test(text) && !text.startsWith('{')) return text;
  throw refuse("it must hold one token and nothing else; the daemon's own token file is not for clients");
}
