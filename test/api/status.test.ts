/** Status, health, metrics and their documentation, and the API's description of itself. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { statusBody } from '../../src/api/bodies.js';
import { functionLabelsMax, Metrics } from '../../src/api/metrics.js';
import { functionInputSchema, sharedSchemas } from '../../src/api/schemas.js';
import { errorTable } from '../../src/contracts/errors.js';
import type { LaunchOutcome } from '../../src/contracts/function.js';
import type { StatusBody } from '../../src/contracts/http.js';
import { instant } from '../../src/contracts/time.js';
import { Caller } from './caller.js';
import { functionsConfig, resources, rig, serve } from './simulated.js';

t.setTimeout(120_000);

/** From dist/test/api, where the compiled tests run. */
const root = join(fileURLToPath(import.meta.url), '..', '..', '..', '..');

t.test('status tells of the plane in milliseconds and shares', async (t) => {
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  await api.call('PUT', '/v1/functions/a', { body: { command: 'x' } });
  const { status, json } = await api.call('GET', '/v1/status');
  t.equal(status, 200);
  const body = json as StatusBody;
  t.match(body, {
    version: '1.2.3',
    pid: process.pid,
    stopping: false,
    mode: 'fifo',
    targets: [{ way: 'eevdf', reason: 'cpu-group', targets: 3 }],
    protection: { processes: 2, threads: 9, cpuCores: 0.25 },
    policy: 'sfs',
    sliceMs: 20,
    queueLength: 3,
    liveMax: 1000,
    blocked: 1,
    budget: { paused: false, usedShare: 0.5, maxShare: 0.93 },
    loop: { samples: 100, lateP50Ms: 0.03, lateP99Ms: 0.16, lateMaxMs: 0.4 },
    cpu: { cores: 2, elapsedMs: 10_000, pollingMs: 50, schedulingMs: 30, controlMs: 100, spawnerMs: 20 },
    functions: { registered: 1, running: 0 },
    store: simulated.store.status(),
    ffi: { configured: 'koffi', control: 'koffi', scheduling: 'koffi' },
  });
  t.same(body.workers, [
    { worker: 0, invocation: { id: 'busy', source: 'api', functionName: 'f', forMs: 2.5 } },
    { worker: 1 },
  ]);
  t.same(body.resources, { atMs: 4000, functions: resources.functions, others: resources.others });
  t.equal(body.cpu.hostShare, 0.01);
  t.equal(body.counters.observations, 12);
});

t.test('healthz is ok until the daemon stops', async (t) => {
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  const { status, json } = await api.call('GET', '/healthz');
  t.equal(status, 200);
  t.same(json, { status: 'ok' });
  simulated.world.stopping = true;
  const stopping = await api.call('GET', '/healthz');
  t.equal(stopping.status, 503);
  t.match(stopping.json, { code: 'SFSD_ERR_STOPPING' });
  t.equal(stopping.headers['retry-after'], '1');
  t.match((await api.call('GET', '/v1/status')).json, { stopping: true });
});

t.test('metrics follow the plane and count what was answered', async (t) => {
  const simulated = rig();
  const api = await Caller.connect(t, (await serve(t, simulated)).path);
  await api.call('PUT', '/v1/functions/a', { body: { command: 'x' } });
  simulated.launcher.ending = { stdout: 'abc' };
  simulated.launcher.onLaunch = () => simulated.plane.advance(30);
  await api.call('POST', '/v1/functions/a/invocations?async=true');
  simulated.plane.liveMax = 0;
  await api.call('POST', '/v1/functions/a/invocations');
  await api.undocumented('GET', '/nothing/here');
  const { status, bytes, headers } = await api.call('GET', '/metrics');
  t.equal(status, 200);
  t.match(headers['content-type'], /^text\/plain; version=0\.0\.4/);
  const text = bytes.toString();
  for (const line of [
    'sfsd_mode{mode="fifo"} 1',
    'sfsd_mode{mode="eevdf"} 0',
    'sfsd_targets_total{way="eevdf",reason="cpu-group"} 3',
    'sfsd_protected_processes 2',
    'sfsd_protected_cpu_cores 0.25',
    'sfsd_info{version="1.2.3",mode="fifo",policy="sfs"} 1',
    'sfsd_slice_seconds 0.02',
    'sfsd_workers 2',
    'sfsd_workers_busy 1',
    'sfsd_scheduler_budget_pauses_total 9',
    'sfsd_loop_late_seconds{quantile="0.99"} 0.00016',
    'sfsd_cpu_seconds_total{part="control"} 0.1',
    'sfsd_function_instances{function="busy"} 3',
    'sfsd_function_cpu_cores{function="busy"} 1.25',
    'sfsd_function_memory_bytes{function="idle"} 1048576',
    'sfsd_function_instances{function="other"} 5',
    'sfsd_results_kept 1',
    'sfsd_results_bytes 3',
    'sfsd_invocations_total{function="a",outcome="succeeded"} 1',
    'sfsd_invocations_total{function="a",outcome="refused"} 1',
    'sfsd_turnaround_seconds_bucket{le="0.05",function="a"} 1',
    'sfsd_turnaround_seconds_bucket{le="0.02",function="a"} 0',
    'sfsd_http_requests_total{method="POST",route="/v1/functions/:name/invocations",status="429"} 1',
    'sfsd_http_requests_total{method="any",route="unknown",status="404"} 1',
  ]) {
    t.ok(text.split('\n').includes(line), line);
  }
  const again = (await api.call('GET', '/metrics')).bytes.toString();
  t.match(again, '\nsfsd_scheduler_budget_pauses_total 9\n', 'a copied counter is set, not added to');
});

