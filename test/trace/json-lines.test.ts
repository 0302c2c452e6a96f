import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { SfsdError } from '../../src/contracts/errors.js';
import { duration } from '../../src/contracts/time.js';
import { readWorkload, requestLine, writeWorkload } from '../../src/trace/formats/json-lines.js';
import { LineSplitter, lineBytesMax } from '../../src/trace/formats/lines.js';
import { applications, gapKinds, type Workload } from '../../src/trace/workload/workload.js';

const folder = t.testdir({});

function workloadOf(arrivals: readonly number[]): Workload {
  return {
    header: {
      format: 'sfsd-workload',
      version: 1,
      requests: arrivals.length,
      seed: 7,
      source: 'table',
      gaps: 'poisson',
      durationScale: 0.5,
      cores: 2,
      loadTarget: 1,
      loadRealised: 0.999,
      demandMean: duration(185_000),
      gapCv: 1.01,
      shortBelow: duration(200_000),
    },
    requests: arrivals.map((arrival, index) => ({
      id: String(index),
      functionName: 'burn-1',
      application: 'burn',
      arrival: duration(arrival),
      demand: duration(42_000),
      sleeps: [{ at: duration(1000), length: duration(5000) }],
    })),
  };
}

async function faultsOf(text: string): Promise<string> {
  const file = join(folder, 'faulty.jsonl');
  writeFileSync(file, text);
  try {
    await readWorkload(file);
  } catch (thrown) {
    if (thrown instanceof SfsdError && thrown.code === 'SFSD_ERR_TRACE_INVALID') return thrown.message;
    throw thrown;
  }
  return 'no fault';
}

t.test('a workload comes back from its file as it was written', async (t) => {
  const file = join(folder, 'whole.jsonl');
  const workload = workloadOf([0, 10, 10, 30]);
  await writeWorkload(file, workload);
  t.same(await readWorkload(file), workload);
});

t.test('any workload comes back from its file as it was written', async (t) => {
  const word = fc.string({ minLength: 1, maxLength: 20 });
  const request = fc.record({
    functionName: word,
    application: fc.constantFrom(...applications),
    gap: fc.nat(1_000_000),
    demand: fc.integer({ min: 1000, max: 10_000_000 }),
    sleep: fc.option(fc.record({ at: fc.nat(999), length: fc.integer({ min: 1, max: 1_000_000 }) })),
  });
  const any = fc.asyncProperty(
    fc.array(request, { minLength: 1, maxLength: 30 }),
    fc.constantFrom(...gapKinds),
    word,
    async (drafts, gaps, source) => {
      let arrival = 0;
      const requests = drafts.map((draft, index) => {
        arrival += index === 0 ? 0 : draft.gap;
        const { sleep } = draft;
        return {
          id: `r${index}`,
          functionName: draft.functionName,
          application: draft.application,
          arrival: duration(arrival),
          demand: duration(draft.demand),
          sleeps: sleep === null ? [] : [{ at: duration(sleep.at), length: duration(sleep.length) }],
        };
      });
      const header = { ...workloadOf([]).header, requests: requests.length, gaps, source };
      const file = join(folder, 'any.jsonl');
      await writeWorkload(file, { header, requests });
      t.same(await readWorkload(file), { header, requests });
    },
  );
  await fc.assert(any, { numRuns: 40 });
});

t.test('every faulty line is named, all at once', async (t) => {
  const file = join(folder, 'base.jsonl');
  await writeWorkload(file, workloadOf([0, 10]));
  appendFileSync(file, 'not json\n{"id":""}\n');
  for (const request of workloadOf([0, 5]).requests.slice(1)) appendFileSync(file, requestLine(request));
  const message = await faultsOf(readFileSync(file, 'utf8'));
  t.match(message, /line 4: not JSON/);
  t.match(message, /line 5: demandUs is not an integer/);
  t.match(message, /line 5: id is not text/);
  t.match(message, /line 6: id 1 was used before/);
  t.match(message, /line 6: arrivalUs 5 is before 10/);
});

t.test('a file that was cut short is refused', async (t) => {
  const file = join(folder, 'cut.jsonl');
  await writeWorkload(file, workloadOf([0, 10, 20]));
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(0, -1);
  t.match(await faultsOf(`${lines.join('\n')}\n`), /line 1: the header says 3 requests, the file has 2/);
});

t.test('an unknown field, an empty file and a foreign header are refused', async (t) => {
  const file = join(folder, 'extra.jsonl');
  await writeWorkload(file, workloadOf([0]));
  const text = readFileSync(file, 'utf8');
  t.match(await faultsOf(text.replace('"demandUs"', '"x":1,"demandUs"')), /line 2: unknown field "x"/);
  t.match(await faultsOf(''), /the file is empty/);
  t.match(await faultsOf('{"format":"other"}\n'), /line 1: format is none of sfsd-workload/);
  t.match(await faultsOf(text.replace('"atUs":1000', '"atUs":42000')), /not below the demand/);
});

t.test('a missing file is an SFSD_ERR_FILE', async (t) => {
  await t.rejects(readWorkload(join(folder, 'none.jsonl')), { code: 'SFSD_ERR_FILE' });
});

t.test('the lines are the same wherever the chunks are cut', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme' }).filter((text) => !/[\n\r\uFEFF]/.test(text))),
      fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
      (texts, sizes) => {
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        const splitter = new LineSplitter('any');
        const seen: string[] = [];
        for (let start = 0; start < bytes.length; ) {
          const size = sizes.next().value;
          for (const line of splitter.push(bytes.subarray(start, start + size))) seen.push(line.text);
          start += size;
        }
        for (const line of splitter.end()) seen.push(line.text);
        t.same(seen, texts);
      },
    ),
    { numRuns: 100 },
  );
  t.end();
});

t.test('a byte order mark and carriage returns are stripped and told', (t) => {
  const splitter = new LineSplitter('marked');
  const lines = [...splitter.push(Buffer.from('\uFEFFa\r\nb\n')), ...splitter.end()];
  t.same(lines, [
    { number: 1, text: 'a', carriageReturn: true, byteOrderMark: true },
    { number: 2, text: 'b', carriageReturn: false, byteOrderMark: false },
  ]);
  t.end();
});

t.test('a line without an end, and bytes that are not UTF-8, are refused with their line', (t) => {
  const endless = new LineSplitter('endless');
  t.throws(() => [...endless.push(Buffer.alloc(lineBytesMax + 1, 97))], {
    code: 'SFSD_ERR_TRACE_INVALID',
    message: /line 1 is longer/,
  });
  const binary = new LineSplitter('binary');
  t.throws(() => [...binary.push(Buffer.from([97, 10, 255, 254, 10]))], { message: /line 2 is not UTF-8/ });
  t.end();
});
