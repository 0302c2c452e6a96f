/** The store as the API has it: books in memory. */
import type { SfsdError } from '../../src/contracts/errors.js';
import type {
  AsyncInvocation,
  AsyncInvocations,
  LostInvocation,
  StoreStatus,
} from '../../src/contracts/store.js';

/** Keeps books of what it is told, and refuses when a test says so. */
export class SimulatedStore {
  readonly inFlight = new Map<string, AsyncInvocation>();
  lostInvocations: readonly LostInvocation[] = [];
  failure: SfsdError | undefined;

  readonly invocations: AsyncInvocations = {
    begin: async (invocation) => {
      if (this.failure !== undefined) throw this.failure;
      this.inFlight.set(`${invocation.source} ${invocation.id}`, invocation);
    },
    end: ({ source, id }) => void this.inFlight.delete(`${source} ${id}`),
  };

  status(): StoreStatus {
    const path = '/var/lib/sfsd/sfsd.db';
    return {
      path,
      schemaVersion: 2,
      setAside: `${path}.damaged`,
      rowsSetAside: 1,
      lostInvocations: 2,
      writeFailures: 3,
    };
  }
}
