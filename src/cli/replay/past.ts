/**
 * Policy gittins starts where a host that serves this workload has it, as S does: with what earlier runs of its functions have taught.
 * The past is the same workload drawn with another seed, so no run is known that the replay will make; it is written into a store that the
 * private daemon opens, as a predecessor would have left it. `--set store.path=none` replays a cold start.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurationHistory } from '../../scheduler/gittins/duration-history.js';
import { StoreFile } from '../../store/store-file.js';
import type { Workload } from '../../trace/workload/workload.js';
import type { WorkloadSource } from './plan.js';
import type { NameOf } from './workload-functions.js';
import { compileWorkload } from './workload-source.js';

/** Far from any seed that is likely to be replayed. */
const seedStep = 1_000_003;

export interface Past {
  readonly settings: Readonly<Record<string, unknown>>;
  remove(): void;
}

/** Of a compiled file nothing but itself is known: it starts cold. */
export async function pastOf(source: WorkloadSource, nameOf: NameOf): Promise<Past> {
  if (source.kind === 'file') return { settings: {}, remove: () => undefined };
  const { flags } = source;
  const past = await compileWorkload({ ...flags, seed: flags.seed + seedStep }, { stratified: true });
  const folder = mkdtempSync(join(tmpdir(), 'sfsd-past-'));
  const path = join(folder, 'sfsd.db');
  const file = new StoreFile({ path, lostMax: 0, now: Date.now() });
  file.apply([{ kind: 'keep', rows: rowsOf(past, nameOf) }]);
  file.close();
  return {
    settings: { 'store.path': path },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function rowsOf({ requests }: Workload, nameOf: NameOf) {
  const history = new DurationHistory();
  const names = new Set<string>();
  for (const request of requests) {
    const functionName = nameOf(request);
    history.learn(functionName, request.demand);
    for (const name of history.namesOf(functionName)) names.add(name);
  }
  return [...names].flatMap((name) => {
    const weights = history.find(name)?.weights;
    return weights === undefined ? [] : [{ name, weights }];
  });
}
