/**
 * Why a claim is not reproduced: what our runs show that the paper's must have differed in. Figures in the words come from the runs,
 * so that a reason cannot outlive its evidence.
 */
import { idealSamples, type Sample, turnaroundOf } from '../../trace/replay/metrics.js';
import { mean, quantile, total } from '../../trace/replay/statistics.js';
import { formatMs, formatRatio, formatShare } from '../../trace/report/format.js';
import { type Claim, formatClaim } from './claims.js';
import { type Evidence, type Observed, ratioOf, turnaroundQuantile } from './evidence.js';
import type { AllEvidence } from './judge.js';
import { durationScaleReal } from './size.js';
import type { Verdict } from './verdict.js';

export interface ReasonContext {
  readonly all: AllEvidence;
  readonly verdict: Verdict;
  /** undefined: this host was not asked. */
  readonly real: Verdict | undefined;
}

export function reasonOf(claim: Claim, { all, verdict, real }: ReasonContext): string {
  if (claim.judgedOn === 'real')
    return all.real === undefined
      ? 'No figure: the simulator charges no CPU time to the daemon, and this host was not asked (--sim-only).'
      : realReason(claim, all.real);
  const evidence = all.simulated.get(claim.judgedOn);
  const parts: string[] = [];
  if (verdict === 'none') parts.push('No figure: too few requests for it.');
  if (verdict === 'not reproduced' && evidence !== undefined) parts.push(simulatedReason(claim, evidence));
  if (real === 'not reproduced' && all.real !== undefined)
    parts.push(`On this host: ${realReason(claim, all.real)}`);
  return parts.join(' ');
}

function simulatedReason(claim: Claim, evidence: Evidence): string {
  if (claim.id.startsWith('rte-cfs')) return fairWaitsLess(claim, evidence);
  if (claim.id.startsWith('switches')) return fewShareCores(evidence);
  if (claim.id.startsWith('p99-') || claim.id === 'mean-80') return platformAbsent(evidence);
  if (claim.id === 'long-100' || claim.id === 'p999-80') return priceIsSmall(evidence);
  if (claim.id === 'p999-cfs-65') return tailIsDemand(evidence);
  if (claim.id.startsWith('fixed')) return sliceOfOurs(evidence);
  if (claim.figure === 'Figure 12') return noBacklog(evidence);
  return mediansRise(claim, evidence);
}

const own = (evidence: Evidence, load: number, policy: 'cfs' | 'sfs'): Observed | undefined =>
  evidence.plain.get(load)?.[policy];

function fairWaitsLess(claim: Claim, evidence: Evidence): string {
  const load = claim.id.endsWith('65') ? 0.65 : 0.8;
  const { cores } = evidence;
  const exact = evidence.sliceExact.get(load)?.cfs.times.rte.atLeast095 ?? null;
  const later = own(evidence, 0.9, 'cfs')?.times.rte.atLeast095 ?? null;
  return (
    `Our CFS waits less. ${cores} cores at ${formatShare(load)} seldom have more functions than cores, and only then does a fair ` +
    `scheduler make anybody wait; simulated slice by slice with a cost for every switch the share is ${formatShare(exact)}, so ` +
    `slices are not what is missing. A share like the paper’s needs more load (at 90% ours is ${formatShare(later)}). Its host may ` +
    `have been busier than the functions alone make it, or have spread them over the cores less evenly; neither is simulated or tested.`
  );
}

/** Simulated alone: 1 - IDEAL is what waiting costs. */
function priceIsSmall(evidence: Evidence): string {
  const observed = own(evidence, 1, 'cfs');
  const shorts = observed === undefined ? [] : observed.samples.filter((one) => one.idealMs < longestShortMs);
  const work = total((observed?.samples ?? []).map((one) => one.demandMs));
  const share = ratioOf(total(shorts.map((one) => one.demandMs)), work);
  return (
    `SFS costs long functions less here. It only orders the same work anew, and short functions are ${formatShare(share)} of ` +
    `the CPU time: giving them precedence delays the rest by no more than that work. What long functions lost beyond it in the ` +
    `paper may be overhead (switches, cold caches, the scheduler’s own ${formatShare(0.036)} of the host), which the fluid simulation does not charge.`
  );
}

const longestShortMs = 400;

const slowed = ({ turnaroundMs, idealMs }: Sample): boolean => turnaroundMs > idealMs * 1.01;

function shareOfSamples(observed: Observed | undefined, holds: (sample: Sample) => boolean): number | null {
  const samples = observed?.samples ?? [];
  return ratioOf(samples.filter(holds).length, samples.length);
}

