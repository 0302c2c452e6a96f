/**
 * A golden file for each policy: a small workload and when each request ended, to the microsecond. A change of the policy, of the machine or
 * of a reference shows as a difference here; who means it writes the files anew:
 *
 *   SFSD_GOLDEN=write node dist/test/sim/golden.test.js
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { duration, fromMs } from '../../src/contracts/time.js';
import { simulate } from '../../src/sim/fleet.js';
import { type SimulatedPolicy, simulatedPolicies } from '../../src/sim/host.js';
import type { SimulatedRequest } from '../../src/sim/task.js';
import { RandomStream } from '../../src/trace/workload/random.js';
import { eevdf, fleetFor, fluid, parametersFor } from './machines.js';

interface GoldenRequest {
  readonly arrivalUs: number;
  readonly demandUs: number;
  /** [at, length] of each sleep. */
  readonly sleepsUs: readonly (readonly [number, number])[];
  readonly endedUs: number;
}

interface Golden extends Variant {
  readonly cores: number;
  readonly requests: readonly GoldenRequest[];
}

const cores = 2;

interface Variant {
  readonly policy: SimulatedPolicy;
  readonly fair: 'fluid' | 'eevdf';
}

/** Only these leave anything to the fair scheduler. */
const withFairClass: readonly SimulatedPolicy[] = ['cfs', 'sfs', 'gittins'];
const variants: readonly Variant[] = [
  ...simulatedPolicies.map((policy) => ({ policy, fair: 'fluid' as const })),
  ...withFairClass.map((policy) => ({ policy, fair: 'eevdf' as const })),
];

for (const { policy, fair } of variants) {
  const file = join(process.cwd(), 'test/sim/golden', `${policy}-${fair}.json`);

  t.test(`${policy} over ${fair}: every request ends when the golden file says`, async (t) => {
    if (process.env.SFSD_GOLDEN === 'write') write(file, { policy, fair });
    const golden = JSON.parse(readFileSync(file, 'utf8')) as Golden;
    const requests = golden.requests.map(({ arrivalUs, demandUs, sleepsUs }) => ({
      functionName: 'f',
      arrival: duration(arrivalUs),
      demand: duration(demandUs),
      sleeps: sleepsUs.map(([at, length]) => ({ at: duration(at), length: duration(length) })),
    }));
    t.ok(requests.length >= 60);
    t.same(
      endsOf(requests, golden),
      golden.requests.map(({ endedUs }) => endedUs),
    );
  });
}

function endsOf(requests: readonly SimulatedRequest[], of: Variant): readonly number[] {
  const options = fleetFor(cores, {
    policy: of.policy,
    fair: of.fair === 'fluid' ? fluid : { ...eevdf, switchCost: duration(5) },
    quantum: fromMs(20),
    // Ten arrivals to a window, so that S moves within the file.
    parameters: parametersFor(cores, { window: 10 }),
    checked: true,
  });
  return [...simulate(requests, options).endedAt].map(Math.round);
}

function write(file: string, of: Variant): void {
  const random = new RandomStream(7, 'golden');
  let arrival = 0;
  const requests = Array.from({ length: 60 }, () => {
    arrival += Math.round(random.exponential() * 12_000);
    const demand = Math.round(1000 + 20_000 * random.exponential());
    const sleeps =
      random.uniform() < 0.25
        ? [{ at: duration(random.below(demand)), length: duration(1000 + random.below(30_000)) }]
        : [];
    return { functionName: 'f', arrival: duration(arrival), demand: duration(demand), sleeps };
  });
  const ends = endsOf(requests, of);
  const lines = requests.map(({ arrival: arrivalUs, demand: demandUs, sleeps }, index) =>
    JSON.stringify({
      arrivalUs,
      demandUs,
      sleepsUs: sleeps.map(({ at, length }) => [at, length]),
      endedUs: ends[index],
    }),
  );
  const head = `{"policy":"${of.policy}","fair":"${of.fair}","cores":${cores},"requests":[`;
  writeFileSync(file, `${head}\n${lines.join(',\n')}\n]}\n`);
}
