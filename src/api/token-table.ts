/**
 * The tokens that TCP clients present. Kept as digests, each compared in constant time and none skipped: how long an answer takes
 * says nothing of how much of a guess was right.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Role } from '../contracts/access.js';
import type { Credentials } from '../contracts/function.js';

export interface Token {
  readonly name: string;
  readonly role: Role;
  /** Whom its functions run as. */
  readonly credentials: Credentials;
}

export class TokenTable {
  readonly #entries: readonly { readonly digest: Buffer; readonly token: Token }[];

  constructor(entries: readonly (Token & { readonly secret: string })[]) {
    this.#entries = entries.map(({ secret, name, role, credentials }) => ({
      digest: digestOf(secret),
      token: { name, role, credentials },
    }));
  }

  find(presented: string): Token | undefined {
    const digest = digestOf(presented);
    let found: Token | undefined;
    for (const entry of this.#entries) if (timingSafeEqual(entry.digest, digest)) found = entry.token;
    return found;
  }
}

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
