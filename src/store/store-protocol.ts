/**
 * What the store's two sides say to each other. One batch is under way at a time; the next one gathers meanwhile, so that a thousand
 * changes at once cost a few waits for the disk and not a thousand.
 *
 *   thread  ──▶ { opened }  or  { refused }                   once
 *   daemon  ──▶ { changes }        thread ──▶ { applied }     in turns
 *   daemon  ──▶ { close }          the thread ends
 */
import { type ErrorCode, type ErrorDetails, SfsdError } from '../contracts/errors.js';
import type { StoreChange, StoreContents } from './store-file.js';

export type ToStore =
  | { readonly kind: 'apply'; readonly changes: readonly StoreChange[] }
  | { readonly kind: 'close' };

export type FromStore =
  | { readonly kind: 'opened'; readonly contents: StoreContents }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'applied'; readonly failure?: Failure };

/** A class does not cross between threads. */
export interface Failure {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;
}

/** Anything but an SfsdError is a bug, and ends the thread. */
export function failureOf(thrown: unknown): Failure {
  if (!(thrown instanceof SfsdError)) throw thrown;
  return { code: thrown.code, details: thrown.details };
}

export function errorOf({ code, details }: Failure): SfsdError {
  return new SfsdError(code, details);
}
