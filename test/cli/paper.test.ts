/** `sfsd paper sfs`: what its page and document hold, and that every claim that is not reproduced has its reason. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { claims } from '../../src/cli/paper/claims.js';
import { run } from './run-in-process.js';

// A busy machine may take its time; the test runner bounds the file.
t.setTimeout(120_000);

interface PaperClaim {
  readonly id: string;
  readonly verdict: string;
  readonly reason: string | null;
  readonly measured: readonly {
    readonly host: string;
    readonly cores: number;
    readonly value: number | null;
  }[];
}

interface PaperDocument {
  readonly format: string;
  readonly claims: readonly PaperClaim[];
  readonly real: unknown;
}

const figures = ['Figure 7', 'Figure 8', 'Figure 11', 'Figure 12', 'Figure 14', 'Figure 16', 'Table II'];

/** As the page has it: claims hold no other character that HTML escapes. */
function inPage(text: string): string {
  return text.replaceAll('>', '&gt;').replaceAll('<', '&lt;');
}

t.test('a quick run without this host names every figure and claim on one page', async (t) => {
  const folder = t.testdir();
  const ran = await run(['paper', 'sfs', '--sim-only', '--quick', '--out', folder], { columns: 200 });
  t.equal(ran.code, 0, ran.err);
  t.match(ran.err, /seed 1 for every workload/);
  t.match(ran.err, /simulating 12 cores, load 0\.5, cfs: 300 requests/);
  t.match(ran.out, /claims reproduced/);
  const page = await readFile(join(folder, 'paper.html'), 'utf8');
  for (const figure of figures) t.ok(page.includes(`<h2>${figure}: `), figure);
  for (const { id, text } of claims) t.ok(page.includes(inPage(text)), id);
  t.ok(page.includes('simulated, 12') && page.includes('simulated, 72'), 'a column for each size');
  t.notMatch(page, /<script|https?:\/\/|NaN|undefined|Infinity/);
  const document = JSON.parse(await readFile(join(folder, 'paper.json'), 'utf8')) as PaperDocument;
  t.equal(document.format, 'sfsd-paper');
  t.equal(document.real, null);
  t.strictSame(
    document.claims.map(({ id }) => id),
    claims.map(({ id }) => id),
  );
  for (const { id, verdict, reason } of document.claims) {
    if (verdict === 'reproduced') t.equal(reason, null, id);
    else t.ok(reason !== null && reason.length > 20, `${id} says why it is not reproduced`);
    if (reason !== null) t.ok(page.includes(reason.slice(0, 15)), `${id}: the page says it too`);
  }
});

t.test('charts have names of their own, so that screen readers find each title', async (t) => {
  const folder = t.testdir();
  await run(['paper', 'sfs', '--sim-only', '--quick', '--out', folder]);
  const page = await readFile(join(folder, 'paper.html'), 'utf8');
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  t.ok(ids.length > 40, `${ids.length} titles and descriptions`);
  t.equal(new Set(ids).size, ids.length);
});

t.test('--json prints the document and where the page is', async (t) => {
  const folder = t.testdir();
  const ran = await run(['paper', 'sfs', '--sim-only', '--quick', '--json', '--out', folder]);
  const document = JSON.parse(ran.out) as PaperDocument & { readonly page: string };
  t.equal(document.page, join(folder, 'paper.html'));
  t.equal(document.claims.length, claims.length);
  for (const { measured, id } of document.claims)
    t.strictSame(
      measured.map(({ host, cores }) => `${host} ${cores}`),
      ['simulated 12', 'simulated 72'],
      id,
    );
});

t.test('a folder that cannot be written shows before anything is simulated', async (t) => {
  const folder = t.testdir({ taken: '' });
  const ran = await run(['paper', 'sfs', '--sim-only', '--out', join(folder, 'taken')]);
  t.equal(ran.code, 1);
  t.match(ran.err, /^SFSD_ERR_FILE/);
  t.notMatch(ran.err, /simulating/);
});

t.test('claims have ids of their own', async (t) => {
  t.equal(new Set(claims.map(({ id }) => id)).size, claims.length);
});
