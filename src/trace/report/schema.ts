/**
 * JSON Schemas of the files of a run folder, so that reading one back names each wrong field by its path. Required are the fields
 * that the report reads; unknown ones pass, because a field may be added within a version.
 */
import { Ajv, type ValidateFunction } from 'ajv';
import { replayPolicies } from '../../contracts/replay.js';
import { type Summary, summaryFormat, summaryVersion } from '../replay/comparison.js';
import { fates, paths, type RequestRecord } from '../replay/record.js';
import type { PickupRow, SeriesRow, SliceRow } from '../replay/series.js';
import { applications, gapKinds } from '../workload/workload.js';

type Schema = Readonly<Record<string, unknown>>;

const number: Schema = { type: 'number' };
const count: Schema = { type: 'integer', minimum: 0 };
const share: Schema = { type: 'number' };
const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const figure = orNull(number);

function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] };
}

function oneOf(words: readonly (string | number)[]): Schema {
  return { enum: words };
}

function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

function objectOf<Fields>(properties: { readonly [name in keyof Required<Fields>]: Schema }): Schema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** Fields of a later edition of the same version: an older folder is read without them. */
function withLater(schema: Schema, later: Readonly<Record<string, Schema>>): Schema {
  return { ...schema, properties: { ...(schema.properties as object), ...later } };
}

const recordFields = objectOf<Omit<RequestRecord, 'predictedMs'>>({
  policy: oneOf(replayPolicies),
  id: text,
  functionName: text,
  application: oneOf(applications),
  fate: oneOf(fates),
  exit: text,
  errorCode: orNull(text),
  refusedBy: orNull(oneOf(['generator', 'daemon'])),
  arrivalMs: number,
  enqueueMs: figure,
  pickupMs: figure,
  firstRunMs: figure,
  endMs: figure,
  turnaroundMs: figure,
  idealMs: number,
  demandMs: number,
  cpuMs: figure,
  path: orNull(oneOf(paths)),
  sliceMs: figure,
  queueDelayMs: figure,
  demotions: count,
  blocks: count,
  bypassed: flag,
  voluntarySwitches: orNull(count),
  involuntarySwitches: orNull(count),
  lagMs: number,
});
const record = withLater(recordFields, { predictedMs: figure });

const seriesRow: Schema = {
  type: 'object',
  required: ['kind'],
  discriminator: { propertyName: 'kind' },
  oneOf: [
    objectOf<SliceRow>({
      kind: { const: 'slice' },
      policy: oneOf(replayPolicies),
      atMs: number,
      sliceMs: number,
    }),
    objectOf<PickupRow>({
      kind: { const: 'pickup' },
      policy: oneOf(replayPolicies),
      atMs: number,
      id: text,
      queueDelayMs: number,
      limitMs: figure,
      bypassed: flag,
    }),
  ],
};

const distribution = orNull(
  objectOf({ count, mean: number, median: number, p90: number, p99: number, max: number }),
);
const groups = objectOf({ all: distribution, short: distribution, long: distribution });
const ratio = orNull(objectOf({ ratio: number, low: number, high: number }));
const ratios = objectOf({ all: ratio, short: ratio, long: ratio });

const times = {
  turnaroundMs: groups,
  slowdown: groups,
  rte: objectOf({ distribution, atLeast095: figure, below02: figure, aboveOne: count }),
};

const run = objectOf({
  ...times,
  counts: objectOf({
    requested: count,
    issued: count,
    completed: count,
    failed: count,
    refusedByDaemon: count,
    refusedByGenerator: count,
    lost: count,
  }),
  switches: orNull(objectOf({ voluntaryMean: number, involuntaryMean: number, perInvocation: distribution })),
  scheduling: withLater(
    objectOf({
      paths: objectOf(Object.fromEntries(paths.map((path) => [path, count]))),
      demotions: count,
      blocks: count,
      bypasses: count,
      queueDelayMs: distribution,
      sliceMs: distribution,
    }),
    { predictionError: distribution },
  ),
  lagMs: distribution,
  loadAchieved: figure,
  cpuOverDemand: figure,
  daemonCpu: orNull(
    objectOf({ polling: share, scheduling: share, control: share, spawner: share, total: share }),
  ),
  generatorCpu: figure,
  elapsedMs: number,
  overloadFactor: figure,
  settings: orNull({ type: 'object' }),
});

const validation = objectOf({
  strict: flag,
  passed: flag,
  files: listOf(objectOf({ file: text, kind: text, rows: count, accepted: count })),
  findings: listOf(
    objectOf({ code: text, severity: text, action: text, file: text, line: count, count, detail: text }),
  ),
  functions: count,
  invocations: count,
  lostFunctions: count,
  lostInvocations: count,
});

const summary = objectOf<Summary>({
  format: { const: summaryFormat },
  version: { const: summaryVersion },
  host: objectOf({
    kernel: text,
    cpuModel: text,
    cores: count,
    memoryBytes: number,
    node: text,
    sfsd: text,
    roundRobinQuantumMs: figure,
  }),
  command: text,
  createdAt: text,
  workload: objectOf({
    requests: count,
    seed: number,
    source: text,
    gaps: oneOf(gapKinds),
    durationScale: number,
    cores: count,
    loadTarget: number,
    loadRealised: number,
    gapCv: number,
    demandMeanMs: number,
    shortBelowMs: number,
    validation: orNull(validation),
  }),
  spanMs: number,
  paired: count,
  ideal: objectOf(times),
  srtf: orNull(objectOf(times)),
  fifo: orNull(run),
  rr: orNull(run),
  cfs: orNull(run),
  sfs: orNull(run),
  gittins: orNull(run),
  comparison: orNull(
    objectOf({
      excessRemoved: objectOf({ all: figure, short: figure, long: figure }),
      sfsOverIdeal: ratios,
      sfsOverCfs: ratios,
      switchesNormalised: orNull(
        objectOf({ p10: number, median: number, p90: number, aboveOne: share, atLeastTen: share }),
      ),
    }),
  ),
  warnings: listOf(text),
});

export interface RunFolderSchemas {
  readonly record: ValidateFunction<RequestRecord>;
  readonly seriesRow: ValidateFunction<SeriesRow>;
  readonly summary: ValidateFunction<Summary>;
}

export function runFolderSchemas(): RunFolderSchemas {
  const ajv = new Ajv({ allErrors: true, discriminator: true });
  return {
    record: ajv.compile<RequestRecord>(record),
    seriesRow: ajv.compile<SeriesRow>(seriesRow),
    summary: ajv.compile<Summary>(summary),
  };
}
