/** What one `sfsd replay` was asked to do, with every default filled in. */
import type { ReplayPolicy } from '../../contracts/replay.js';
import type { WorkloadFlags } from '../workload-options.js';

export type WorkloadSource =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'generated'; readonly flags: WorkloadFlags };

export interface ReplayPlan {
  readonly source: WorkloadSource;
  /** In the order in which they run. */
  readonly policies: readonly ReplayPolicy[];
  /** A daemon that runs already; undefined: start a private one. */
  readonly socket: string | undefined;
  /** Dotted configuration of the private daemon. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly outFolder: string | undefined;
  readonly keepLog: boolean;
  readonly json: boolean;
  /** --cores: the private daemon and its functions are confined to that many. */
  readonly cores: number | undefined;
  /** The command line, for the report. */
  readonly command: string;
}
