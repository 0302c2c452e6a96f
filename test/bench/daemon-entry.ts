/**
 * The whole daemon over another kernel adapter: what `sfsd start` runs, with the one seam that it does not offer.
 *
 *   node --single-threaded-gc daemon-entry.js '{"flags":{...},"kernelModule":"file:///..."}'
 */
import { type DaemonOptions, runDaemon } from '../../src/daemon/run.js';

const options = JSON.parse(process.argv[2] ?? '{}') as Pick<DaemonOptions, 'flags' | 'kernelModule'>;
process.exitCode = await runDaemon({ ...options, environment: {} });
