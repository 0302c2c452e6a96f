/**
 * The registered functions: a bounded table of frozen specs. Running instances keep the spec they were launched with, so
 * replacing or deleting a function never touches them.
 */
import { SfsdError } from '../contracts/errors.js';
import type { FunctionSpec } from '../contracts/function.js';
import { FunctionSlots } from './function-slots.js';
import { defineFunction, type FunctionDefaults } from './function-spec.js';

export interface RegistryOptions {
  readonly registeredMax: number;
  readonly defaults: FunctionDefaults;
}

export class FunctionRegistry {
  readonly slots = new FunctionSlots();
  readonly #options: RegistryOptions;
  readonly #specs = new Map<string, FunctionSpec>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#specs.size;
  }

  /**
   * Registers a definition, or replaces the one of that name.
   * Throws SFSD_ERR_FUNCTION_INVALID (all faults), SFSD_ERR_FUNCTIONS_FULL.
   */
  put(name: string, definition: unknown): { readonly spec: FunctionSpec; readonly created: boolean } {
    const spec = defineFunction(name, definition, this.#options.defaults);
    const created = !this.#specs.has(name);
    const limit = this.#options.registeredMax;
    if (created && this.#specs.size >= limit) throw new SfsdError('SFSD_ERR_FUNCTIONS_FULL', { limit });
    this.#specs.set(name, spec);
    return { spec, created };
  }

  has(name: string): boolean {
    return this.#specs.has(name);
  }

  /** Throws SFSD_ERR_FUNCTION_UNKNOWN. */
  get(name: string): FunctionSpec {
    const spec = this.#specs.get(name);
    if (spec === undefined) throw new SfsdError('SFSD_ERR_FUNCTION_UNKNOWN', { name });
    return spec;
  }

  /** In order of their names. */
  list(): readonly FunctionSpec[] {
    return [...this.#specs.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  /** Running instances finish. Throws SFSD_ERR_FUNCTION_UNKNOWN. */
  delete(name: string): void {
    this.get(name);
    this.#specs.delete(name);
  }
}
