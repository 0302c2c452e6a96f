/**
 * The registered functions: a bounded table of frozen specs. Running instances keep the spec they were launched with, so
 * replacing or deleting a function never touches them.
 */
import { SfsdError } from '../contracts/errors.js';
import type { FunctionSpec, FunctionStore } from '../contracts/function.js';
import { FunctionSlots } from './function-slots.js';
import { defineFunction, type FunctionDefaults } from './function-spec.js';

export interface RegistryOptions {
  readonly registeredMax: number;
  readonly defaults: FunctionDefaults;
}

export class FunctionRegistry implements FunctionStore {
  readonly slots = new FunctionSlots();
  readonly #options: RegistryOptions;
  readonly #specs = new Map<string, FunctionSpec>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#specs.size;
  }

  put(name: string, definition: unknown): { readonly spec: FunctionSpec; readonly created: boolean } {
    const spec = defineFunction(name, definition, this.#options.defaults);
    const created = !this.#specs.has(name);
    const limit = this.#options.registeredMax;
    if (created && this.#specs.size >= limit) throw new SfsdError('SFSD_ERR_FUNCTIONS_FULL', { limit });
    this.#specs.set(name, spec);
    return { spec, created };
  }

  get(name: string): FunctionSpec | undefined {
    return this.#specs.get(name);
  }

  list(): readonly FunctionSpec[] {
    return [...this.#specs.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  delete(name: string): boolean {
    return this.#specs.delete(name);
  }

  runningCount(name?: string): number {
    return name === undefined ? this.slots.total : this.slots.running(name);
  }
}
