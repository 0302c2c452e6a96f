/**
 * Seeded malformed bodies: good requests with one thing spoilt, arbitrary JSON, and broken text.
 */

const fieldNames = [
  'id',
  'source',
  'functionName',
  'policy',
  'weight',
  'expectedMs',
  'pid',
  'startTime',
  'tids',
  'cgroup',
  'pidNamespace',
  'command',
  'args',
  'env',
  'name',
  'timeoutMs',
  'uid',
  'gid',
  'constructor',
  'toString',
  '__proto__',
  '',
  '\u0000',
] as const;
const scalars = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  77,
  '',
  'a',
  'host',
  '\ud800',
  '/a',
  '\u0000',
  'x'.repeat(5000),
] as const;

/** Whom good registrations name. */
export interface FuzzTarget {
  readonly pid: number;
  readonly startTime?: string;
  readonly tids?: readonly number[];
}

const nobody: FuzzTarget = { pid: 77, startTime: '1', tids: [1, 2] };

export class Fuzz {
  readonly #target: FuzzTarget;
  #state: number;

  constructor(seed: number, target = nobody) {
    this.#target = target;
    this.#state = seed >>> 0;
  }

  /** mulberry32: small, seeded, good enough to choose inputs. */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.below(items.length)] ?? items[0];
  }

  value(depth: number): unknown {
    if (depth === 0 || this.chance(0.5)) return this.pick(scalars);
    if (this.chance(0.5)) return Array.from({ length: this.below(6) }, () => this.value(depth - 1));
    const names = Array.from({ length: this.below(6) }, () => this.pick(fieldNames));
    return Object.fromEntries(names.map((name) => [name, this.value(depth - 1)]));
  }

  /** A good item, mostly with one field spoilt, so that the deeper checks are reached too. */
  spoiltItem(): unknown {
    const good = { id: `i${this.below(20)}`, functionName: 'f', ...this.#target };
    return this.chance(0.3) ? good : { ...good, [this.pick(fieldNames)]: this.value(2) };
  }

  goodList(): unknown {
    return [{ id: `g${this.below(1e9)}`, functionName: 'f', ...this.#target }];
  }

  spoiltFunction(): unknown {
    const good = { command: 'true', args: ['a'], env: { A: 'b' }, concurrency: 4, timeoutMs: 1000 };
    return this.chance(0.1) ? good : { ...good, [this.pick(fieldNames)]: this.value(2) };
  }

  brokenText(text: string): string {
    const at = this.below(text.length + 1);
    const inserted = this.pick(['}', '"', '\u0000', '\\', ',', '[', '\ufeff', '1']);
    return this.pick([
      text.slice(0, at),
      `${text.slice(0, at)}${inserted}${text.slice(at)}`,
      `${text}${text}`,
    ]);
  }

  list(): unknown {
    return Array.from({ length: this.below(4) }, () =>
      this.chance(0.8) ? this.spoiltItem() : this.value(3),
    );
  }

  body(): string {
    const text = JSON.stringify(this.chance(0.6) ? this.list() : this.value(4)) ?? 'undefined';
    return this.chance(0.4) ? this.brokenText(text) : text;
  }
}
