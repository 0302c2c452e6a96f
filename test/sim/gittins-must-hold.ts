/** What Gittins must achieve in simulation, and the check that it does: ratios of one seed's means, their unfavourable 95% end. */
import type { Test } from 'tap';
import { intervalOf, type PolicyFigures } from '../../src/cli/simulate/figures.js';
import type { SimulatedPolicy } from '../../src/sim/host.js';
import type { Groups } from '../../src/trace/replay/metrics.js';
import { figuresFor, type Study } from './must-hold.js';

type Figure = 'mean' | 'p99';

export interface Bound {
  readonly part: keyof Groups;
  readonly figure: Figure;
  readonly to: SimulatedPolicy;
  readonly atMost: number;
}

/** At load 1.0. */
export const boundsAtFull: Readonly<Record<'poisson' | 'bursty', readonly Bound[]>> = {
  poisson: [
    { part: 'all', figure: 'mean', to: 'cfs', atMost: 0.7 },
    { part: 'long', figure: 'mean', to: 'cfs', atMost: 0.82 },
    { part: 'short', figure: 'mean', to: 'srtf', atMost: 1.05 },
    { part: 'all', figure: 'p99', to: 'cfs', atMost: 1.25 },
  ],
  bursty: [
    { part: 'all', figure: 'mean', to: 'cfs', atMost: 0.6 },
    { part: 'long', figure: 'mean', to: 'cfs', atMost: 0.82 },
    { part: 'short', figure: 'mean', to: 'cfs', atMost: 0.15 },
    { part: 'all', figure: 'p99', to: 'cfs', atMost: 1.25 },
  ],
};

/** Below it: no worse than SFS, within 2%. */
export const boundsBelow: readonly Bound[] = (['all', 'short', 'long'] as const).map((part) => ({
  part,
  figure: 'mean',
  to: 'sfs',
  atMost: 1.02,
}));

export async function checkGittins(t: Test, of: Study, bounds: readonly Bound[]): Promise<void> {
  const references = [...new Set(bounds.map(({ to }) => to))];
  const figures = await figuresFor(of, [...references, 'gittins']);
  for (const { part, figure, to, atMost } of bounds) {
    const ratio = intervalOf(ratios(figures, { part, figure, to }));
    const said =
      ratio === null
        ? 'no figure'
        : `${ratio.mean.toFixed(3)} (${ratio.low.toFixed(3)} to ${ratio.high.toFixed(3)})`;
    t.ok(ratio !== null && ratio.high <= atMost, `${figure} of ${part} to ${to}: ${said}, at most ${atMost}`);
  }
}

function ratios(
  figures: readonly PolicyFigures[],
  { part, figure, to }: Omit<Bound, 'atMost'>,
): readonly (number | null)[] {
  const figureOf = (policy: SimulatedPolicy, seed: number) =>
    figures.find((one) => one.policy === policy && one.seed === seed)?.turnaroundMs[part]?.[figure];
  return figures
    .filter(({ policy }) => policy === 'gittins')
    .map(({ seed }) => {
      const [top, bottom] = [figureOf('gittins', seed), figureOf(to, seed)];
      return top === undefined || bottom === undefined ? null : top / bottom;
    });
}