function tailIsDemand(evidence: Evidence): string {
  const observed = own(evidence, 0.5, 'cfs');
  const alone =
    observed === undefined ? null : quantile(idealSamples(observed.samples).map(turnaroundOf), 0.999);
  return (
    `At 50% our p99.9 is ${formatMs(turnaroundQuantile(observed, 0.999))}, and the same requests take ${formatMs(alone)} alone: the tail is ` +
    `the longest functions, not waiting (the variation of durations makes ours longer than the paper’s). At 65% only ` +
    `${formatShare(shareOfSamples(own(evidence, 0.65, 'cfs'), slowed))} of the requests are slower than alone by more than 1%. Fair ` +
    `sharing of the functions’ own work does not make a tail seven times as long here; what did in the paper is not known to us.`
  );
}

function sliceOfOurs(evidence: Evidence): string {
  const adaptive = own(evidence, 1, 'sfs');
  const slices = (adaptive?.series ?? []).flatMap((row) => (row.kind === 'slice' ? [row.sliceMs] : []));
  const below = shareOfSamples(adaptive, (one) => one.demandMs < 50);
  return (
    `The direction is the paper’s, the shares are not. S adapts to ${formatMs(quantile(slices, 0.5))} in the median here, and ` +
    `${formatShare(below)} of the requests need less than 50 ms: those are in FILTER to their end with either S, and most find a ` +
    `free worker, so that both take the same time within 1%. The paper does not give the load of this figure; ours is 100%.`
  );
}

function noBacklog({ spiky }: Evidence): string {
  return (
    `The bypass took ${spiky?.bypassOn.counters?.bypasses ?? 0} requests out of the backlog. S follows the gaps of the last 100 ` +
    `arrivals, so a spike shortens S and the backlog drains through FILTER nearly as fast; what is bypassed shares what FILTER ` +
    `leaves, and waits longer itself.`
  );
}

function mediansRise(claim: Claim, evidence: Evidence): string {
  return `Ours is ${formatClaim(claim, claim.measure(evidence))}: ${evidence.cores} cores wait less, or more, than the paper’s at the same load.`;
}

function platformAbsent(evidence: Evidence): string {
  const at80 = evidence.blocking.get(0.8)?.cfs;
  const alone = mean(idealSamples(at80?.samples ?? []).map(turnaroundOf));
  const excess = ratioOf(at80?.times.turnaroundMs.all?.mean, alone);
  const tail = (load: number) => formatMs(turnaroundQuantile(evidence.blocking.get(load)?.sfs, 0.99));
  return (
    `Functions alone do not queue on ${evidence.cores} cores: at 80% their mean under CFS is ${formatRatio(excess)} of alone, so there is ` +
    `nothing to speed up; and one request in a hundred is a long function, which SFS serves last. The paper’s SFS has a p99 of ` +
    `4.75 s at every load; ours is ${tail(0.8)}, ${tail(0.9)} and ${tail(1)} at 80, 90 and 100%. So its 100% seems to have been ` +
    `short of full for SFS, while CFS (7.93 x 4.75 = 38 s) had a backlog. OpenLambda’s servers and sandboxes take CPU time too, which ` +
    `our workload does not have; whether that explains it is not tested.`
  );
}

function fewShareCores(evidence: Evidence): string {
  const waited = shareOfSamples(evidence.blocking.get(0.8)?.cfs, slowed);
  return (
    `A function that has a core to itself is not switched, and on ${evidence.cores} cores at 80% only ${formatShare(waited)} of the requests ` +
    `share one under CFS for long enough to be 1% slower. In the paper each function was an HTTP server in a sandbox beside ` +
    `OpenLambda’s own processes, which may switch it even on a host with room; that is not simulated.`
  );
}

function realReason(claim: Claim, evidence: Evidence): string {
  const { cores } = evidence;
  const requests = evidence.plain.get(1)?.sfs.samples.length ?? 0;
  if (claim.id === 'daemon-share')
    return (
      `a poll reads a clock and at most one small file of each FILTER worker, through descriptors that are kept open. The whole daemon, with ` +
      `HTTP and the starting of processes, which the paper leaves to OpenLambda, took ${formatShare(evidence.daemon.get(1)?.total ?? null)} of ` +
      `${cores} cores; durations are scaled by ${durationScaleReal}, so there are as many more arrivals a second.`
    );
  if (claim.id === 'daemon-polling')
    return `one poll reads ${cores} workers and the blocked functions, not 72 workers, and the reads are cheap; so the rest weighs more.`;
  if (claim.id.startsWith('switches'))
    return (
      `each function is one plain process, started and ended within its own count, and ${requests} requests on ${cores} cores wait in ` +
      `few, long turns (base slice of a small host); nothing of a platform runs beside it to switch it.`
    );
  if (claim.figure === 'Figure 14' || claim.figure === 'Figure 16')
    return `the same as in the simulation, on ${cores} cores and without blocking; ${requests} requests make p99 one of the three longest.`;
  return (
    `${cores} cores, not 12: at the same load all are taken more often, and the chance that a request waits is higher. ` +
    `${requests} requests: a share is uncertain by some percent, and p99.9 is the longest request.`
  );
}
