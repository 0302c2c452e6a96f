/** One fact about the host, judged. */

export type FindingState = 'ok' | 'degraded' | 'broken';

export interface Finding {
  readonly subject: string;
  readonly state: FindingState;
  readonly fact: string;
  /** degraded: what we do instead. broken: what to do. */
  readonly advice?: string;
}

export function ok(subject: string, fact: string): Finding {
  return { subject, state: 'ok', fact };
}

export function degraded(subject: string, fact: string, instead: string): Finding {
  return { subject, state: 'degraded', fact, advice: instead };
}

export function broken(subject: string, fact: string, cure: string): Finding {
  return { subject, state: 'broken', fact, advice: cure };
}
