/** Small replays with real processes: a private daemon from start to end, one that runs already, an interruption, a broken start. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { PrivateDaemon } from '../../src/cli/replay/private-daemon.js';
import { readRunFolder } from '../../src/trace/report/read.js';
import { startProgram } from './run-program.js';

// The machine that runs all tests is busy: bounded by each program's own limit instead.
t.setTimeout(170_000);

const skip = process.getuid?.() === 0 ? false : 'needs root for SCHED_FIFO';
const limitMs = 60_000;
const small = ['--durations', 'table', '--scale', '0.05', '--count', '24'];

t.test('a workload is compiled, replayed with a private daemon, and reported', { skip }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'sfsd-test-replay-'));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  const environment = { TMPDIR: home };
  const out = join(home, 'out');
  const compiled = join(home, 'compiled.jsonl');

  const gen = await startProgram(['trace', 'gen', ...small, '--out', compiled], { limitMs }).ended;
  t.equal(gen.code, 0, gen.err);
  t.match(gen.out, /: 24 invocations in .* from table, stratified/);

  const {
    code,
    out: text,
    err,
  } = await startProgram(['replay', '--workload', compiled, '--out', out, '--keep'], { limitMs, environment })
    .ended;
  t.equal(code, 0, err);
  t.match(text, /^IDEAL .*\n *SRTF .*\n *CFS .*\n *SFS /m);
  t.match(text, /^24 of 24 requests compared/m);
  t.match(text, /^CFS run: 24 of 24 sent, 24 completed, 0 lost/m);
  t.ok(text.endsWith(`report: ${join(out, 'report.html')}\n`));
  t.match(err, /^replaying under cfs: [\s\S]*^replaying under sfs: /m);
  t.notOk((text + err).includes('\u001b'), 'no escape codes where there is no terminal');
  t.equal(readFileSync(join(out, 'workload.jsonl'), 'utf8'), readFileSync(compiled, 'utf8'));
  t.ok(existsSync(join(out, 'daemon-cfs-sfs.log')));
  t.match(readdirSync(home).sort(), ['compiled.jsonl', 'out'], 'the daemon’s folder is gone');

  const report = await startProgram(['report', out, '--json'], { limitMs }).ended;
  t.equal(report.code, 0, report.err);
  t.match(JSON.parse(report.out), { folder: out, summary: { paired: 24, cfs: {}, sfs: {} } });
});

t.test('four policies run the same requests, FIFO and RR on daemons of their own', { skip }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'sfsd-test-replay-'));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  const out = join(home, 'out');
  const tiny = ['--durations', 'table', '--scale', '0.05', '--count', '10', '--policy', 'fifo,rr,sfs,cfs'];
  const argv = ['replay', ...tiny, '--workers', '2', '--poll', '2', '--out', out];
  const replayed = await startProgram(argv, { limitMs, environment: { TMPDIR: home } }).ended;
  t.equal(replayed.code, 0, replayed.err);
  t.match(replayed.out, /^IDEAL .*\n *SRTF .*\n *FIFO .*\n *RR .*\n *CFS .*\n *SFS /m);
  t.match(replayed.out, /^IDEAL .* and SRTF .* are computed from the demands that were measured\.$/m);
  t.match(replayed.out, /^FIFO and RR ran .* real-time for at most 93% of any 100 ms/m);
  t.match(replayed.out, /^RR's turns are the kernel's quantum of \d+ ms/m);
  t.same(readdirSync(home), ['out'], 'every daemon’s folder is gone');

  const { summary } = await readRunFolder(out);
  t.equal(summary.paired, 10);
  for (const run of [summary.cfs, summary.sfs, summary.fifo, summary.rr]) t.equal(run?.counts.completed, 10);
  for (const run of [summary.fifo, summary.rr]) {
    // The shortest may end before they are picked up.
    t.ok((run?.scheduling.paths.filter ?? 0) > 5, 'they ran real-time to their ends');
    t.equal(run?.scheduling.sliceMs, null, 'a slice that never ends is no S');
    t.equal(run?.overloadFactor, null);
  }
  const asked = { 'scheduler.workers': 2, 'scheduler.pollMs': 2 };
  t.match(summary.cfs?.settings, asked);
  t.match(summary.sfs?.settings, asked);
  t.match(summary.fifo?.settings, { ...asked, 'scheduler.overloadFactor': 0 });
  t.match(summary.rr?.settings, { 'priorities.roundRobin': true, 'scheduler.workers': 512 });
});

t.test('a running daemon is used when it is named, and keeps no function of ours', { skip }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'sfsd-test-replay-'));
  const daemon = await PrivateDaemon.start({
    settings: {},
    signal: new AbortController().signal,
    tell: (text) => t.comment(text),
  });
  t.teardown(async () => {
    await daemon.stop({ keepLogAs: undefined });
    rmSync(home, { recursive: true, force: true });
  });
  const socket = ['--socket', daemon.socketPath];
  const argv = ['replay', ...small, '--policy', 'sfs', '--json', '--out', join(home, 'out'), ...socket];
  const { code, out, err } = await startProgram(argv, { limitMs }).ended;
  t.equal(code, 0, err);
  t.match(JSON.parse(out), { summary: { cfs: null, sfs: { counts: { completed: 24 } } } });
  t.equal((await startProgram(['function', 'list', '--json', ...socket], { limitMs }).ended).out, '[]\n');
});

t.test('Ctrl-C ends the replay and its daemon, and writes no results', { skip }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'sfsd-test-replay-'));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  const out = join(home, 'out');
  const long = ['--durations', 'table', '--count', '100', '--scale', '1'];
  const running = startProgram(['replay', ...long, '--out', out], { limitMs, environment: { TMPDIR: home } });
  await running.said('replaying under cfs');
  const started = Date.now();
  running.child.kill('SIGINT');
  const { code, out: text, err } = await running.ended;
  t.equal(code, 1);
  t.equal(text, '');
  t.match(err, /ended by SIGINT: the replay was stopped, no results were written\n$/);
  t.ok(Date.now() - started < 15_000, 'long before the workload’s end');
  t.strictSame(readdirSync(home), [], 'neither results nor the daemon’s folder');
});

t.test('a daemon that does not start ends the replay with its log', async (t) => {
  const { code, err } = await startProgram(['replay', ...small, '--set', 'scheduler.nonsense=1'], { limitMs })
    .ended;
  t.equal(code, 1);
  t.match(err, /The end of the daemon’s log:\n[\s\S]*SFSD_ERR_CONFIG_INVALID[\s\S]*scheduler\.nonsense/);
  t.match(err, /^SFSD_ERR_DAEMON_UNREACHABLE: .*it ended at its start/m);
});

t.test('a daemon that may promote nothing is not measured as SFS', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'sfsd-test-replay-'));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  const out = join(home, 'out');
  const argv = ['replay', ...small, '--set', 'priorities.realtime=false', '--out', out];
  const { code, err } = await startProgram(argv, { limitMs }).ended;
  t.equal(code, 1);
  t.match(
    err,
    /^SFSD_ERR_PERMISSION: .*priorities\.realtime is false; only --policy cfs can be replayed\.$/m,
  );
  t.notOk(existsSync(out));
});
