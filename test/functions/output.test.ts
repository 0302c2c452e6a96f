/** Kept output is bounded: the head of standard output, the tail of standard error. */
import t from 'tap';
import { HeadOutput, type Output, TailOutput } from '../../src/functions/output.js';
import { textOf } from './support.js';

function fed(output: Output, ...chunks: readonly string[]) {
  const buffer = Buffer.alloc(64);
  for (const chunk of chunks) {
    // One buffer for all, as the sockets do it: what is kept must be a copy.
    buffer.fill('#');
    buffer.write(chunk);
    output.add(buffer, chunk.length);
  }
  return { text: textOf(output.bytes), truncated: output.truncated };
}

t.test('the head keeps the first bytes', async (t) => {
  t.same(fed(new HeadOutput(4)), { text: '', truncated: false });
  t.same(fed(new HeadOutput(4), 'ab', 'cd'), { text: 'abcd', truncated: false });
  t.same(fed(new HeadOutput(4), 'ab', 'cde', 'fg'), { text: 'abcd', truncated: true });
  t.same(fed(new HeadOutput(0), 'a'), { text: '', truncated: true });
});

t.test('the tail keeps the last bytes', async (t) => {
  t.same(fed(new TailOutput(4)), { text: '', truncated: false });
  t.same(fed(new TailOutput(4), 'ab', 'cd'), { text: 'abcd', truncated: false });
  t.same(fed(new TailOutput(4), 'ab', 'cd', 'e', 'f', 'g'), { text: 'defg', truncated: true });
  t.same(fed(new TailOutput(4), 'abcdefgh'), { text: 'efgh', truncated: true });
});
