/**
 * `sfsd trace gen` compiles a workload, `sfsd trace validate` says what is wrong with a trace, `sfsd trace sample` cuts one.
 */
import type { Command } from 'commander';
import type { Finding, ValidationReport } from '../trace/formats/report.js';
import { type CliContext, commonOptions, exitCodes, printJson, withJson } from './context.js';
import { addTraceReadOptions, type TraceReadFlags, traceReadChoice } from './trace-options.js';
import { addTraceSample } from './trace-sample.js';
import { workloadLines } from './trace-workload-lines.js';
import { addWorkloadOptions, type WorkloadFlags } from './workload-options.js';

interface GenFlags extends WorkloadFlags {
  readonly out: string;
  readonly drawn?: boolean;
}

export function addTraceCommand(program: Command, context: CliContext): void {
  const group = program.command('trace').description('compile workloads and validate traces');
  addGen(group, context);
  addValidate(group, context);
  addTraceSample(group, context);
}

function addGen(group: Command, context: CliContext): void {
  const command = group.command('gen').description('compile a workload into a file (JSON lines)');
  addWorkloadOptions(command)
    .requiredOption('--out <file>', 'where it goes')
    .option('--drawn', 'draw durations at random instead of giving each bucket its exact share')
    .addHelpText(
      'after',
      '\nExamples:\n  sfsd trace gen --durations table --gaps bursty --scale 0.5 --out workload.jsonl\n  sfsd trace gen --trace day1/ --count 2000 --load 0.8 --out day1.jsonl',
    )
    .action(async (flags: GenFlags) => {
      const { compileWorkload } = await import('./replay/workload-source.js');
      const { writeWorkload } = await import('../trace/formats/json-lines.js');
      const workload = await compileWorkload(flags, { stratified: flags.drawn !== true });
      await writeWorkload(flags.out, workload);
      if (commonOptions(command).json) printJson(context, { file: flags.out, header: workload.header });
      else
        context.terminal.out(
          `${workloadLines(flags.out, workload, workload.header.loadTarget).join('\n')}\n`,
        );
    });
  withJson(command);
}

function addValidate(group: Command, context: CliContext): void {
  const command = group
    .command('validate')
    .argument('<path...>', 'files or folders: Azure 2019 or 2021, an SFS list, or a compiled workload')
    .description('check a trace: each fault with its file, line and count')
    .addHelpText('after', '\nExample:\n  sfsd trace validate --strict traces/azure2019-sample')
    .action(async (paths: readonly string[], flags: TraceReadFlags) => {
      const { validateTrace } = await import('../trace/workload/generate.js');
      const report = await validateTrace(paths, traceReadChoice(flags));
      if (commonOptions(command).json) printJson(context, report);
      else context.terminal.out(`${reportLines(report).join('\n')}\n`);
      if (!report.passed) context.exitWith(exitCodes.failed);
    });
  withJson(addTraceReadOptions(command));
}

function reportLines(report: ValidationReport): string[] {
  return [
    ...report.files.map(
      ({ file, kind, rows, accepted }) => `${file}: ${kind}, ${accepted} of ${rows} rows used`,
    ),
    ...report.findings.map(findingLine),
    `${report.functions} functions with ${report.invocations} invocations; dropped: ${report.lostFunctions} functions, ${report.lostInvocations} invocations`,
    report.passed ? 'passed' : 'failed',
  ];
}

function findingLine({ severity, code, file, line, count, action, detail }: Finding): string {
  const times = count === 1 ? '' : `, ${count} times`;
  return `${severity} ${code}: ${file}:${line}${times}: ${detail} (${action})`;
}
