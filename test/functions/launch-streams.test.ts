/** Bodies and outputs of every size, read or not. */
import t from 'tap';
import { heldBy, nothingHeld, run, shell, startHost, textOf } from './support.js';

const host = await startHost({ limits: { outputMaxBytes: 100_000, bodyMaxBytes: 8 * 1024 * 1024 } });
t.teardown(() => host.close());

t.test('50 MB of output is drained and capped, and the program runs to its end', async (t) => {
  const { outcome } = await run(host, shell(host, 'head -c 50000000 /dev/zero; echo done >&2'));
  t.same(outcome.exit, { kind: 'exited', code: 0 });
  t.equal(outcome.stdout.length, 100_000);
  t.equal(outcome.truncated, true);
  t.equal(textOf(outcome.stderr), 'done\n');
});

t.test('of standard error the last 64 KiB are kept', async (t) => {
  const { outcome } = await run(host, shell(host, 'head -c 200000 /dev/zero >&2; echo end >&2'));
  t.equal(outcome.stderr.length, 64 * 1024);
  t.match(textOf(outcome.stderr), /end\n$/);
  t.equal(outcome.truncated, false);
});

t.test('an empty body is an end of file', async (t) => {
  const { outcome } = await run(host, shell(host, 'wc -c'));
  t.equal(textOf(outcome.stdout), '0\n');
});

for (const length of [1, 4096, 4097, 65_536, 4_000_000]) {
  t.test(`a body of ${length} bytes arrives whole`, async (t) => {
    const { outcome } = await run(host, shell(host, 'cksum'), { body: Buffer.alloc(length, 'x') });
    t.match(textOf(outcome.stdout), new RegExp(`^\\d+ ${length}\\n$`));
  });
}

t.test('a body to a program that exits at once is no failure', async (t) => {
  const { outcome } = await run(host, shell(host, 'exit 0'), { body: Buffer.alloc(4_000_000) });
  t.same(outcome.exit, { kind: 'exited', code: 0 });
});

t.test('a body to a program that closes its input and lives on is no failure', async (t) => {
  const body = Buffer.alloc(4_000_000);
  const { outcome } = await run(host, shell(host, 'exec <&-; sleep 0.1; echo alive'), { body });
  t.equal(textOf(outcome.stdout), 'alive\n');
});

t.test('output that is exactly the bound is not truncated', async (t) => {
  const { outcome } = await run(host, shell(host, 'head -c 100000 /dev/zero'));
  t.equal(outcome.stdout.length, 100_000);
  t.equal(outcome.truncated, false);
  t.same(heldBy(host), nothingHeld);
});
