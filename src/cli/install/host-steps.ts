/**
 * What the running host must be told after files have changed. Each step is harmless where no systemd runs: it is left out then, and the
 * report says what to type.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

export interface StepReport {
  readonly command: string;
  readonly outcome: 'done' | 'failed' | 'left out';
  readonly reason?: string;
}

const stepMsMax = 30_000;

export function afterInstall(root: string): readonly StepReport[] {
  return run(root, [
    ['systemd-sysusers', '/usr/local/lib/sysusers.d/sfsd.conf'],
    ['systemd-tmpfiles', '--create', '/usr/local/lib/tmpfiles.d/sfsd.conf'],
    ['systemctl', 'daemon-reload'],
  ]);
}

/** While the files are still there: a unit without its file cannot be disabled. */
export function beforeUninstall(root: string): readonly StepReport[] {
  return run(root, [['systemctl', 'disable', '--now', 'sfsd.service', 'sfsd.socket', 'sfsd-spawner.socket']]);
}

export function afterUninstall(root: string): readonly StepReport[] {
  return run(root, [['systemctl', 'daemon-reload']]);
}

function run(root: string, commands: readonly (readonly string[])[]): readonly StepReport[] {
  const reason = whyNot(root);
  return commands.map((words) => {
    const command = words.join(' ');
    if (reason !== undefined) return { command, outcome: 'left out', reason };
    const [program = '', ...args] = words;
    const done = spawnSync(program, args, { encoding: 'utf8', timeout: stepMsMax });
    if (done.status === 0) return { command, outcome: 'done' };
    return { command, outcome: 'failed', reason: done.error?.message ?? done.stderr.trim() };
  });
}

function whyNot(root: string): string | undefined {
  if (root !== '/') return `the files are for ${root}, not for this host`;
  return existsSync('/run/systemd/system') ? undefined : 'no systemd runs here';
}
