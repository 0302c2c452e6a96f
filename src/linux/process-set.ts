/**
 * A group of processes that grows and shrinks: a process with its descendants, or a cgroup. Observing one costs, on an idle host:
 *
 *   1. read each member's CPU clock       advanced: follow births and ends, then (3): it ran, and may be asleep by now
 *   2. still, and last seen runnable      it is runnable yet: to block it would have had to run. Done
 *   3. else                               read the threads' states until one is runnable
 *
 * A state is read after an advance as well, because a block must be seen at the poll that follows it: to take "it ran since the last poll"
 * for "it runs" was measured to see blocks up to two polls late.
 *
 * (2) holds because a clock is exact while its task is off the CPU: it cannot run, not even to die, and leave the clock as it was.
 * A group last seen blocked has its states read first: it stays blocked as long as it is found asleep, whatever it did in between. Its clock
 * is read at every fourth observation, when it has had page faults (it ran, and may have forked), and once it is awake: what a sleeper used
 * in between is charged that much later.
 *
 * A process of one thread that runs on is settled in (1) by one reading of its state, see `#runsOnAlone`.
 *
 * Births follow the clock too: who has not run has not forked. Threads are looked for at every observation in which the clock advanced,
 * children at every second, or at each when the group has children already: one that was orphaned (double fork) must not stay real-time.
 * A multi-threaded process without children has all its threads' lists of children read at every fourth. What was put off is done as soon
 * as the clock stands still.
 */
import type { Observation } from '../contracts/kernel.js';
import type { Duration } from '../contracts/time.js';
import { MemberProcess } from './member-process.js';
import { newScope, type PromotionScope } from './task-promoter.js';
import type { TrackedTasks, TrackingTools } from './tracked-tasks.js';

/** Finds the processes of a group; calls `set.keep` for each. */
export interface Membership {
  readonly hasLeader: boolean;
  find(set: ProcessSet): void;
  /** CPU time of all members, ended ones too, in nanoseconds; below 0 where the kernel keeps no such account. */
  accountNs(): number;
  close(): void;
}

/** Processes tracked in one group; further ones stay under the fair scheduler. */
const processesMax = 1024;
/** Rounds of finding members and promoting them, until nobody new is found. */
const promotionRoundsMax = 4;

const sleeperClockEvery = 4;
const childrenEverySingle = 2;
const childrenEveryThreaded = 4;
const childrenEveryAlone = 4;

export class ProcessSet implements TrackedTasks {
  readonly scope: PromotionScope = newScope();
  readonly #tools: TrackingTools;
  readonly #membership: Membership;
  readonly #members: MemberProcess[] = [];
  readonly #byPid = new Map<number, MemberProcess>();
  #usedNs = 0;
  #baseNs = 0;
  #accountNs: number;
  #known: 'runnable' | 'blocked' | 'unknown' = 'unknown';
  /** Observations since a sleeping group's clock was read. */
  #clockAge = 0;
  #sinceFind = 0;
  #aloneLooks = 0;
  #walk = 0;
  /** promoted: who is born to it is promoted too. paused: members may be what `promote` made them, save for their policy. */
  #standing: 'promoted' | 'paused' | 'fair' = 'fair';
  #hopeless = false;
  #ended = false;

  /** `leader` is the group's own process, if it has one. */
  constructor(tools: TrackingTools, membership: Membership, leader: MemberProcess | undefined) {
    this.#tools = tools;
    this.#membership = membership;
    this.#accountNs = membership.accountNs();
    if (leader !== undefined) this.#add(leader);
    this.#follow(true);
    // What members used before they were attached is not charged.
    this.#baseNs = this.#usedNs;
  }

  /** In the order found: a parent stands before its children. */
  get members(): readonly MemberProcess[] {
    return this.#members;
  }

  /** Whether the walk that goes on has found the member. */
  isKept(member: MemberProcess): boolean {
    return member.seenInWalk === this.#walk;
  }

