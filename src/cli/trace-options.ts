/**
 * How a trace is read, shared by every command that takes one; and the part of it that makes a workload.
 */
import { type Command, Option } from 'commander';
import { type TraceFormat, traceFormats } from '../trace/formats/detect.js';
import { type OnBad, onBadKinds } from '../trace/formats/validation.js';
import type { GenerateOptions } from '../trace/workload/generate.js';
import { type WithinMinute, withinMinuteKinds } from '../trace/workload/minutes.js';
import type { TraceOptions } from '../trace/workload/trace-source.js';
import { parseCount, parsePositive } from './quantities.js';

export interface TraceReadFlags {
  readonly format?: TraceFormat;
  readonly strict?: boolean;
  readonly onBad?: OnBad;
  readonly minMs?: number;
}

export interface TraceCutFlags extends TraceReadFlags {
  readonly from?: number;
  readonly to?: number;
  readonly within?: WithinMinute;
  /** Commander's form of --no-shift. */
  readonly shift?: boolean;
}

export function addTraceReadOptions(command: Command): Command {
  return command
    .addOption(new Option('--format <format>', 'of the trace (default: as it looks)').choices(traceFormats))
    .option('--strict', 'also fail for what is repaired otherwise')
    .addOption(
      new Option('--on-bad <action>', 'a damaged row fails the trace, or is dropped').choices(onBadKinds),
    )
    .option('--min-ms <ms>', 'what a duration that cannot be true is raised to (default: 1)', parsePositive);
}

export function addTraceCutOptions(command: Command): Command {
  return addTraceReadOptions(command)
    .option('--from <minute>', 'of the trace: what is before is left out', parseCount)
    .option('--to <minute>', 'of the trace: it and what is after are left out', parseCount)
    .addOption(
      new Option('--within <kind>', 'gaps inside a minute of counts (default: exponential)').choices(
        withinMinuteKinds,
      ),
    )
    .option('--shift', 'rotate each minute at random (default)')
    .option('--no-shift', 'each function’s first arrival of a minute at its start');
}

export const traceFlagNames = [
  'format',
  'strict',
  'onBad',
  'minMs',
  'from',
  'to',
  'within',
] as const satisfies readonly (keyof TraceCutFlags)[];

export function traceReadChoice({ format, strict, onBad, minMs }: TraceReadFlags): TraceOptions {
  return {
    ...(format === undefined ? {} : { format }),
    ...(strict === undefined ? {} : { strict }),
    ...(onBad === undefined ? {} : { onBad }),
    ...(minMs === undefined ? {} : { minMs }),
  };
}

export function traceCutChoice(flags: TraceCutFlags): GenerateOptions {
  const { from, to, within, shift } = flags;
  return {
    ...traceReadChoice(flags),
    ...(from === undefined ? {} : { fromMinute: from }),
    ...(to === undefined ? {} : { toMinute: to }),
    ...(within === undefined ? {} : { within }),
    ...(shift === undefined ? {} : { shift }),
  };
}
