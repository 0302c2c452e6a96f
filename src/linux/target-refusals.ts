/**
 * What happens to a target that the kernel will not let us promote as the mode says: it goes the way of mode eevdf where that is
 * allowed, else it is left alone. Each is counted once, with its reason. Asked only when a promotion was refused.
 */
import type { TargetReason, TargetWay } from '../contracts/modes.js';
import { userNamespaceOf } from './privilege.js';

export type CountTarget = (way: TargetWay, reason: TargetReason) => void;

export class TargetRefusals {
  readonly #privileged: boolean;
  readonly #mayFavour: boolean;
  readonly #count: CountTarget;

  /**
   * @param parts.privileged CAP_SYS_NICE: then a refusal has no other cause than the cpu group.
   * @param parts.mayFavour whether the way of mode eevdf is open.
   */
  constructor(parts: {
    readonly privileged: boolean;
    readonly mayFavour: boolean;
    readonly count: CountTarget;
  }) {
    this.#privileged = parts.privileged;
    this.#mayFavour = parts.mayFavour;
    this.#count = parts.count;
  }

  /** It is promoted inside our cpu group from now on. */
  movedToGroup(): void {
    this.#count('cgroup', 'cpu-group');
  }

  /** It could not even be looked at. */
  hidden(): void {
    this.#count('denied', 'hidden');
  }

  /** @returns whether to try again, with `scope.favoured` set. */
  mayRetry(
    scope: { favoured: boolean },
    refused: { readonly pid: number; readonly result: 'denied' | 'foreign' },
  ): boolean {
    const reason = refused.result === 'foreign' ? 'foreign' : this.#reason(refused.pid);
    if (refused.result === 'denied' && this.#mayFavour && !scope.favoured) {
      scope.favoured = true;
      this.#count('eevdf', reason);
      return true;
    }
    this.#count('denied', reason);
    return false;
  }

  #reason(pid: number): TargetReason {
    if (this.#privileged) return 'cpu-group';
    return userNamespaceOf(pid) === userNamespaceOf('self') ? 'privilege' : 'user-namespace';
  }
}