  get tasks(): number {
    let count = 0;
    for (const member of this.#members) count += member.tasks.length;
    return count;
  }

  get isEmpty(): boolean {
    return this.#members.length === 0;
  }

  /** CPU time counts from 0 again. */
  restartClock(): void {
    if (!this.#ended) this.#readClocks();
    this.#baseNs = this.#usedNs;
    this.#hopeless = false;
    this.scope.favoured = false;
  }

  /** The leader has ended: seen through its pidfd. */
  markEnded(): void {
    this.#ended = true;
  }

  /** For Membership: the process is in the group. */
  keep(pid: number, parent: number): MemberProcess | undefined {
    let member = this.#byPid.get(pid);
    if (member === undefined) {
      if (this.#members.length >= processesMax || pid === process.pid) return undefined;
      if (this.#tools.isAttached(pid) || this.#tools.owners.has(pid)) return undefined;
      member = MemberProcess.open(this.#tools, pid, parent);
      if (member === undefined) return undefined;
      this.#tools.owners.set(pid, this);
      this.#add(member);
    }
    member.seenInWalk = this.#walk;
    return member;
  }

  promote(): 'ok' | 'gone' | 'denied' {
    if (this.#ended) return 'gone';
    if (this.#hopeless) return 'denied';
    if (this.#membership.hasLeader && this.#members[0]?.hasEnded() !== false) return 'gone';
    const resumed = this.#standing === 'paused';
    this.#standing = 'promoted';
    // Who was born in the pause is found by the next observation.
    if (resumed && this.#promoteAll() === 'ok') return 'ok';
    for (let round = 0; round < promotionRoundsMax; round++) {
      const before = this.tasks;
      const result = this.#promoteAll();
      if (result !== 'ok') {
        this.demote();
        this.#hopeless = !this.#tools.promoter.refusals.mayRetry(this.scope, this.#refusal(result));
        if (this.#hopeless) return 'denied';
        this.#standing = 'promoted';
        continue;
      }
      // The walk after the promotion finds who was born before it and while it went on; when it finds nobody, all are promoted.
      this.#follow(true);
      if (this.tasks === before) break;
    }
    return this.isEmpty || this.#ended ? 'gone' : 'ok';
  }

  pause(): 'ok' | 'gone' {
    if (this.#standing === 'paused' || this.#ended) return this.#ended ? 'gone' : 'ok';
    this.#standing = 'paused';
    this.#known = 'unknown';
    for (const member of this.#members) for (const task of member.tasks) this.#tools.promoter.pause(task);
    return this.#ended ? 'gone' : 'ok';
  }

  demote(): 'ok' | 'gone' {
    if (this.#standing === 'fair') return this.#ended ? 'gone' : 'ok';
    this.#standing = 'fair';
    this.#known = 'unknown';
    for (const member of this.#members) this.#demoteMember(member);
    return this.#ended ? 'gone' : 'ok';
  }

  observe(into: Observation): void {
    const state = this.#ended ? 'gone' : this.#look();
    if (state === 'gone') this.#ended = true;
    into.state = state;
    into.cpuTime = Math.floor((this.#usedNs - this.#baseNs) / 1000) as Duration;
    into.runnableMax = state === 'gone' ? 0 : Math.max(this.tasks, 1);
  }

  /** Demotes one member and lets go of it: it has become a group of its own. */
  evict(pid: number): void {
    const member = this.#byPid.get(pid);
    if (member !== undefined) this.#drop(member);
  }

  close(): void {
    this.demote();
    for (const member of this.#members) this.#forget(member);
    this.#members.length = 0;
    this.#membership.close();
  }

  #look(): 'runnable' | 'blocked' | 'gone' {
    if (this.#known === 'blocked') return this.#lookAtSleeper();
    const clocks = this.#readClocks();
    if (clocks === 'gone') return 'gone';
    if (clocks === 'advanced') {
      if (this.#runsOnAlone()) return 'runnable';
      if (this.#follow(false) === 'gone') return 'gone';
      const state = this.#scanWithChildren();
      if (state !== 'gone') this.#known = state;
      return state;
    }
    // What ran last time may have forked since it was last asked for children.
    if (this.#sinceFind > 0 && this.#follow(true) === 'gone') return 'gone';
    if (this.#known === 'runnable') return 'runnable';
    const state = this.#scan();
    if (state !== 'gone') this.#known = state;
    return state;
  }

  /**
   * The usual case in FILTER, settled by one reading of /proc/PID/stat: a process of one thread that runs, has no new thread, and has
   * touched no new memory, as forking does. Who was born without that (vfork) is looked for at every fourth time.
   */
  #runsOnAlone(): boolean {
    const leader = this.#members[0];
    if (this.#members.length !== 1 || leader === undefined || !this.#membership.hasLeader) return false;
    this.#aloneLooks = (this.#aloneLooks + 1) % childrenEveryAlone;
    if (this.#aloneLooks > 0 && leader.runsOnAlone()) {
      this.#known = 'runnable';
      return true;
    }
    this.#sinceFind = childrenEveryThreaded;
    return false;
  }

  /** A group that has gone to sleep may have left its work to a child that was not looked for yet. */
  #scanWithChildren(): 'runnable' | 'blocked' | 'gone' {
    const state = this.#scan();
    if (state !== 'blocked' || this.#sinceFind === 0) return state;
    const before = this.tasks;
    if (this.#follow(true) === 'gone') return 'gone';
    return this.tasks > before ? this.#scan() : state;
  }

  #lookAtSleeper(): 'runnable' | 'blocked' | 'gone' {
    const state = this.#scan();
    if (state === 'gone') return 'gone';
    this.#clockAge++;
    if (state === 'blocked' && !this.#takeFaults() && this.#clockAge < sleeperClockEvery) return 'blocked';
    this.#clockAge = 0;
    const clocks = this.#readClocks();
    if (clocks === 'gone') return 'gone';
    if (clocks === 'still') {
      this.#known = state;
      return state;
    }
    // The state is older than the clock here, so that rule 2 does not hold for it.
    if (state === 'runnable') this.#known = 'unknown';
    const before = this.tasks;
    if (this.#follow(true) === 'gone') return 'gone';
    // A sleeper may have left its work to a child born meanwhile.
    return this.tasks > before ? this.#scan() : state;
  }

  #takeFaults(): boolean {
    let faulted = false;
    for (const member of this.#members) {
      if (!member.hasFaulted) continue;
      member.hasFaulted = false;
      faulted = true;
    }
    return faulted;
  }

  #readClocks(): 'advanced' | 'still' | 'gone' {
    if (this.#accountNs >= 0) return this.#readAccount();
    let advanced = false;
    for (let index = 0; index < this.#members.length; index++) {
      const member = this.#members[index];
      if (member === undefined) continue;
      const before = member.cpuNs;
      const result = member.readClock();
      if (result === 'still') continue;
      advanced = true;
      if (result === 'advanced') this.#usedNs += member.cpuNs - before;
      else if (index === 0 && this.#membership.hasLeader) return 'gone';
    }
    return advanced ? 'advanced' : 'still';
  }

  #readAccount(): 'advanced' | 'still' {
    const account = this.#membership.accountNs();
    if (account <= this.#accountNs) return 'still';
    this.#usedNs += account - this.#accountNs;
    this.#accountNs = account;
    return 'advanced';
  }

  /** Follows births and ends. gone: the leader has ended, or nobody is left. */
  #follow(thorough: boolean): 'ok' | 'gone' {
    let grown = false;
    for (const member of this.#members) {
      const result = member.refreshTasks();
      if (result === 'changed') grown = true;
      if (result === 'gone' && this.#membership.hasLeader && member === this.#members[0]) return 'gone';
    }
    if (thorough || this.#findIsDue()) grown = this.#find() || grown;
    if (grown && this.#standing === 'promoted') this.#promoteAll();
    return this.isEmpty ? 'gone' : 'ok';
  }

  #findIsDue(): boolean {
    this.#sinceFind++;
    const leader = this.#members[0];
    if (this.#members.length !== 1 || leader === undefined) return true;
    return this.#sinceFind >= (leader.tasks.length === 1 ? childrenEverySingle : childrenEveryThreaded);
  }

  #find(): boolean {
    this.#sinceFind = 0;
    this.#walk++;
    const before = this.#members.length;
    const leader = this.#membership.hasLeader ? this.#members[0] : undefined;
    if (leader !== undefined) leader.seenInWalk = this.#walk;
    this.#membership.find(this);
    const grown = this.#members.length > before;
    for (let index = this.#members.length - 1; index >= 0; index--) {
      const member = this.#members[index];
      if (member !== undefined && member.seenInWalk !== this.#walk) this.#drop(member);
    }
    return grown;
  }

  #scan(): 'runnable' | 'blocked' | 'gone' {
    let missing = false;
    for (const member of this.#members) {
      const state = member.scan();
      if (state === 'runnable') return 'runnable';
      if (state !== 'gone') continue;
      if (this.#membership.hasLeader && member === this.#members[0]) return 'gone';
      missing = true;
    }
    if ((missing || !this.#membership.hasLeader) && this.#find() && this.#standing === 'promoted')
      this.#promoteAll();
    return this.isEmpty ? 'gone' : 'blocked';
  }

  #refusal(result: 'denied' | 'foreign'): { readonly pid: number; readonly result: 'denied' | 'foreign' } {
    return { pid: this.#members[0]?.pid ?? 0, result };
  }

  #promoteAll(): 'ok' | 'denied' | 'foreign' {
    const several = this.tasks > 1;
    for (const member of this.#members) {
      const isLeader = this.#membership.hasLeader && member === this.#members[0];
      for (const task of member.tasks) {
        const result = this.#tools.promoter.promote(task, several, this.scope);
        if (result === 'denied' || (result === 'foreign' && isLeader && task.tid === member.pid))
          return result;
      }
    }
    return 'ok';
  }

  #add(member: MemberProcess): void {
    this.#members.push(member);
    this.#byPid.set(member.pid, member);
    member.refreshTasks();
    if (member.readClock() === 'advanced' && this.#accountNs < 0) this.#usedNs += member.cpuNs;
  }

  #drop(member: MemberProcess): void {
    const before = member.cpuNs;
    if (member.readClock() === 'advanced' && this.#accountNs < 0) this.#usedNs += member.cpuNs - before;
    this.#demoteMember(member);
    this.#members.splice(this.#members.indexOf(member), 1);
    this.#forget(member);
  }

  #forget(member: MemberProcess): void {
    this.#byPid.delete(member.pid);
    if (this.#tools.owners.get(member.pid) === this) this.#tools.owners.delete(member.pid);
    member.close();
  }

  #demoteMember(member: MemberProcess): void {
    for (const task of member.tasks) {
      if (task.saved !== undefined) this.#tools.promoter.demote(task);
      else if (this.scope.cpuGroup !== undefined) this.#tools.promoter.sendHome(task.tid, this.scope);
    }
  }
}
