/** Real pipes, ticks by hand. */
import t, { type Test } from 'tap';
import type { Tick } from '../../src/contracts/time.js';
import { HeadOutput } from '../../src/functions/output.js';
import { OutputPipe } from '../../src/functions/output-pipe.js';
import { OutputWatch } from '../../src/functions/output-watch.js';
import { libcOfHost } from './support.js';

class TickByHand implements Tick {
  readonly works = new Set<() => void>();

  join(work: () => void): () => void {
    this.works.add(work);
    return () => this.works.delete(work);
  }

  now(): void {
    for (const work of this.works) work();
  }
}

const libc = libcOfHost();
const text = Buffer.from('word');

function rig(t: Test) {
  const tick = new TickByHand();
  const watch = new OutputWatch(libc, tick);
  t.teardown(() => watch.close());
  const open = () => {
    const ends = new Int32Array(2);
    libc.pipe(ends);
    const [fd = -1, writeEnd = -1] = ends;
    libc.setNonBlocking(fd);
    const output = new HeadOutput(1024);
    const readBuffer = Buffer.alloc(4096);
    let onClosed = () => {};
    const closed = new Promise<void>((resolve) => {
      onClosed = resolve;
    });
    const pipe = new OutputPipe({ libc, fd, output, watch, readBuffer, onClosed });
    return { pipe, output, writeEnd, closed };
  };
  const said = (output: HeadOutput) => Buffer.from(output.bytes).toString();
  return { tick, watch, open, said };
}

t.test(
  'what is said before the first tick, and after many, is taken at the next one and streamed from there',
  async (t) => {
    const { tick, open, said } = rig(t);
    for (const silentTicks of [0, 1, 5]) {
      const { output, writeEnd, closed } = open();
      for (let passed = 0; passed < silentTicks; passed++) tick.now();
      t.equal(said(output), '');
      libc.write(writeEnd, text, text.length);
      tick.now();
      t.equal(said(output), 'word');
      t.equal(tick.works.size, 0, 'a stream has taken over');
      libc.write(writeEnd, text, text.length);
      libc.close(writeEnd);
      await closed;
      t.equal(said(output), 'wordword');
    }
  },
);

t.test(
  'an output whose program closed it is over, and one that is drained before any tick was never polled',
  async (t) => {
    const { tick, open, said } = rig(t);
    for (const silentTicks of [0, 1]) {
      const { pipe, writeEnd } = open();
      for (let passed = 0; passed < silentTicks; passed++) tick.now();
      libc.close(writeEnd);
      tick.now();
      t.equal(pipe.closed, true);
      t.equal(tick.works.size, 0);
    }
    const { pipe, output, writeEnd } = open();
    libc.write(writeEnd, text, text.length);
    libc.close(writeEnd);
    pipe.drain();
    t.equal(pipe.closed, true);
    t.equal(said(output), 'word');
    t.equal(tick.works.size, 0);
  },
);

t.test('descriptors that are used again are not taken for those before', async (t) => {
  const { tick, open, said } = rig(t);
  const first = open();
  tick.now();
  first.pipe.destroy();
  libc.close(first.writeEnd);
  const second = open();
  t.equal(second.pipe.fd, first.pipe.fd, 'the lowest free number');
  tick.now();
  libc.write(second.writeEnd, text, text.length);
  tick.now();
  t.equal(said(second.output), 'word');
  t.equal(said(first.output), '');
  libc.close(second.writeEnd);
  await second.closed;
});

t.test('300 silent outputs, more than one wait brings, are all heard', async (t) => {
  const { tick, open, said } = rig(t);
  const all = Array.from({ length: 300 }, open);
  tick.now();
  for (const { writeEnd } of all) {
    libc.write(writeEnd, text, text.length);
    libc.close(writeEnd);
  }
  tick.now();
  tick.now();
  t.ok(all.every(({ output }) => said(output) === 'word'));
  await Promise.all(all.map(({ closed }) => closed));
});
