/**
 * A bounded cut of a trace that names each invocation: N of them, evenly along the list, so that bursts keep their place and every
 * function about its share. `functionShareMax` does not apply: which function runs when is the trace itself here, not drawn.
 */
import { duration } from '../../contracts/time.js';
import type { ListTrace } from '../formats/invocation-list.js';
import type { Sample, SampledInvocation } from './azure-sample.js';
import type { RandomStream } from './random.js';

/** The trace has at least `requests` invocations: the caller checked. */
export function sampleList(
  trace: ListTrace,
  { requests }: { readonly requests: number },
  random: RandomStream,
): Sample {
  const all = trace.starts.length;
  const phase = random.uniform();
  const first = trace.starts[0] ?? 0;
  const taken = new Map<number, number>();
  const invocations = Array.from({ length: requests }, (_, index): SampledInvocation => {
    const row = Math.floor(((index + phase) * all) / requests);
    const position = trace.functionOf[row] ?? 0;
    taken.set(position, (taken.get(position) ?? 0) + 1);
    return {
      at: duration((trace.starts[row] ?? 0) - first),
      draw: { ms: trace.durationsMs[row] ?? 0, name: trace.functionNames[position] ?? '' },
    };
  });
  const most = Math.max(...taken.values());
  return { invocations, functions: taken.size, functionShare: most / requests };
}
