/**
 * What the policy knows of each live invocation, and how it finds it: by key, by slot (rings hold slots) and by task group.
 *
 *               ┌────────────── woken ──────────────┐
 *               ▼                                   │
 *   submit ─▶ queued ─▶ filter ──── blocked ──▶ blocked
 *               │          │                        │
 *               └─ bypassed, denied ─▶ fair ◀───────┘ too little of its slice left
 *                          └─ demoted ──▲                  any state ─▶ ended (the record is reused)
 */
import { assert } from '../contracts/errors.js';
import type { InvocationKey, Submission } from '../contracts/invocation.js';
import { invocationKey } from '../contracts/invocation.js';
import type { LifeState } from '../contracts/scheduler.js';
import type { TaskGroup } from '../contracts/task-group.js';
import { type Duration, type Instant, instant, noTime } from '../contracts/time.js';

/** In place of a worker's number: none. */
export const noWorker = -1;

const noGroup: TaskGroup = { kind: 'cgroup', path: '' };

export class Life {
  readonly slot: number;
  key: InvocationKey = invocationKey(0);
  group: TaskGroup = noGroup;
  identity = '';
  state: LifeState = 'queued';
  worker = noWorker;
  /** false: the kernel refused the group, so nothing may be asked about it and nothing is to be released. */
  attached = false;
  /** Its tasks are real-time right now. A worker may hold it unpromoted, in a pause of the budget. */
  promoted = false;
  /** CPU time is charged to its slice: while it is promoted, and while it is paused. */
  charging = false;
  /** Where its queue delay counts from: its arrival or its wake. */
  waitsSince: Instant = instant(0);
  blockedAt: Instant = instant(0);
  /** When it will count as an arrival; meaningful while it is among the uncounted. */
  countsAt: Instant = instant(0);
  /** Bounds its slice; Infinity: S alone does. */
  sliceMax = Number.POSITIVE_INFINITY;
  /** S at its first pick-up, or `sliceMax` where that is less, which binds it for good; 0 before. */
  sliceBound: Duration = noTime;
  /** What it had left of it at `cpuAtPromotion`. */
  sliceLeft: Duration = noTime;
  cpuAtPromotion: Duration = noTime;
  /** The last reading. */
  cpuUsed: Duration = noTime;
  /** What it was when its turn began (turns.ts). */
  turnBegan: Duration = noTime;
  /** How many cores it may keep busy at once. */
  width = 1;

  constructor(slot: number) {
    this.slot = slot;
  }
}

export class Lives {
  readonly #liveMax: number;
  readonly #byKey = new Map<InvocationKey, Life>();
  readonly #byIdentity = new Map<string, Life>();
  /** By slot; grows to the most that were ever live at once, at most liveMax. */
  readonly #records: Life[] = [];
  readonly #spare: Life[] = [];

  constructor(liveMax: number) {
    this.#liveMax = liveMax;
  }

  get count(): number {
    return this.#byKey.size;
  }

  get full(): boolean {
    return this.#byKey.size >= this.#liveMax;
  }

  find(key: InvocationKey): Life | undefined {
    return this.#byKey.get(key);
  }

  at(slot: number): Life {
    const life = this.#records[slot];
    assert(life !== undefined, 'a ring holds slots of records only');
    return life;
  }

  /** The live invocation whose tasks are this group. */
  ownerOf(identity: string): Life | undefined {
    return this.#byIdentity.get(identity);
  }

  all(): IterableIterator<Life> {
    return this.#byKey.values();
  }

  open(submission: Submission, identity: string, waitsSince: Instant): Life {
    assert(!this.full, 'there is room for one more live invocation');
    const life = this.#spare.pop() ?? this.#newRecord();
    life.key = submission.key;
    life.group = submission.group;
    life.identity = identity;
    life.waitsSince = waitsSince;
    life.sliceMax = submission.sliceMax ?? Number.POSITIVE_INFINITY;
    this.#byKey.set(life.key, life);
    this.#byIdentity.set(identity, life);
    return life;
  }

  close(life: Life): void {
    this.#byKey.delete(life.key);
    if (this.#byIdentity.get(life.identity) === life) this.#byIdentity.delete(life.identity);
    life.group = noGroup;
    life.identity = '';
    life.state = 'queued';
    life.worker = noWorker;
    life.attached = false;
    life.promoted = false;
    life.charging = false;
    life.sliceBound = noTime;
    life.sliceLeft = noTime;
    life.cpuAtPromotion = noTime;
    life.cpuUsed = noTime;
    life.width = 1;
    this.#spare.push(life);
  }

  #newRecord(): Life {
    const life = new Life(this.#records.length);
    this.#records.push(life);
    return life;
  }
}

/** Equal for two groups exactly when they name the same tasks. */
export function identityOf(group: TaskGroup): string {
  if (group.kind === 'cgroup') return group.path;
  const process = `${group.pid}@${group.startTime}`;
  return group.kind === 'process' ? process : `${process}:${group.tids.join(',')}`;
}
