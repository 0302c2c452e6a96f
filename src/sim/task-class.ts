/**
 * A scheduling class of the simulated machine: which of its runnable tasks run, and how fast. A machine is one class over another:
 * the upper one borrows whole cores from the lower one, which shares out the rest.
 *
 *   upper: TurnQueue (FIFO, RR) or ShortestFirst (SRTF)
 *      │ takeCore, giveCore
 *   lower: FluidFair or EevdfFair
 *
 * Times are microseconds, not rounded: a fluid share ends between two of them.
 */
import type { Task } from './task.js';

/** Times and CPU times closer than this are one: far above the rounding of a double over a simulated day, far below a microsecond. */
export const timeEpsilon = 1e-4;

export interface TaskClass {
  /** A runnable task comes in. */
  add(task: Task, now: number): void;
  /** It goes; `task.cpu` is exact afterwards. */
  remove(task: Task, now: number): void;
  /** Makes `task.cpu` exact. */
  settle(task: Task, now: number): void;
  /** When something happens next if nothing comes from outside; Infinity: never. */
  nextChange(): number;
  /** Does what is due within the class at that time; then hands out, one by one, the tasks that have reached their `stopAt`. */
  takeStopped(now: number): Task | undefined;
}

export interface CoreLender {
  /** A core for the task; the one it is on where there is a choice. There is one: who borrows counts. */
  takeCore(task: Task, now: number): number;
  giveCore(core: number, now: number): void;
}

export interface LowerClass extends TaskClass, CoreLender {}
