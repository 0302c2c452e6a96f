/** The resource view over simulated processes and time: who is read, how often, and what the numbers are. */
import t from 'tap';
import { type Invocation, invocationKey } from '../../src/contracts/invocation.js';
import { resourceFunctionsMax } from '../../src/contracts/resources.js';
import type { TaskGroup } from '../../src/contracts/task-group.js';
import { after, fromMs, instant } from '../../src/contracts/time.js';
import type { ProcessUse } from '../../src/daemon/process-usage.js';
import {
  byFunction,
  FunctionResources,
  pidsInTurn,
  resourcePidsMax,
} from '../../src/daemon/resource-view.js';

function running(functionName: string, group: number | TaskGroup): Invocation {
  return {
    key: invocationKey(1),
    source: 'api',
    id: 'x',
    functionName,
    arrivedAt: instant(0),
    group: typeof group === 'number' ? { kind: 'process', pid: group, startTime: '1' } : group,
  };
}

/** Processes that a test makes use CPU time; `rounds` holds the pids of each round. */
class Host {
  readonly live: Invocation[] = [];
  readonly uses = new Map<number, ProcessUse>();
  readonly rounds: (readonly number[])[] = [];
  readonly view: FunctionResources;
  #now = instant(1_000_000);

  constructor() {
    this.view = new FunctionResources({
      clock: { now: () => this.#now },
      live: () => this.live,
      read: async (pids) => {
        this.rounds.push(pids);
        return new Map(this.uses);
      },
    });
  }

  run(functionName: string, pid: number, use: ProcessUse): void {
    this.live.push(running(functionName, pid));
    this.uses.set(pid, use);
  }

  /** Time passes, and each process uses so much of it. */
  pass(ms: number, cpuMs: Readonly<Record<number, number>>): void {
    this.#now = after(this.#now, fromMs(ms));
    for (const [pid, use] of this.uses)
      this.uses.set(pid, { ...use, ageMs: use.ageMs + ms, cpuMs: use.cpuMs + (cpuMs[pid] ?? 0) });
  }
}

t.test('nothing is read before somebody looks, and one round a second serves all who do', async (t) => {
  const host = new Host();
  host.run('a', 10, { cpuMs: 100, ageMs: 1000, memoryBytes: 5 });
  t.equal(host.rounds.length, 0);
  const [first, second] = await Promise.all([host.view.look(), host.view.look()]);
  t.equal(first, second);
  host.pass(999, {});
  t.equal(await host.view.look(), first);
  t.equal(host.rounds.length, 1);
  host.pass(1, {});
  await host.view.look();
  t.equal(host.rounds.length, 2);
});

t.test(
  'CPU is that since the last look, and since its start for a process that was not seen then',
  async (t) => {
    const host = new Host();
    host.run('a', 10, { cpuMs: 500, ageMs: 1000, memoryBytes: 5 });
    t.match((await host.view.look()).functions, [{ functionName: 'a', cpuCores: 0.5 }]);
    host.pass(2000, { 10: 2000 });
    host.run('b', 11, { cpuMs: 30, ageMs: 40, memoryBytes: 7 });
    t.match((await host.view.look()).functions, [
      { functionName: 'a', cpuCores: 1, memoryBytes: 5 },
      { functionName: 'b', cpuCores: 0.75, memoryBytes: 7 },
    ]);
  },
);

t.test('a pid that has come to mean another process is counted from its own start', async (t) => {
  const host = new Host();
  host.run('a', 10, { cpuMs: 50_000, ageMs: 100_000, memoryBytes: 5 });
  await host.view.look();
  host.pass(1000, {});
  host.uses.set(10, { cpuMs: 200, ageMs: 800, memoryBytes: 5 });
  t.match((await host.view.look()).functions, [{ cpuCores: 0.25 }]);
});

t.test('instances of a function add up; what cannot be read is counted and not guessed', async (t) => {
  const host = new Host();
  host.run('a', 10, { cpuMs: 500, ageMs: 1000, memoryBytes: 5 });
  host.run('a', 11, { cpuMs: 250, ageMs: 1000, memoryBytes: 6 });
  host.live.push(running('a', 12), running('a', { kind: 'cgroup', path: '/a' }));
  const threads: TaskGroup = { kind: 'threads', pid: 11, startTime: '1', tids: [11] };
  host.live.push(running('a', threads));
  const { functions, others } = await host.view.look();
  t.same(functions, [{ functionName: 'a', instances: 5, measured: 2, cpuCores: 0.75, memoryBytes: 11 }]);
  t.equal(others.functions, 0);
});

t.test('functions beyond the bound are added up', async (t) => {
  const host = new Host();
  for (let index = 0; index < resourceFunctionsMax + 3; index += 1)
    host.run(`f${index}`, 100 + index, { cpuMs: index, ageMs: 1000, memoryBytes: 10 });
  const { functions, others } = await host.view.look();
  t.equal(functions.length, resourceFunctionsMax);
  t.equal(functions[0]?.functionName, `f${resourceFunctionsMax + 2}`, 'most CPU first');
  t.match(others, { functions: 3, instances: 3, measured: 3, memoryBytes: 30 });
  t.ok(Math.abs(others.cpuCores - 0.003) < 1e-9);
});

t.test('a round reads a bounded number of processes, of each function in turn', async (t) => {
  const many = Array.from({ length: 1000 }, (_, index) => running('many', 1000 + index));
  const groups = byFunction([...many, running('few', 1), running('few', 2)]);
  const pids = pidsInTurn(groups, resourcePidsMax);
  t.equal(pids.length, resourcePidsMax);
  t.same(pids.slice(0, 5), [1000, 1, 1001, 2, 1002]);
  t.same(pidsInTurn(byFunction([]), resourcePidsMax), []);
});

t.test('a round that hangs does not hold the look, and no second one is started', async (t) => {
  let rounds = 0;
  const view = new FunctionResources({
    clock: { now: () => instant(0) },
    live: () => [],
    read: () => {
      rounds += 1;
      return new Promise(() => {});
    },
  });
  t.same((await view.look()).functions, []);
  await view.look();
  t.equal(rounds, 1);
});
