/** A small table of functions that refuses one command. */
import { SfsdError } from '../../src/contracts/errors.js';
import type { FunctionSpec, FunctionStore } from '../../src/contracts/function.js';

export class SimulatedFunctions implements FunctionStore {
  readonly #specs = new Map<string, FunctionSpec>();
  readonly registeredMax: number;

  constructor(registeredMax = 3) {
    this.registeredMax = registeredMax;
  }

  async put(
    name: string,
    definition: unknown,
  ): Promise<{ readonly spec: FunctionSpec; readonly created: boolean }> {
    const spec = Object.freeze({ ...(definition as FunctionSpec), name });
    if (spec.command === '/refused') {
      throw new SfsdError('SFSD_ERR_FUNCTION_INVALID', { reason: 'the command is refused' });
    }
    const known = this.#specs.has(spec.name);
    if (!known && this.#specs.size >= this.registeredMax) {
      throw new SfsdError('SFSD_ERR_FUNCTIONS_FULL', { limit: this.registeredMax });
    }
    this.#specs.set(spec.name, spec);
    return { spec, created: !known };
  }

  get(name: string): FunctionSpec | undefined {
    return this.#specs.get(name);
  }

  list(): readonly FunctionSpec[] {
    return [...this.#specs.values()];
  }

  async delete(name: string): Promise<boolean> {
    return this.#specs.delete(name);
  }

  runningCount(): number {
    return 0;
  }
}
