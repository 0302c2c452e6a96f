/**
 * The one JSON schema of the configuration: bounds, defaults and the sentence that documents each key.
 * `sfsd start --set`, the environment and the file all pass through it.
 */
import { policyNames } from '../../contracts/invocation.js';

const milliseconds = (options: {
  default: number;
  minimum: number;
  maximum: number;
  description: string;
}) => ({
  type: 'number',
  ...options,
});
const count = (options: { default: number; minimum: number; maximum: number; description: string }) => ({
  type: 'integer',
  ...options,
});
const section = (description: string, properties: Readonly<Record<string, unknown>>) => ({
  type: 'object',
  additionalProperties: false,
  default: {},
  description,
  properties,
});

const gibibyte = 1024 ** 3;

export const configSchema = {
  $id: 'sfsd-config',
  type: 'object',
  additionalProperties: false,
  properties: {
    socket: section('Where the API listens.', {
      path: {
        type: 'string',
        pattern: '^/.+',
        maxLength: 107,
        default: '/run/sfsd/sfsd.sock',
        description: 'Absolute path of the unix socket; at most 107 bytes (unix(7)).',
      },
      mode: {
        type: 'string',
        pattern: '^0[0-7]{3}$',
        default: '0660',
        description: 'Octal mode of the socket.',
      },
    }),
    tcp: section('A second way in, for clients that cannot reach the socket; docs/access.md.', {
      host: {
        type: 'string',
        pattern: '^[0-9a-fA-F.:]+$',
        default: '127.0.0.1',
        description: 'Address to listen on. Tokens travel in the clear: beyond loopback, put TLS in front.',
      },
      port: count({
        default: 0,
        minimum: 0,
        maximum: 65_535,
        description: '0: no TCP listener. Needs tokenFile.',
      }),
      tokenFile: {
        type: 'string',
        pattern: '^(/.+)?$',
        maxLength: 4095,
        default: '',
        description:
          "Absolute path of the tokens, mode 0600, owned by the daemon's user or root. Needs port.",
      },
    }),
    access: section(
      "Who may do what on the unix socket: root and the daemon's own uid operate, others by these; docs/access.md.",
      {
        defaultRole: {
          enum: ['none', 'read', 'submit', 'operate'],
          default: 'read',
          description: 'Of whoever can connect and fits no rule.',
        },
        rules: {
          type: 'array',
          maxItems: 256,
          default: [],
          items: {
            type: 'object',
            additionalProperties: false,
            required: ['role'],
            properties: {
              role: { enum: ['none', 'read', 'submit', 'operate'] },
              uid: { type: 'integer', minimum: 0, maximum: 4_294_967_294 },
              gid: { type: 'integer', minimum: 0, maximum: 4_294_967_294 },
            },
          },
          description:
            'A client that fits all of `uid` and `gid` (supplementary groups count) that a rule gives has its `role`; the highest of the rules that fit counts.',
        },
        cgroups: {
          type: 'array',
          maxItems: 64,
          default: [],
          items: {
            type: 'string',
            pattern: '^(?:/(?!\\.{1,2}(?:/|$))[^/\\u0000-\\u001f]+)+$',
            maxLength: 4095,
          },
          description:
            'Cgroups (relative to the mount of each hierarchy) whose processes `submit` clients may register whatever their uid.',
        },
        requestsPerSecond: count({
          default: 2000,
          minimum: 1,
          maximum: 1_000_000,
          description:
            'What one client (uid or token) below `operate` may send on average; beyond it 429. A list of registrations is one request.',
        }),
        requestsBurst: count({
          default: 4000,
          minimum: 1,
          maximum: 1_000_000,
          description: 'What it may send at once after a pause.',
        }),
      },
    ),
    scheduler: section('The SFS policy (paper sections in brackets).', {
      policy: {
        enum: policyNames,
        default: 'sfs',
        description:
          'Policy of an invocation that names none. Requests may name `cfs` under each of them, `sfs` under `sfs` and `cfs`, and `gittins` under `gittins`.',
      },
      workers: count({
        default: 0,
        minimum: 0,
        maximum: 1024,
        description: 'FILTER workers, c; 0: usable CPUs minus reserveCpus.',
      }),
      reserveCpus: count({
        default: 0,
        minimum: 0,
        maximum: 1023,
        description: 'CPUs that get no FILTER worker; at least one worker remains.',
      }),
      pin: {
        type: 'boolean',
        default: false,
        description: "Bind a worker's invocation to one core instead of letting the kernel balance.",
      },
      window: count({
        default: 100,
        minimum: 1,
        maximum: 100_000,
        description: 'N: arrivals for each new slice (V-C).',
      }),
      sliceInitialMs: milliseconds({
        default: 20,
        minimum: 0.5,
        maximum: 10_000,
        description: 'S before the first N arrivals.',
      }),
      sliceMinMs: milliseconds({ default: 2, minimum: 0.5, maximum: 10_000, description: 'Least S.' }),
      sliceMaxMs: milliseconds({ default: 1000, minimum: 0.5, maximum: 60_000, description: 'Largest S.' }),
      sliceFixedMs: milliseconds({
        default: 0,
        minimum: 0,
        maximum: 60_000,
        description: 'A fixed S, for ablation; 0: adaptive.',
      }),
      overloadFactor: {
        type: 'number',
        default: 3,
        minimum: 0,
        maximum: 1000,
        description: 'O: bypass FILTER from a queue delay of O x S on (V-E); 0: never.',
      },
      agingMaxMs: milliseconds({
        default: 60_000,
        minimum: 100,
        maximum: 3_600_000,
        description: 'Policy gittins: who has waited for this long is served before all others.',
      }),
      pollMs: milliseconds({
        default: 4,
        minimum: 0.5,
        maximum: 100,
        description: 'How often /proc is asked for blocks and wakes (V-D).',
      }),
      ioAware: {
        type: 'boolean',
        default: true,
        description: 'A blocked invocation gives its worker away (V-D); false for ablation.',
      },
      budgetPercent: {
        type: 'number',
        default: 93,
        minimum: 20,
        maximum: 93,
        description: 'Largest share of any 100 ms in which FILTER may hold a core.',
      },
      liveMax: count({
        default: 32_768,
        minimum: 1,
        maximum: 1_048_576,
        description: 'Bound on live invocations; beyond it 429.',
      }),
    }),
    priorities: section('Real-time priorities; all below 50, where the kernel has its own threads.', {
      mode: {
        enum: ['auto', 'fifo', 'eevdf', 'off'],
        default: 'auto',
        description:
          'auto: SCHED_FIFO, and where it is denied a weight and a slice under CFS (EEVDF). fifo: SCHED_FIFO or nothing. eevdf: never real-time. off: every invocation is left to CFS. docs/modes.md says more.',
      },
      realtime: {
        type: 'boolean',
        default: true,
        description: 'false: the same as mode off; for configurations older than `mode`.',
      },
      filter: count({ default: 5, minimum: 1, maximum: 46, description: 'Functions in FILTER.' }),
      roundRobin: {
        type: 'boolean',
        default: false,
        description:
          'SCHED_RR instead of SCHED_FIFO for all functions in FILTER, in turns that outlive the pauses of the budget; for experiments.',
      },
      control: count({ default: 8, minimum: 1, maximum: 49, description: 'The control plane.' }),
      protected: count({
        default: 10,
        minimum: 2,
        maximum: 49,
        description: 'Processes that protect.rules name.',
      }),
      spawner: count({ default: 15, minimum: 1, maximum: 49, description: 'The spawner.' }),
      scheduling: count({ default: 25, minimum: 1, maximum: 49, description: 'The scheduling plane.' }),
      guard: count({ default: 30, minimum: 1, maximum: 49, description: 'The guard.' }),
      sessionNice: count({
        default: 5,
        minimum: 0,
        maximum: 19,
        description:
          "What all functions under CFS together yield to the host's other sessions, as a nice value; where autogroup is on.",
      }),
      eevdfNice: {
        type: 'integer',
        default: -15,
        minimum: -20,
        maximum: 0,
        description:
          'In mode eevdf, the nice value of functions in FILTER; one that is lower already is kept. Needs CAP_SYS_NICE.',
      },
      eevdfSliceMs: milliseconds({
        default: 0.5,
        minimum: 0.1,
        maximum: 100,
        description: 'In mode eevdf, the slice of functions in FILTER; needs Linux 6.12.',
      }),
      gracePeriodThreads: {
        type: 'boolean',
        default: false,
        description:
          "Raise the kernel's RCU threads to the spawner's priority: launches with limits on cgroup v1 hosts wait for them.",
      },
    }),
    functions: section('Registered functions and their instances.', {
      registeredMax: count({
        default: 10_000,
        minimum: 1,
        maximum: 100_000,
        description: 'Bound on registered functions.',
      }),
      bodyMaxBytes: count({
        default: 6 * 1024 ** 2,
        minimum: 0,
        maximum: gibibyte,
        description: 'Largest request body.',
      }),
      outputMaxBytes: count({
        default: 6 * 1024 ** 2,
        minimum: 0,
        maximum: gibibyte,
        description: 'Default bound on a result; the rest is drained and dropped.',
      }),
      timeoutMs: count({
        default: 0,
        minimum: 0,
        maximum: 86_400_000,
        description: 'Default timeout of a function; 0: none.',
      }),
      concurrency: count({
        default: 1000,
        minimum: 1,
        maximum: 32_768,
        description: 'Default bound on instances of one function that run at once.',
      }),
      killGraceMs: count({
        default: 500,
        minimum: 0,
        maximum: 60_000,
        description: 'From SIGTERM to SIGKILL at a timeout or a cancel.',
      }),
      resultsMax: count({
        default: 10_000,
        minimum: 1,
        maximum: 1_000_000,
        description: 'Finished asynchronous results kept.',
      }),
      spawnerSocket: {
        type: 'string',
        pattern: '^(/.+)?$',
        maxLength: 107,
        default: '',
        description:
          'Socket at which systemd starts the spawner in a unit of its own, so that functions inherit nothing of the hardening of the daemon; empty: the daemon starts it as its child.',
      },
    }),
    store: section('What outlasts a restart: registered functions and asynchronous invocations in flight.', {
      path: {
        type: 'string',
        pattern: '^(auto|none|/.+)$',
        maxLength: 4000,
        default: 'auto',
        description:
          'The database file; `auto`: `sfsd.db` in `$STATE_DIRECTORY`, else in `/var/lib/sfsd` (root) or `$XDG_STATE_HOME/sfsd`; `none`: nothing is kept.',
      },
      lostMax: count({
        default: 10_000,
        minimum: 0,
        maximum: 1_000_000,
        description: 'Asynchronous invocations remembered as lost by a crash; the oldest are dropped.',
      }),
    }),
    guard: section('The process that demotes everything when the daemon dies or stalls (docs/guard.md).', {
      enabled: {
        type: 'boolean',
        default: true,
        description: 'false: what is promoted stays real-time when the daemon is killed.',
      },
      stallMs: milliseconds({
        default: 1000,
        minimum: 600,
        maximum: 60_000,
        description: 'Everything is demoted when the scheduling loop stands still for this long.',
      }),
      tasksMax: count({
        default: 16_384,
        minimum: 64,
        maximum: 1_048_576,
        description:
          'Threads that may be promoted at once; 512 bytes of memory each once used. Beyond it they are left to CFS.',
      }),
    }),
    linux: section('How the kernel is called.', {
      ffi: {
        enum: ['koffi', 'ffi-napi'],
        default: 'koffi',
        description:
          'Who makes the calls of both planes. ffi-napi 4.0.3 and ref-napi 3.0.3 are optional peers; where they do not load, a warning says why and koffi is used.',
      },
    }),
    adopt: section('Processes that run already when the daemon starts; needs `ps` (Debian: procps).', {
      rules: {
        type: 'array',
        maxItems: 32,
        default: [],
        items: {
          type: 'object',
          additionalProperties: false,
          properties: {
            name: { type: 'string', minLength: 1, maxLength: 255 },
            uid: { type: 'integer', minimum: 0, maximum: 4_294_967_294 },
            commandHolds: { type: 'string', minLength: 1, maxLength: 4096 },
            functionName: { type: 'string', pattern: '^[!-~]{1,256}$' },
            policy: { enum: policyNames },
          },
        },
        description:
          'A process that fits all of `name` (of its program), `uid` and `commandHolds` (a part of its command line) that a rule gives is registered as an invocation of `functionName` (absent: its name) under `policy`; the first rule that fits counts, and at most 64 processes are adopted.',
      },
    }),
    protect: section(
      'Processes held above FILTER while the daemon runs: gateway, containerd, sandbox servers.',
      {
        rules: {
          type: 'array',
          maxItems: 32,
          default: [],
          items: {
            type: 'object',
            additionalProperties: false,
            minProperties: 1,
            maxProperties: 1,
            properties: {
              cgroup: { type: 'string', pattern: '^/.+', maxLength: 4095 },
              command: { type: 'string', minLength: 1, maxLength: 255 },
              commandPattern: { type: 'string', minLength: 1, maxLength: 1024 },
              pidFile: { type: 'string', pattern: '^/.+', maxLength: 4095 },
            },
          },
          description:
            'Each rule holds one of `cgroup` (path of a group, with all below), `command` (name of the process or of its program), `commandPattern` (a regular expression for the command line) and `pidFile`. Whatever fits is SCHED_FIFO at priorities.protected, later threads too, and becomes what it was when the daemon stops. At most 256 processes and 4096 threads; real-time already: left alone.',
        },
        intervalMs: count({
          default: 3000,
          minimum: 200,
          maximum: 60_000,
          description: 'How often they are looked for.',
        }),
      },
    ),
    log: section('pino, one JSON object a line on standard error.', {
      level: {
        enum: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
        default: 'info',
        description: 'Least level that is written.',
      },
    }),
  },
} as const;
