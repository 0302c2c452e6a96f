/** Every claim with our figures and verdicts, and why it is not reproduced where it is not. */
import { type Claim, claims } from './claims.js';
import type { Evidence } from './evidence.js';
import { reasonOf } from './reasons.js';
import { type Verdict, verdictOf } from './verdict.js';

export interface AllEvidence {
  /** By cores. */
  readonly simulated: ReadonlyMap<number, Evidence>;
  readonly real: Evidence | undefined;
}

export interface Measured {
  readonly host: 'simulated' | 'real';
  readonly cores: number;
  readonly value: number | null;
  readonly verdict: Verdict;
}

export interface Judged {
  readonly claim: Claim;
  readonly measured: readonly Measured[];
  /** On the host that the claim is judged on. */
  readonly verdict: Verdict;
  /** Why a figure differs, on the host that the claim is judged on or on this one; null: nowhere. */
  readonly reason: string | null;
}

export function judge(all: AllEvidence): readonly Judged[] {
  return claims.map((claim) => {
    const simulated = [...all.simulated.values()].map((evidence) => measuredOn(claim, evidence, 'simulated'));
    const real = all.real === undefined ? [] : [measuredOn(claim, all.real, 'real')];
    const measured = [...simulated, ...real];
    const judged =
      claim.judgedOn === 'real' ? real[0] : simulated.find(({ cores }) => cores === claim.judgedOn);
    const verdict = judged?.verdict ?? 'none';
    const differs = verdict === 'not reproduced' || real[0]?.verdict === 'not reproduced';
    return {
      claim,
      measured,
      verdict,
      reason:
        differs || verdict === 'none' ? reasonOf(claim, { all, verdict, real: real[0]?.verdict }) : null,
    };
  });
}

function measuredOn(claim: Claim, evidence: Evidence, host: Measured['host']): Measured {
  // The simulator charges no CPU time to the daemon, so Table II has no figure there.
  const value = claim.measure(evidence);
  return { host, cores: evidence.cores, value, verdict: verdictOf(claim.rule, value) };
}
