/**
 * What is scheduled together. A group names tasks by pid and start time, never by pid alone: a pid is reused, the pair is not.
 */

export type TaskGroup =
  | {
      /** All threads of the process, and the children born to it later. */
      readonly kind: 'process';
      readonly pid: number;
      /** Field 22 of /proc/PID/stat, clock ticks since boot, as decimal text (it may exceed 2^53). */
      readonly startTime: string;
    }
  | {
      readonly kind: 'threads';
      readonly pid: number;
      readonly startTime: string;
      readonly tids: readonly number[];
    }
  | {
      /** Every task in the cgroup and below. `path` is relative to each hierarchy's mount, for example `/openfaas-fn/hello`. */
      readonly kind: 'cgroup';
      readonly path: string;
    };

/** Most tids that one `threads` group may name; the API refuses more. */
export const taskGroupTidsMax = 256;
