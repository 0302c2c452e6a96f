/**
 * The registered functions: a bounded table of frozen specs. Running instances keep the spec they were launched with, so
 * replacing or deleting a function never touches them.
 *
 *   put, delete   checked ─▶ on the disk ─▶ in the table ─▶ answered: what was answered outlasts a restart
 *   load          once, before the first request; a row that is not valid (any more) is set aside and told of
 *
 * Changes reach the table in the order in which they reach the disk.
 */
import { reasonOf, SfsdError } from '../contracts/errors.js';
import type { FunctionSpec, FunctionStore } from '../contracts/function.js';
import type { FunctionRow, FunctionRows } from '../contracts/store.js';
import { FunctionSlots } from './function-slots.js';
import { defineFunction, type FunctionDefaults } from './function-spec.js';

export interface RegistryOptions {
  readonly registeredMax: number;
  readonly defaults: FunctionDefaults;
  readonly rows: FunctionRows;
  /** Milliseconds since 1970. */
  readonly wallClock: () => number;
}

/** A stored function that was set aside. */
export interface UnusableRow {
  readonly name: string;
  readonly reason: string;
}

export class FunctionRegistry implements FunctionStore {
  readonly slots = new FunctionSlots();
  readonly #options: RegistryOptions;
  readonly #specs = new Map<string, FunctionSpec>();
  /** How many registrations of a new name are on their way to the disk. */
  readonly #arriving = new Map<string, number>();
  #registeredMax: number;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#registeredMax = options.registeredMax;
  }

  /** For what is registered from now on. */
  setRegisteredMax(registeredMax: number): void {
    this.#registeredMax = registeredMax;
  }

  get size(): number {
    return this.#specs.size;
  }

  /** All of them, also beyond a bound that was lowered meanwhile: it holds for new ones. @returns those set aside. */
  load(rows: readonly FunctionRow[]): readonly UnusableRow[] {
    const unusable: UnusableRow[] = [];
    for (const { name, definition } of rows) {
      try {
        this.#specs.set(name, storedFunction(name, definition, this.#options.defaults));
      } catch (thrown) {
        const reason = reasonOf(thrown);
        unusable.push({ name, reason });
        void this.#options.rows.setAside(name, reason);
      }
    }
    return unusable;
  }

  async put(
    name: string,
    definition: unknown,
  ): Promise<{ readonly spec: FunctionSpec; readonly created: boolean }> {
    const { defaults, rows, wallClock } = this.#options;
    const limit = this.#registeredMax;
    const spec = defineFunction(name, definition, defaults);
    const isNew = !this.#specs.has(name);
    const full = this.#specs.size + this.#arriving.size >= limit;
    if (isNew && full && !this.#arriving.has(name)) throw new SfsdError('SFSD_ERR_FUNCTIONS_FULL', { limit });
    if (isNew) this.#arriving.set(name, (this.#arriving.get(name) ?? 0) + 1);
    try {
      await rows.put({ name, definition: JSON.stringify(spec), createdAtUnixMs: wallClock() });
    } finally {
      if (isNew) this.#arrived(name);
    }
    const created = !this.#specs.has(name);
    this.#specs.set(name, spec);
    return { spec, created };
  }

  get(name: string): FunctionSpec | undefined {
    return this.#specs.get(name);
  }

  list(): readonly FunctionSpec[] {
    return [...this.#specs.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  async delete(name: string): Promise<boolean> {
    if (!this.#specs.has(name)) return false;
    await this.#options.rows.delete(name);
    return this.#specs.delete(name);
  }

  runningCount(name?: string): number {
    return name === undefined ? this.slots.total : this.slots.running(name);
  }

  #arrived(name: string): void {
    const count = this.#arriving.get(name) ?? 1;
    if (count === 1) this.#arriving.delete(name);
    else this.#arriving.set(name, count - 1);
  }
}

/** The bound on outputs may have been lowered since: it holds for all. */
function storedFunction(name: string, text: string, defaults: FunctionDefaults): FunctionSpec {
  const stored = JSON.parse(text) as { readonly outputMaxBytes?: unknown } | null;
  const wanted = stored?.outputMaxBytes;
  const bounded =
    typeof wanted === 'number' && wanted > defaults.outputMaxBytes
      ? { ...stored, outputMaxBytes: defaults.outputMaxBytes }
      : stored;
  return defineFunction(name, bounded, defaults);
}
