/**
 * Entries by key and by name, for entries that come and go 20,000 times a second.
 *
 *   #slots:    [ entry | - | entry | ... ]     slot = key modulo the capacity; keys rise by one, so the slot is nearly always free
 *   #crowded:  key ──▶ entry                   for the few whose slot a long-lived one still holds
 *   #buckets:  [ entry ─▶ entry | - | ... ]    bucket = hash of (source, id); entries are chained through `nextOfName`
 *
 * Rejected: one Map for each. A Map under such churn is rebuilt again and again, and the tables that it leaves behind keep all that
 * they named alive until the next full collection: 2.5 MB were copied every 300 ms, 10 ms each time.
 */
import type { InvocationKey } from '../../contracts/invocation.js';

export interface Indexed<Entry> {
  readonly invocation: { readonly key: InvocationKey; readonly source: string; readonly id: string };
  /** The index's own: the next entry in the same bucket. */
  nextOfName: Entry | undefined;
}

/** Slots and buckets; a power of two above the usual number of entries. Beyond it chains only grow longer. */
const capacity = 2 ** 16;
const mask = capacity - 1;

export class EntryIndex<Entry extends Indexed<Entry>> {
  readonly #slots = new Array<Entry | undefined>(capacity).fill(undefined);
  readonly #crowded = new Map<InvocationKey, Entry>();
  readonly #buckets = new Array<Entry | undefined>(capacity).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The newest of a name is found first. */
  add(entry: Entry): void {
    const { key, source, id } = entry.invocation;
    const slot = key & mask;
    if (this.#slots[slot] === undefined) this.#slots[slot] = entry;
    else this.#crowded.set(key, entry);
    const bucket = bucketOf(source, id);
    entry.nextOfName = this.#buckets[bucket];
    this.#buckets[bucket] = entry;
    this.#size += 1;
  }

  get(key: InvocationKey): Entry | undefined {
    const entry = this.#slots[key & mask];
    if (entry?.invocation.key === key) return entry;
    return this.#crowded.size === 0 ? undefined : this.#crowded.get(key);
  }

  find(source: string, id: string): Entry | undefined {
    let entry = this.#buckets[bucketOf(source, id)];
    while (entry !== undefined && (entry.invocation.id !== id || entry.invocation.source !== source))
      entry = entry.nextOfName;
    return entry;
  }

  /** All of them, those that share no slot in the order of their slots. */
  visit(each: (entry: Entry) => void): void {
    for (const entry of this.#slots) if (entry !== undefined) each(entry);
    for (const entry of this.#crowded.values()) each(entry);
  }

  remove(entry: Entry): void {
    const { key, source, id } = entry.invocation;
    const slot = key & mask;
    if (this.#slots[slot] === entry) this.#slots[slot] = undefined;
    else if (!this.#crowded.delete(key)) return;
    this.#unchain(bucketOf(source, id), entry);
    this.#size -= 1;
  }

  #unchain(bucket: number, entry: Entry): void {
    let before = this.#buckets[bucket];
    if (before === entry) this.#buckets[bucket] = entry.nextOfName;
    while (before !== undefined && before.nextOfName !== entry) before = before.nextOfName;
    if (before !== undefined) before.nextOfName = entry.nextOfName;
    entry.nextOfName = undefined;
  }
}

/** FNV-1a over both parts. */
function bucketOf(source: string, id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < source.length; index += 1)
    hash = Math.imul(hash ^ source.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ 0xffff, 0x01000193);
  for (let index = 0; index < id.length; index += 1)
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  return (hash ^ (hash >>> 16)) & mask;
}