t.test('function names beyond the bound share one label', async (t) => {
  const metrics = new Metrics();
  const at = instant(0);
  const outcome: LaunchOutcome = {
    exit: { kind: 'exited', code: 0 },
    stdout: new Uint8Array(0),
    stderr: new Uint8Array(0),
    truncated: false,
    arrivedAt: at,
    startedAt: at,
    endedAt: at,
    cpuMs: 0,
    voluntarySwitches: 0,
    involuntarySwitches: 0,
    rssMaxBytes: 0,
  };
  for (let index = 0; index < functionLabelsMax + 50; index += 1) metrics.ran(`f${index}`, outcome);
  metrics.ran('f0', outcome);
  const text = await metrics.scrape(statusBody(rig().ports, resources), {
    resultsKept: 0,
    resultsBytes: 0,
    resultsDropped: 0,
    connectionsDropped: 0,
  });
  t.equal(text.match(/^sfsd_invocations_total/gm)?.length, functionLabelsMax + 1);
  t.match(text, 'sfsd_invocations_total{function="other",outcome="succeeded"} 50');
  t.match(text, 'sfsd_invocations_total{function="f0",outcome="succeeded"} 2');
});

t.test('docs/metrics.md lists exactly the metrics there are, in the same words', async (t) => {
  const documented = readFileSync(join(root, 'docs', 'metrics.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, name, type, labels, help]) => ({ name: name?.replaceAll('`', ''), type, labels, help }));
  const registered = (await new Metrics().registry.getMetricsAsJSON()).map((metric) => ({
    name: metric.name,
    type: String(metric.type),
    help: metric.help,
  }));
  t.same(
    documented.map(({ name, type, help }) => ({ name, type, help })),
    registered,
  );
  const used = new Metrics().registry.getMetricsAsArray() as readonly { readonly labelNames?: string[] }[];
  t.same(
    documented.map(({ labels }) => labels),
    used.map((metric) => (metric.labelNames ?? []).join(', ')),
  );
});

/** contracts/http.ts, read as text, is the list of routes that there must be. */
function contractRoutes(): string[] {
  const text = readFileSync(join(root, 'src', 'contracts', 'http.ts'), 'utf8');
  const routes = new Set<string>();
  for (const [, method, path] of text.matchAll(/^ \* {3}(GET|PUT|POST|DELETE) +(\/\S+)/gm)) {
    const plain = (path ?? '').replace('[?source=]', '').replace(/:(\w+)/g, '{$1}');
    const short = plain.replace(/\[[^\]]*\]/, '');
    const long = plain.replace(/[[\]]/g, '');
    for (const route of [short, long]) routes.add(`${method?.toLowerCase()} ${route}`);
  }
  return [...routes].sort();
}

t.test('the description is OpenAPI 3.1 and holds each route of the contract, and no other', async (t) => {
  const { document } = await Caller.connect(t, (await serve(t, rig())).path);
  t.match(document.openapi, /^3\.1\./);
  t.equal(document.info.version, '1.2.3');
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
  t.equal(contractRoutes().length, 15);
  t.same(described.sort(), contractRoutes());
});

t.test('the schemas are valid JSON Schema', async (t) => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
  for (const schema of [...sharedSchemas, functionInputSchema(functionsConfig)]) {
    t.equal(ajv.validateSchema(schema), true, ajv.errorsText(ajv.errors));
  }
});

t.test('each operation has a summary, described responses and its path parameters', async (t) => {
  const { document } = await Caller.connect(t, (await serve(t, rig())).path);
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const at = `${method} ${path}`;
      const { summary, parameters = [] } = operation as unknown as {
        readonly summary?: string;
        readonly parameters?: readonly {
          readonly in: string;
          readonly name: string;
          readonly required?: boolean;
        }[];
      };
      t.ok(summary, at);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = parameters.filter((parameter) => parameter.in === 'path');
      t.same(
        declared.map(({ name }) => name),
        inPath,
        at,
      );
      t.ok(declared.every(({ required }) => required === true));
      const responses = Object.entries(operation.responses);
      t.ok(responses.some(([status]) => /^[12]/.test(status)));
      for (const [status, response] of responses) {
        t.ok((response as { description?: string }).description, `${at} ${status}`);
      }
    }
  }
  t.notMatch(JSON.stringify(document), '"$id"');
  for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
    t.ok(document.components.schemas[name ?? ''] !== undefined, name ?? '');
  }
});

t.test('each documented code has the status that the table of errors gives it', async (t) => {
  const { document } = await Caller.connect(t, (await serve(t, rig())).path);
  const codes = new Set<string>();
  for (const operations of Object.values(document.paths)) {
    for (const { responses } of Object.values(operations)) {
      for (const [status, response] of Object.entries(responses)) {
        const schema = response.content?.['application/json']?.schema as
          | { readonly properties?: { readonly code?: { readonly enum?: readonly string[] } } }
          | undefined;
        for (const code of schema?.properties?.code?.enum ?? []) {
          codes.add(code);
          t.equal(String(errorTable[code as keyof typeof errorTable].status), status, code);
        }
      }
    }
  }
  t.ok(codes.size >= 15);
});
