/** In which order those that hold a worker go on after a pause of the budget. */
import t from 'tap';
import { fromMs } from '../../src/contracts/time.js';
import { burn, Driver } from './driver.js';

/** One core, a worker for everybody, a gap of 20 ms in 100. */
function ends(turnQuantumMs: number | undefined, demandsMs: readonly number[]): number[] {
  const driver = new Driver(
    {
      workers: 8,
      sliceFixed: fromMs(60_000),
      overloadFactor: Number.POSITIVE_INFINITY,
      ioAware: false,
      budgetShare: 0.8,
      ...(turnQuantumMs === undefined ? {} : { turnQuantum: fromMs(turnQuantumMs) }),
    },
    { cores: 1 },
  );
  const keys = demandsMs.map((ms) => driver.start(burn(ms)));
  driver.runFor(3000);
  return keys.map((key) => (driver.log.of('ended').find((decision) => decision.key === key)?.at ?? 0) / 1000);
}

t.test('turns rotate: three equal ones end one quantum and gap apart', async (t) => {
  t.same(ends(50, [400, 400, 400]), [1000, 1100, 1200]);
});

t.test('without a quantum the first that was picked up goes on first', async (t) => {
  const [first = 0, second = 0, third = 0] = ends(undefined, [400, 400, 400]);
  t.ok(first < 560 && first < second && second < third, `${first}, ${second}, ${third}`);
});

t.test('a turn that a pause has cut goes on after it', async (t) => {
  // 80 ms to the first pause are less than the quantum, so the first ends before the others have run beside the gaps.
  const [first = 0, second = 0, third = 0] = ends(200, [150, 400, 400]);
  t.ok(first < 200 && first < second && first < third, `${first}, ${second}, ${third}`);
});

t.test('ends, demotions and a shrinking pool leave no turn behind', async (t) => {
  const driver = new Driver({ workers: 4, budgetShare: 0.8, turnQuantum: fromMs(10) }, { cores: 1 });
  for (let round = 0; round < 20; round += 1) driver.start(burn(5 + 3 * round));
  driver.runFor(150);
  driver.scheduler.setWorkers(1);
  driver.tick();
  driver.runFor(5000);
  t.equal(driver.scheduler.view.live, 0);
  t.equal(driver.log.of('ended').length, 20);
});
