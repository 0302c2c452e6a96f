/**
 * `store.path=none`: for daemons that live as long as one replay, one measurement or one test, and must not touch the host's file.
 */
import type { AsyncInvocations, BeliefRows, FunctionRows, Store, StoreStatus } from '../contracts/store.js';

export class NoStore implements Store {
  readonly storedFunctions = [];
  readonly lostInvocations = [];
  readonly storedBeliefs = [];
  readonly functions: FunctionRows = {
    put: async () => {},
    delete: async () => {},
    setAside: async () => {},
  };
  readonly invocations: AsyncInvocations = { begin: async () => {}, end: () => {} };
  readonly beliefs: BeliefRows = { keep: async () => {} };

  status(): StoreStatus {
    return { schemaVersion: 0, rowsSetAside: 0, lostInvocations: 0, writeFailures: 0 };
  }

  async close(): Promise<void> {}
}
