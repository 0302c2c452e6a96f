/**
 * Transient overload (paper, section V-E, figure 12): a workload whose gaps shrink now and then. The arrivals fall into `spikes` equal
 * stretches of requests; in the middle tenth of each they come `speedup` times as fast, elsewhere as before.
 */
import { type Duration, duration } from '../../contracts/time.js';
import type { Workload } from '../../trace/workload/workload.js';

export const spikes = 5;
/** Load 0.8 becomes 4: the backlog of a spike needs seconds to drain. */
export const speedup = 5;
const from = 0.45;
const to = 0.55;

export function withSpikes({ header, requests }: Workload): Workload {
  let at = 0;
  let before = 0;
  const length = requests.length / spikes;
  const moved = requests.map((request, index) => {
    const within = (index % length) / length;
    const gap = request.arrival - before;
    before = request.arrival;
    at += within >= from && within < to ? gap / speedup : gap;
    return { ...request, arrival: duration(Math.round(at)) satisfies Duration };
  });
  return { header, requests: moved };
}
