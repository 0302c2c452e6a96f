/**
 * What must outlive the daemon: which task was made what it is, and what it was. Noted before each change, so that whoever finds the
 * journal of a daemon that died can undo everything; forgotten once the task is what it was.
 */
import type { SavedScheduling, TaskHandle } from './task-handle.js';

export interface PromotionJournal {
  /** Again for a task that is noted already: its cpu group has become known. */
  note(task: TaskHandle, saved: SavedScheduling): void;
  forget(tid: number): void;
}

/** For those whose tasks nobody has to save: tests, and hosts without a guard. */
export const noJournal: PromotionJournal = { note: () => {}, forget: () => {} };
