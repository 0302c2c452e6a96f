/**
 * Numbers as people write and read them: `30s`, `128MiB`, `12.3 ms`, `41.0%`. One unit for one magnitude, three significant
 * digits, so that columns can be compared at a glance.
 */
import { InvalidArgumentError } from 'commander';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A length of time in milliseconds, for people. */
export function timeText(ms: number): string {
  const size = Math.abs(ms);
  if (size === 0) return '0 ms';
  if (size < 1) return `${ms.toFixed(3)} ms`;
  if (size < 10) return `${ms.toFixed(2)} ms`;
  if (size < 100) return `${ms.toFixed(1)} ms`;
  if (size < secondMs) return `${ms.toFixed(0)} ms`;
  if (size < minuteMs) return `${(ms / secondMs).toFixed(size < 10 * secondMs ? 2 : 1)} s`;
  if (size < hourMs) return `${Math.floor(ms / minuteMs)} min ${Math.floor((ms % minuteMs) / secondMs)} s`;
  if (size < dayMs) return `${Math.floor(ms / hourMs)} h ${Math.floor((ms % hourMs) / minuteMs)} min`;
  return `${Math.floor(ms / dayMs)} d ${Math.floor((ms % dayMs) / hourMs)} h`;
}

/** Microseconds, as decisions record them. */
export function microsecondsText(microseconds: number): string {
  return timeText(microseconds / 1000);
}

export function shareText(share: number): string {
  return `${(share * 100).toFixed(share >= 0.1 ? 1 : 2)}%`;
}

export function bytesText(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ] as const)
    if (bytes >= size) return `${trimZeros((bytes / size).toFixed(1))} ${unit}`;
  return `${bytes} B`;
}

const byteUnits: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 2 ** 10,
  kib: 2 ** 10,
  kb: 1e3,
  m: 2 ** 20,
  mib: 2 ** 20,
  mb: 1e6,
  g: 2 ** 30,
  gib: 2 ** 30,
  gb: 1e9,
};

const timeUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: secondMs,
  m: minuteMs,
  min: minuteMs,
  h: hourMs,
};

/** `128MiB`, `64k`, `1.5GB`, or plain bytes. Throws what commander turns into a fault with the option's name. */
export function parseBytes(text: string): number {
  return Math.round(parseQuantity(text, { units: byteUnits, example: '128MiB' }));
}

/** `30s`, `1500ms`, `2min`, or `0`, in milliseconds. Throws as parseBytes: a plain number would leave the unit to chance. */
export function parseTimeMs(text: string): number {
  if (text.trim() === '0') return 0;
  return parseQuantity(text, { units: timeUnits, example: '30s' });
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(count) || count < 0)
    throw new InvalidArgumentError('It is a whole number.');
  return count;
}

export function parsePositive(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number <= 0)
    throw new InvalidArgumentError('It is a number above 0.');
  return number;
}

/** A number within bounds, both included. */
export function parseWithin(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (text.trim() === '' || !(number >= least && number <= most))
      throw new InvalidArgumentError(`It is a number from ${least} to ${most}.`);
    return number;
  };
}

function parseQuantity(
  text: string,
  form: { readonly units: Readonly<Record<string, number>>; readonly example: string },
): number {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const factor = form.units[(match?.[2] ?? '').toLowerCase()];
  if (match === null || factor === undefined)
    throw new InvalidArgumentError(`Write for example ${form.example}.`);
  return Number(match[1]) * factor;
}

function trimZeros(text: string): string {
  return text.replace(/\.0+$/, '');
}
