/**
 * What the routes of one server share, beside the ports: made once by `createServer`, never module state.
 */
import type { Metrics } from './metrics.js';
import type { ApiPorts } from './ports.js';
import type { Results } from './results.js';
import type { Runs } from './runs.js';

export interface ApiContext {
  readonly ports: ApiPorts;
  readonly runs: Runs;
  readonly results: Results;
  readonly metrics: Metrics;
  /** Connections that were closed at once because too many were open. */
  readonly connectionsDropped: () => number;
}
