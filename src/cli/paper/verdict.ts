/**
 * When a claim counts as reproduced. Each rule is stated on the page beside the claim that it judges.
 *
 *   near      |ours / paper - 1| <= 0.25
 *   effect    a ratio, 1: no difference. Near, and ours - 1 is at least half of paper - 1, on the same side: 1.01x is within 25% of
 *             1.29x, but it is no such effect
 *   same      |ours - 1| <= 0.1, of a ratio that the paper says is 1
 *   above     ours > bound: a direction, where the paper gives no number
 */
export type Rule =
  | { readonly kind: 'near'; readonly paper: number }
  | { readonly kind: 'effect'; readonly paper: number }
  | { readonly kind: 'same' }
  | { readonly kind: 'above'; readonly bound: number };

/** none: there is no figure to judge. */
export type Verdict = 'reproduced' | 'not reproduced' | 'none';

const tolerance = 0.25;
const effectMin = 0.5;
const sameTolerance = 0.1;
/** 0.75 / 0.6 is 1.25, but not in binary. */
const rounding = 1e-9;

export function verdictOf(rule: Rule, ours: number | null): Verdict {
  if (ours === null) return 'none';
  return holds(rule, ours) ? 'reproduced' : 'not reproduced';
}

function holds(rule: Rule, ours: number): boolean {
  switch (rule.kind) {
    case 'near':
      return near(rule.paper, ours);
    case 'effect':
      return near(rule.paper, ours) && (ours - 1) / (rule.paper - 1) >= effectMin - rounding;
    case 'same':
      return Math.abs(ours - 1) <= sameTolerance + rounding;
    case 'above':
      return ours > rule.bound;
  }
}

function near(paper: number, ours: number): boolean {
  return Math.abs(ours / paper - 1) <= tolerance + rounding;
}

/** @param format as the claim shows its figures. */
export function ruleText(rule: Rule, format: (value: number) => string): string {
  switch (rule.kind) {
    case 'near':
      return 'within 25% of the paper’s';
    case 'effect':
      return 'within 25% of the paper’s, and at least half of its distance to 1';
    case 'same':
      return 'within 10% of 1';
    case 'above':
      return `above ${format(rule.bound)}`;
  }
}

/** What the paper says, as far as it is a number. */
export function paperValue(rule: Rule): number | null {
  if (rule.kind === 'same') return 1;
  return rule.kind === 'above' ? null : rule.paper;
}
