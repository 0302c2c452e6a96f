/**
 * Registrations a second in lists of 256, through the socket, against a plane that only keeps books. The aim is 20,000 a
 * second on a whole host; here, beside other tests, the figure is only reported and nothing may be lost.
 */

import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pino } from 'pino';
import t from 'tap';
import { Client } from 'undici';
import { listen } from '../../src/api/listen.js';
import { createServer } from '../../src/api/server.js';
import { invocationKey } from '../../src/contracts/invocation.js';
import { rig, socketFolder } from './simulated.js';

t.setTimeout(120_000);

const lists = 200;
const listLength = 256;

t.test('lists of 256 registrations are all accepted', async (t) => {
  const simulated = rig();
  let registered = 0;
  simulated.plane.reserve = () => ({ used: 0, release: () => {} });
  simulated.plane.register = () => {
    registered += 1;
    return invocationKey(registered);
  };
  const ports = { ...simulated.ports, logger: pino({ level: 'silent' }) };
  const path = join(socketFolder(t), 's');
  const listening = await listen(createServer(ports), { path, mode: '0660' });
  t.teardown(() => listening.close());
  const client = new Client('http://sfsd', { socketPath: path });
  t.teardown(() => client.destroy());
  const bodies = Array.from({ length: lists }, (_, list) =>
    JSON.stringify(
      Array.from({ length: listLength }, (_, item) => ({
        id: `invocation-${list}-${item}`,
        source: 'bench',
        functionName: 'hello',
        pid: item + 1000,
        startTime: '123456',
      })),
    ),
  );
  const before = process.cpuUsage();
  const started = performance.now();
  for (const body of bodies) {
    const answer = await client.request({
      method: 'POST',
      path: '/v1/invocations',
      headers: { 'content-type': 'application/json' },
      body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 202) t.fail(`status ${answer.statusCode}`);
  }
  const seconds = (performance.now() - started) / 1000;
  t.equal(registered, lists * listLength);
  const used = process.cpuUsage(before);
  const cpuUs = (used.user + used.system) / registered;
  t.comment(
    `${Math.round(registered / seconds)} registrations/s, ${cpuUs.toFixed(1)} us of CPU each, client and server in one process`,
  );
});
