/**
 * paper.json: every claim, figure, verdict and reason of the page, and the quantiles that its plots are drawn from.
 *
 * Schema `sfsd-paper`, version 1. Times in milliseconds, shares from 0 to 1, null where a figure cannot be had.
 */

import {
  type Evidence,
  type Observed,
  type Pair,
  queueDelayQuantile,
  turnaroundQuantile,
} from './evidence.js';
import type { AllEvidence, Judged } from './judge.js';
import { type PaperSize, seed, sigma } from './size.js';
import { paperValue } from './verdict.js';

export function paperDocument(facts: {
  readonly judged: readonly Judged[];
  readonly evidence: AllEvidence;
  readonly size: PaperSize;
  readonly warnings: readonly string[];
  readonly createdAt: string;
  readonly elapsedMs: number;
}) {
  const { judged, evidence, size, warnings, createdAt, elapsedMs } = facts;
  return {
    format: 'sfsd-paper',
    version: 1,
    paper: 'sfs',
    createdAt,
    elapsedMs,
    seed,
    sigma,
    size,
    warnings,
    claims: judged.map(({ claim, measured, verdict, reason }) => ({
      id: claim.id,
      figure: claim.figure,
      section: claim.section,
      claim: claim.text,
      unit: claim.unit,
      paper: paperValue(claim.rule),
      rule: claim.rule,
      judgedOn: claim.judgedOn,
      measured,
      verdict,
      reason,
    })),
    simulated: [...evidence.simulated.values()].map(hostDocument),
    real: evidence.real === undefined ? null : hostDocument(evidence.real),
  };
}

function hostDocument({ cores, plain, blocking, sliceExact, fixed, spiky, daemon }: Evidence) {
  return {
    cores,
    plain: pairsDocument(plain),
    blocking: pairsDocument(blocking),
    sliceExact: pairsDocument(sliceExact),
    fixed: [...fixed].map(([sliceMs, observed]) => ({ sliceMs, ...runDocument(observed) })),
    spiky:
      spiky === undefined
        ? null
        : { bypassOn: runDocument(spiky.bypassOn), bypassOff: runDocument(spiky.bypassOff) },
    daemon: [...daemon].map(([load, shares]) => ({ load, ...shares })),
  };
}

function pairsDocument(pairs: ReadonlyMap<number, Pair>) {
  return [...pairs].map(([load, { cfs, sfs }]) => ({ load, cfs: runDocument(cfs), sfs: runDocument(sfs) }));
}

function runDocument(observed: Observed) {
  return {
    turnaroundMs: observed.times.turnaroundMs,
    p999Ms: turnaroundQuantile(observed, 0.999),
    rte: observed.times.rte,
    queueDelayP99Ms: queueDelayQuantile(observed, 0.99),
    counters: observed.counters,
  };
}
