/**
 * The service in rounds: ended in every way that a host knows, at a random moment, while functions run. Each time the callers hear of it,
 * nothing of ours is left real-time, and the next daemon serves with what was registered.
 */
import t from 'tap';
import { noSystemd } from './namespaced-systemd.js';
import { ServiceUnderTest } from './service-under-test.js';

const skip = noSystemd();
const rounds = 24;
const functionsAtOnce = 8;
const ways = ['restart', 'SIGKILL', 'SIGSTOP', 'SIGTERM'] as const;
const seed = Number(process.env.SFSD_TEST_SEED ?? 1);
t.setTimeout(0);

t.test(`${rounds} ends of the service in the middle of functions, seed ${seed}`, { skip }, async (t) => {
  const service = await ServiceUnderTest.start({ lifeMaxSeconds: 1200 });
  t.teardown(() => service.stop());
  const { systemd } = service;
  await service.put('work', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.2; echo done');
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  for (let round = 0; round < rounds; round += 1) {
    const way = ways[round % ways.length] ?? 'restart';
    const pid = service.mainPid;
    const calls = Array.from({ length: functionsAtOnce }, () => service.invoke('work').answer);
    await new Promise((resolve) => setTimeout(resolve, random() * 400));
    if (way === 'restart') systemd.must('systemctl', 'restart', 'sfsd');
    else systemd.must('kill', `-${way}`, String(pid));
    const began = Date.now();
    const told = await Promise.all(calls);
    t.ok(
      told.every((answer) => answer === 'cut' || /^(200 done|[45]\d\d )/.test(answer)),
      `${way}: every caller got an answer or an error`,
    );
    t.ok(await service.waitFor(async () => service.mainPid !== pid && (await service.serves()), 30_000));
    t.comment(`${way}: serves again after ${Date.now() - began} ms`);
    t.strictSame(service.realTimeFunctions(), [], 'nothing of ours is real-time');
    t.equal(service.spawners(), 1, 'one spawner');
    t.match(await service.invoke('work').answer, /^200 done/, 'what was registered runs');
  }
});
