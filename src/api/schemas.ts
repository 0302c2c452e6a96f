/**
 * JSON schemas (draft 2020-12) of the bodies in contracts/http.ts. Requests are validated against them; responses are not
 * serialised by them (a field forgotten here would vanish without a word), they are documentation that the tests hold true.
 */
import type { SfsdConfig } from '../contracts/config.js';
import { policyNames } from '../contracts/invocation.js';
import { permissionModes, targetReasons, targetWays } from '../contracts/modes.js';
import { resourceFunctionsMax } from '../contracts/resources.js';
import { counterNames, decisionKinds, lifeStates } from '../contracts/scheduler.js';
import { taskGroupTidsMax } from '../contracts/task-group.js';

/** Most registrations in one list. */
export const registrationsMax = 256;

/** The largest pid that the kernel can be told to use (PID_MAX_LIMIT, 64-bit). */
const pidMax = 4_194_304;
/** setTimeout's longest. */
const timeoutMsMax = 2_147_483_647;
/** One argument or environment string that execve takes (MAX_ARG_STRLEN), less its terminator. */
const argumentLengthMax = 131_071;
/** PATH_MAX, less its terminator. */
const pathLengthMax = 4095;
/** What functions/ accepts of arguments and of environment variables. */
const namesMax = 512;
const concurrencyMax = 32_768;
/** Less memory holds no process at all. */
const memoryMinBytes = 1024 * 1024;

/** What S itself may be set to. */
const sliceMaxMsMin = 0.5;
/** An hour: nothing that is expected to take longer is ranked otherwise. */
const expectedMsMax = 3_600_000;
const sliceMaxMsMax = 60_000;

const withoutNul = '^[^\\u0000]*$';
const visible = '^[!-~]+$';

/** Visible ASCII: an id travels in headers and URLs. */
export const idSchema = { type: 'string', minLength: 1, maxLength: 128, pattern: visible } as const;
export const sourceSchema = {
  type: 'string',
  maxLength: 64,
  pattern: '^[-a-zA-Z0-9_.:]+$',
  description: 'Who told us; (source, id) is unique among live invocations.',
} as const;
export const policySchema = { type: 'string', enum: policyNames } as const;
const weightSchema = {
  type: 'number',
  minimum: 0.01,
  maximum: 100,
  description: 'Policy gittins divides ranks by it; absent: 1. More than 1 needs operate.',
} as const;
/** Of a registration, a line of a stream. */
export const expectedMsSchema = {
  type: 'number',
  minimum: 0,
  maximum: expectedMsMax,
  description: 'CPU time that the caller expects it to use, for policy gittins.',
} as const;
export const functionNameSchema = { type: 'string', maxLength: 128, pattern: '^[-a-zA-Z0-9_.]+$' } as const;
/** A platform's own name for its function, such as `guest/hello@0.0.1`. */
const foreignNameSchema = { type: 'string', minLength: 1, maxLength: 256, pattern: visible } as const;

const ms = { type: 'number', description: 'Milliseconds, with microsecond precision.' } as const;
const instantMs = {
  type: 'number',
  description: "Milliseconds on the host's CLOCK_MONOTONIC.",
} as const;
const count = { type: 'integer', minimum: 0 } as const;
const share = { type: 'number', minimum: 0 } as const;
const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

/** An object whose fields are all required, but for those named. */
function record(properties: Readonly<Record<string, object>>, optional: readonly string[] = []) {
  return {
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    properties,
  };
}

function listOf(items: object) {
  return { type: 'array', items };
}

export function ref(id: string) {
  return { $ref: `${id}#` };
}

/** 2^32 - 1 means nobody to the kernel. */
const userId = { type: 'integer', minimum: 0, maximum: 4_294_967_294 } as const;

