/**
 * Runs a command's work with a client and closes it whatever happens. The client is loaded here, on first use: undici is the
 * larger part of a command's start, and `--help` or a usage error need none of it.
 */
import type { SfsdClient } from './client.js';

export async function withClient<Result>(
  socketPath: string,
  work: (client: SfsdClient) => Promise<Result>,
): Promise<Result> {
  const { SfsdClient } = await import('./client.js');
  const client = new SfsdClient({ socketPath });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
