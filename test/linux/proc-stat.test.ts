import t from 'tap';
import { ProcStat } from '../../src/linux/proc-stat.js';

/** proc_pid_stat(5), with each field's own number as its value where nothing else is meant. */
function text(
  parts: { comm?: string; state?: string; flags?: number; threads?: number; start?: string } = {},
) {
  const { comm = 'name', state = 'S', flags = 0x400000, threads = 1, start = '123456' } = parts;
  const head = `4242 (${comm}) ${state} 17 4242 4240 0 -1 ${flags} 10 11 12 13 140 150 16 17 20 0 ${threads} 0 ${start}`;
  const tail =
    ' 1000000 250 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n';
  return Buffer.from(head + tail, 'latin1');
}

t.test('the fields are found by their numbers', async (t) => {
  const stat = new ProcStat();
  t.equal(stat.parse(text({ threads: 8 })), 'ok');
  t.equal(String.fromCharCode(stat.state), 'S');
  t.same(
    [stat.parent, stat.processGroup, stat.session, stat.userTicks, stat.systemTicks, stat.threads],
    [17, 4242, 4240, 140, 150, 8],
  );
  t.equal(stat.startTime, '123456');
  t.notOk(stat.isKernelThread);
});

t.test('a name may hold blanks, parentheses and line ends', async (t) => {
  const stat = new ProcStat();
  for (const comm of ['a b', ')', '(', ') R 9 9 9', '\n', '', '))) Z 1 (((', '\u00ff\u0001']) {
    t.equal(stat.parse(text({ comm, state: 'D' })), 'ok', JSON.stringify(comm));
    t.equal(String.fromCharCode(stat.state), 'D');
    t.equal(stat.parent, 17);
    t.equal(stat.startTime, '123456');
  }
});

t.test('states tell running, sleeping and ended apart', async (t) => {
  const stat = new ProcStat();
  for (const [state, threads, runnable, hasEnded, ended] of [
    ['R', 1, true, false, false],
    ['S', 1, false, false, false],
    ['D', 1, false, false, false],
    ['T', 1, false, false, false],
    ['Z', 1, false, true, true],
    ['Z', 3, false, true, false],
    ['X', 1, false, true, true],
  ] as const) {
    stat.parse(text({ state, threads }));
    t.same([stat.isRunnable, stat.hasEnded, stat.ended], [runnable, hasEnded, ended], `${state} ${threads}`);
  }
});

t.test('a start time beyond 2^53 keeps its digits', async (t) => {
  const stat = new ProcStat();
  stat.parse(text({ start: '18446744073709551615' }));
  t.equal(stat.startTime, '18446744073709551615');
});

t.test('kernel threads are told by their flag', async (t) => {
  const stat = new ProcStat();
  stat.parse(text({ flags: 0x208040 }));
  t.ok(stat.isKernelThread);
});

t.test('text that is cut off or no stat at all reads as gone, and never throws', async (t) => {
  const stat = new ProcStat();
  for (const nothing of ['', 'nonsense', '12 (name)', '12 (name) ']) {
    t.equal(stat.parse(Buffer.from(nothing)), 'gone', JSON.stringify(nothing));
  }
  const whole = text();
  for (let length = 0; length < whole.length; length++) {
    const cut = new ProcStat();
    if (cut.parse(whole.subarray(0, length)) === 'ok') t.ok(cut.threads >= 0 && cut.startTime.length >= 0);
  }
});
