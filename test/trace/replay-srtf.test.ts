/** The clairvoyant, by hand and against a model in small steps. */
import fc from 'fast-check';
import t from 'tap';
import { srtfSamples } from '../../src/trace/replay/srtf.js';

const sampleOf = (id: string, idealMs: number) => ({ id, idealMs, demandMs: idealMs, turnaroundMs: 0 });

function turnarounds(
  requests: readonly (readonly [arrival: number, ideal: number])[],
  cores: number,
): number[] {
  const samples = requests.map(([, ideal], index) => sampleOf(String(index), ideal));
  const arrivals = new Map(requests.map(([arrival], index) => [String(index), arrival]));
  return srtfSamples(samples, { arrivals, cores }).map((sample) => sample.turnaroundMs);
}

t.test('the nearest to its end runs, and preempts', async (t) => {
  t.same(
    turnarounds(
      [
        [0, 10],
        [2, 3],
        [3, 1],
      ],
      1,
    ),
    [14, 4, 1],
  );
  t.same(
    turnarounds(
      [
        [0, 10],
        [0, 5],
        [1, 2],
      ],
      2,
    ),
    [12, 5, 2],
  );
  t.same(turnarounds([[5, 3]], 4), [3]);
  t.same(turnarounds([], 1), []);
});

t.test('a sleep takes no core, and alone a request has its IDEAL turnaround', async (t) => {
  const sleeper = { id: 'sleeper', idealMs: 30, demandMs: 5, turnaroundMs: 0 };
  const burner = { id: 'burner', idealMs: 12, demandMs: 10, turnaroundMs: 0 };
  const arrivals = new Map([
    ['sleeper', 0],
    ['burner', 0],
  ]);
  const both = srtfSamples([sleeper, burner], { arrivals, cores: 1 });
  t.same(
    both.map((sample) => sample.turnaroundMs),
    [30, 17],
  );
  t.equal(srtfSamples([sleeper], { arrivals, cores: 1 })[0]?.turnaroundMs, 30);
});

t.test('a hundred thousand requests that all wait take seconds, not minutes', async (t) => {
  const samples = Array.from({ length: 100_000 }, (_, index) => sampleOf(String(index), 1 + (index % 997)));
  const arrivals = new Map(samples.map(({ id }, index) => [id, index]));
  const started = process.cpuUsage();
  t.equal(srtfSamples(samples, { arrivals, cores: 2 }).length, samples.length);
  t.ok(process.cpuUsage(started).user < 20e6);
});

t.test('it is what a model in steps of 1 ms gives', async (t) => {
  const request = fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 12 }));
  fc.assert(
    fc.property(
      fc.array(request, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 3 }),
      (requests, cores) => {
        const left = requests.map(([, ideal]) => ideal);
        const ends = requests.map(() => -1);
        for (let now = 0; ends.includes(-1); now += 1) {
          const live = requests.flatMap(([arrival], index) =>
            arrival <= now && ends[index] === -1 ? [index] : [],
          );
          live.sort((one, other) => (left[one] ?? 0) - (left[other] ?? 0));
          for (const index of live.slice(0, cores)) {
            left[index] = (left[index] ?? 0) - 1;
            if (left[index] === 0) ends[index] = now + 1;
          }
        }
        const expected = requests.reduce((sum, [arrival], index) => sum + (ends[index] ?? 0) - arrival, 0);
        const total = turnarounds(requests, cores).reduce((sum, value) => sum + value, 0);
        // Ties may be broken either way; the sum is the same.
        return Math.abs(total - expected) < 1e-6;
      },
    ),
    { numRuns: 300 },
  );
  t.pass();
});