const functionFields = {
  name: functionNameSchema,
  command: {
    type: 'string',
    minLength: 1,
    maxLength: pathLengthMax,
    pattern: withoutNul,
    description: "Absolute path, or a name looked up in the function's own PATH.",
  },
  args: {
    type: 'array',
    maxItems: namesMax,
    items: { type: 'string', maxLength: argumentLengthMax, pattern: withoutNul },
    default: [],
  },
  env: {
    type: 'object',
    maxProperties: namesMax,
    propertyNames: { pattern: '^[a-zA-Z_][a-zA-Z0-9_]*$' },
    additionalProperties: { type: 'string', maxLength: argumentLengthMax, pattern: withoutNul },
    default: {},
    description: 'The whole environment; nothing is inherited.',
  },
  workingDirectory: {
    type: 'string',
    maxLength: pathLengthMax,
    pattern: '^/[^\\u0000]*$',
    default: '/',
  },
  memoryMaxBytes: { type: 'integer', minimum: memoryMinBytes, maximum: Number.MAX_SAFE_INTEGER },
  pidsMax: { type: 'integer', minimum: 1, maximum: pidMax },
  timeoutMs: {
    type: 'integer',
    minimum: 0,
    maximum: timeoutMsMax,
    description: 'Wall time from start; 0: none.',
  },
  concurrency: { type: 'integer', minimum: 1, maximum: concurrencyMax },
  outputMaxBytes: { type: 'integer', minimum: 0 },
  policy: policySchema,
  sliceMaxMs: {
    type: 'number',
    minimum: sliceMaxMsMin,
    maximum: sliceMaxMsMax,
    description: 'Most CPU time in FILTER for each invocation; S is never above it.',
  },
  weight: weightSchema,
  uid: {
    ...userId,
    description: 'Its owner, and who it runs as; absent: who puts it. Another one needs operate.',
  },
  gid: { ...userId, description: 'The one group that it runs in; needed with another uid.' },
};

/** What PUT takes: a FunctionBody of which only `command` must be given. */
export function functionInputSchema(defaults: SfsdConfig['functions']): object {
  const { timeoutMs, concurrency, outputMaxBytes } = functionFields;
  return {
    type: 'object',
    additionalProperties: false,
    required: ['command'],
    properties: {
      ...functionFields,
      timeoutMs: { ...timeoutMs, default: defaults.timeoutMs },
      concurrency: { ...concurrency, default: defaults.concurrency },
      outputMaxBytes: {
        ...outputMaxBytes,
        maximum: defaults.outputMaxBytes,
        default: defaults.outputMaxBytes,
      },
    },
  };
}

/** One item of POST /v1/invocations. */
export const registrationSchema = {
  ...record(
    {
      id: idSchema,
      source: { ...sourceSchema, default: 'api' },
      functionName: foreignNameSchema,
      policy: policySchema,
      weight: weightSchema,
      expectedMs: expectedMsSchema,
      sliceMaxMs: functionFields.sliceMaxMs,
      pid: { type: 'integer', minimum: 1, maximum: pidMax },
      startTime: {
        type: 'string',
        pattern: '^[0-9]{1,20}$',
        description: 'Field 22 of /proc/PID/stat; read by the daemon when absent.',
      },
      tids: {
        type: 'array',
        minItems: 1,
        maxItems: taskGroupTidsMax,
        uniqueItems: true,
        items: { type: 'integer', minimum: 1, maximum: pidMax },
      },
      cgroup: {
        type: 'string',
        maxLength: pathLengthMax,
        pattern: '^(?:/(?!\\.{1,2}(?:/|$))[^/\\u0000-\\u001f]+)+$',
        description: 'Relative to the mount of each hierarchy; never the root.',
      },
      pidNamespace: {
        type: 'string',
        enum: ['caller', 'host'],
        description:
          "Where pid and tids are counted. Absent: in the caller's own pid namespace, which the socket tells; over TCP the host's.",
      },
    },
    [
      'source',
      'policy',
      'weight',
      'expectedMs',
      'sliceMaxMs',
      'pid',
      'startTime',
      'tids',
      'cgroup',
      'pidNamespace',
    ],
  ),
  oneOf: [{ required: ['pid'] }, { required: ['cgroup'] }],
  dependentRequired: { startTime: ['pid'], tids: ['pid'], pidNamespace: ['pid'] },
};

const invocationFields = {
  id: idSchema,
  source: sourceSchema,
  functionName: text,
  policy: policySchema,
  state: { type: 'string', enum: [...lifeStates, 'submitted', 'ended'] },
  arrivedAtMs: instantMs,
  result: ref('ResultBody'),
};

const workerSchema = record(
  {
    worker: count,
    invocation: record({ id: idSchema, source: sourceSchema, functionName: text, forMs: ms, rankMs: ms }, [
      'rankMs',
    ]),
  },
  ['invocation'],
);

const useFields = {
  instances: { ...count, description: 'Live invocations.' },
  measured: { ...count, description: 'Those whose leading process was read.' },
  cpuCores: { ...share, description: '1: one core in full, since the last look or their start.' },
  memoryBytes: { ...count, description: 'Resident memory of what was measured.' },
};

const resourcesSchema = record({
  atMs: instantMs,
  functions: {
    ...listOf(record({ functionName: text, ...useFields })),
    maxItems: resourceFunctionsMax,
    description: 'Those that use most CPU, most first.',
  },
  others: record({ functions: count, ...useFields }),
});

const targetSchema = record({
  way: { type: 'string', enum: targetWays },
  reason: { type: 'string', enum: targetReasons },
  targets: count,
});

