/** What `trace gen` and `trace sample` say about the workload that they wrote. */
import type { Workload } from '../trace/workload/workload.js';
import { timeText } from './quantities.js';

/** @param loadAsked undefined: the trace kept its own pace. */
export function workloadLines(
  file: string,
  { header, requests }: Workload,
  loadAsked: number | undefined,
): string[] {
  const spanMs = (requests.at(-1)?.arrival ?? 0) / 1000;
  return [
    `${file}: ${requests.length} invocations in ${timeText(spanMs)}, from ${header.source}`,
    `load ${header.loadRealised.toFixed(3)} of ${header.cores} cores (${loadAsked === undefined ? 'the trace’s own' : `asked for: ${loadAsked}`})`,
    `mean demand ${timeText(header.demandMean / 1000)}, short is below ${timeText(header.shortBelow / 1000)}`,
    `${header.gaps} gaps, coefficient of variation ${header.gapCv.toFixed(2)}, seed ${header.seed}`,
  ];
}
