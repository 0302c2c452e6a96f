/**
 * What is harmless once and ruins a daemon when it is repeated: registrations, ids that are used again, connections with many
 * requests that go away.
 */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import t from 'tap';
import { DaemonUnderTest, sleep } from './daemon-under-test.js';
import { startBounded } from './processes.js';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const repetitions = 60;

t.test(
  'registrations, ended and made anew under their id, are all taken and keep no descriptor',
  {
    skip,
  },
  async (t) => {
    const daemon = await DaemonUnderTest.start();
    t.teardown(() => daemon.stop());
    const { pid, process: sleeper } = await startBounded(10, ['sleep', '9']);
    t.teardown(() => sleeper.kill('SIGTERM'));
    const descriptors = readdirSync(`/proc/${await daemon.pid()}/fd`).length;
    const refused: string[] = [];
    for (let count = 0; count < repetitions; count += 1) {
      const json = [{ id: 'again', functionName: 'f', pid }];
      const { text } = await daemon.request('POST', '/v1/invocations', { json });
      if (text.includes('"code"')) refused.push(text);
      if (count % 2 === 0) await daemon.request('DELETE', '/v1/invocations/again');
      else await daemon.request('POST', '/v1/invocations/again/end');
    }
    t.same(refused, []);
    await sleep(100);
    t.equal((await daemon.status()).live, 0);
    const grown = readdirSync(`/proc/${await daemon.pid()}/fd`).length - descriptors;
    t.ok(grown < repetitions / 4, `descriptors: ${grown} more`);
  },
);

t.test('a client that goes away ends all functions that it had pipelined', { skip }, async (t) => {
  const daemon = await DaemonUnderTest.start();
  t.teardown(() => daemon.stop());
  await daemon.putFunction('long', { command: '/bin/sleep', args: ['60'] });
  const client = connect(daemon.socketPath);
  client.on('error', () => {});
  const request = 'POST /v1/functions/long/invocations HTTP/1.1\r\ncontent-length: 0\r\n\r\n';
  client.write(request.repeat(12));
  await untilLive(daemon, 12);
  t.equal((await daemon.status()).live, 12, 'they run');
  client.destroy();
  await untilLive(daemon, 0);
  t.equal((await daemon.status()).live, 0, 'they have ended');
});

async function untilLive(daemon: DaemonUnderTest, count: number): Promise<void> {
  for (let tries = 0; tries < 40 && (await daemon.status()).live !== count; tries += 1) await sleep(50);
}
