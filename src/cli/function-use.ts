/**
 * What functions use, as rows: `status` and `top` draw the same.
 */
import type { StatusBody } from '../contracts/http.js';
import type { FunctionUse } from '../contracts/resources.js';

export const useHead = ['CPU', 'memory', 'running', 'function'] as const;

/** One row a function, most CPU first; the last one adds up what does not fit `max`. */
export function useRows({ resources }: StatusBody, max = Number.POSITIVE_INFINITY): string[][] {
  const { functions, others } = resources;
  const fitsWhole = functions.length <= max && others.functions === 0;
  const shown = fitsWhole ? functions : functions.slice(0, Math.max(0, Math.min(functions.length, max - 1)));
  const rows = shown.map((use) => useRow(use.functionName, use));
  if (fitsWhole) return rows;
  const hidden = functions.slice(shown.length);
  const total = (field: keyof FunctionUse): number =>
    hidden.reduce((sum, use) => sum + use[field], others[field]);
  const rest = {
    instances: total('instances'),
    measured: total('measured'),
    cpuCores: total('cpuCores'),
    memoryBytes: total('memoryBytes'),
  };
  return [...rows, useRow(`and ${hidden.length + others.functions} more`, rest)];
}

/** CPU as top(1) has it: 100% is one core. `-`: none of them was read. */
function useRow(name: string, { instances, measured, cpuCores, memoryBytes }: FunctionUse): string[] {
  const read = measured > 0;
  const ofHow = read && measured < instances ? ` (${measured} read)` : '';
  return [
    read ? `${(cpuCores * 100).toFixed(1)}%` : '-',
    read ? `${(memoryBytes / 1024 ** 2).toFixed(1)} MiB` : '-',
    `${instances}${ofHow}`,
    name,
  ];
}