const ffiName = { type: 'string', enum: ['koffi', 'ffi-napi'] } as const;
const ffiSchema = record(
  {
    configured: ffiName,
    control: ffiName,
    scheduling: ffiName,
    reason: { ...text, description: 'Why one of them is not the one configured.' },
  },
  ['reason'],
);

const storeSchema = record(
  {
    path: { ...text, description: 'Absent: nothing outlasts this daemon.' },
    schemaVersion: count,
    setAside: { ...text, description: 'Where a damaged file was moved at the start.' },
    rowsSetAside: { ...count, description: 'Stored functions that could not be used at the start.' },
    lostInvocations: {
      ...count,
      description: 'Asynchronous invocations that were in flight when the daemon before this one ended.',
    },
    writeFailures: { ...count, description: 'Changes that could not be written.' },
  },
  ['path', 'setAside'],
);

const guardSchema = record(
  {
    state: { type: 'string', enum: ['watching', 'stalled', 'missing', 'off'] },
    reason: { ...text, description: 'Why it is off.' },
    pid: count,
    epoch: count,
    tasks: count,
    tasksMax: count,
    demoted: count,
    stalls: count,
    restarts: count,
    journal: text,
  },
  ['reason', 'pid', 'journal'],
);

const statusSchema = record(
  {
    version: text,
    pid: count,
    uptimeMs: ms,
    stopping: flag,
    mode: { type: 'string', enum: permissionModes },
    modeReason: { ...text, description: 'What is missing for mode fifo, and what to do.' },
    targets: {
      ...listOf(targetSchema),
      description: 'Targets that could not be promoted as the mode says, since start.',
    },
    protection: record({ processes: count, threads: count, cpuCores: share }),
    policy: policySchema,
    sliceMs: ms,
    workers: listOf(workerSchema),
    queueLength: count,
    live: count,
    liveMax: count,
    blocked: count,
    budget: record({ paused: flag, usedShare: share, maxShare: share }),
    counters: record(Object.fromEntries(counterNames.map((name) => [name, count]))),
    decisionsLost: count,
    loop: record({ samples: count, lateP50Ms: ms, lateP99Ms: ms, lateMaxMs: ms }),
    cpu: record({
      cores: count,
      elapsedMs: ms,
      pollingMs: ms,
      schedulingMs: ms,
      controlMs: ms,
      spawnerMs: ms,
      hostShare: share,
    }),
    functions: record({ registered: count, running: count }),
    store: storeSchema,
    ffi: ffiSchema,
    guard: guardSchema,
    resources: resourcesSchema,
  },
  ['modeReason'],
);

const resultSchema = record({
  id: idSchema,
  source: sourceSchema,
  functionName: text,
  exit: { ...text, description: '`exited 0`, `signalled SIGKILL`, `timeout`, `cancelled` or `lost`.' },
  stdoutBase64: text,
  stderrBase64: text,
  truncated: flag,
  arrivedAtMs: instantMs,
  enqueuedAtMs: instantMs,
  startedAtMs: instantMs,
  endedAtMs: instantMs,
  turnaroundMs: ms,
  cpuMs: ms,
  voluntarySwitches: count,
  involuntarySwitches: count,
  rssMaxBytes: count,
  decisions: listOf(ref('DecisionBody')),
});

/** Schemas that routes refer to by `$id`; the `components` of the OpenAPI document. */
export const sharedSchemas: readonly ({ readonly $id: string } & object)[] = [
  {
    $id: 'FunctionBody',
    ...record(functionFields, ['memoryMaxBytes', 'pidsMax', 'policy', 'sliceMaxMs', 'weight', 'uid', 'gid']),
  },
  { $id: 'RegistrationBody', ...registrationSchema },
  { $id: 'AcceptedBody', ...record({ id: idSchema, source: sourceSchema }) },
  {
    $id: 'RefusedBody',
    ...record({ id: idSchema, source: sourceSchema, code: text, message: text }),
  },
  {
    $id: 'DecisionBody',
    ...record({
      kind: { type: 'string', enum: decisionKinds },
      atMs: instantMs,
      worker: { type: 'integer', minimum: -1 },
      cpuMs: ms,
      value: { type: 'number' },
      extra: { type: 'number' },
    }),
  },
  { $id: 'ResultBody', ...resultSchema },
  { $id: 'InvocationBody', ...record(invocationFields, ['policy', 'result']) },
  {
    $id: 'ExplanationBody',
    ...record({ ...invocationFields, decisions: listOf(ref('DecisionBody')), incomplete: flag }, [
      'policy',
      'result',
    ]),
  },
  { $id: 'StatusBody', ...statusSchema },
];
