/** Kernel settings that decide how FIFO and fair tasks share a core. */
import { readdirSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import type { Instant } from '../../contracts/time.js';
import type { Libc } from '../../linux/libc.js';
import { Poller } from '../../linux/poller.js';
import { broken, degraded, type Finding, ok } from './finding.js';
import { textOf } from './host-files.js';

/** The FILTER budget's largest share; the kernel's own throttle must lie above it. */
const budgetShareMax = 0.93;
const fairServerSince = [6, 12] as const;
const eevdfSince = [6, 6] as const;

export function waitFinding(libc: Libc): Finding {
  const poller = new Poller(libc);
  try {
    poller.wait(1000 as Instant, 0 as Instant);
    return ok('kernel wait', 'epoll_pwait2 works');
  } catch {
    return broken(
      'kernel wait',
      'epoll_pwait2 is refused',
      'It needs Linux 5.11 or later, and a sandbox that lets it through.',
    );
  } finally {
    poller.close();
  }
}

export function throttlingFinding(): Finding {
  return judgeThrottling({
    runtimeUs: Number(readFileSync('/proc/sys/kernel/sched_rt_runtime_us', 'utf8')),
    periodUs: Number(readFileSync('/proc/sys/kernel/sched_rt_period_us', 'utf8')),
  });
}

export function judgeThrottling(setting: { readonly runtimeUs: number; readonly periodUs: number }): Finding {
  const { runtimeUs, periodUs } = setting;
  const fact = `sched_rt_runtime_us ${runtimeUs} of ${periodUs}`;
  if (runtimeUs < 0)
    return degraded(
      'throttling',
      `${fact}: off`,
      'FILTER keeps its own budget, but nothing stops anybody else’s real-time loop from taking a core.',
    );
  if (runtimeUs === 0)
    return broken(
      'throttling',
      `${fact}: real-time tasks may not run`,
      'sysctl -w kernel.sched_rt_runtime_us=950000',
    );
  if (runtimeUs / periodUs < budgetShareMax)
    return broken(
      'throttling',
      `${fact}: below the FILTER budget of ${budgetShareMax * 100}%, the daemon would be stalled with its functions`,
      `sysctl -w kernel.sched_rt_runtime_us=${Math.ceil(periodUs * 0.95)}, or lower scheduler.budgetPercent`,
    );
  return ok('throttling', fact);
}

/** debugfs, where it is mounted, tells what each CPU's fair server is given: 0 turns it off. */
export function fairServerFinding(root: string): Finding {
  const judged = judgeKernelRelease(release());
  const runtimes = fairServerRuntimes(root);
  if (judged.state !== 'ok' || runtimes.length === 0 || runtimes.every((runtime) => runtime > 0))
    return judged;
  return degraded(
    'fair server',
    `${judged.fact}, but it is off on ${runtimes.filter((runtime) => runtime === 0).length} of ${runtimes.length} CPUs`,
    'Fair tasks live on what the FILTER budget leaves: 7 ms of each 100. Beside other real-time work that may be nothing.',
  );
}

function fairServerRuntimes(root: string): readonly number[] {
  const folder = join(root, 'sys/kernel/debug/sched/fair_server');
  try {
    return readdirSync(folder).map((cpu) => Number(textOf(folder, `${cpu}/runtime`) ?? 1));
  } catch {
    return [];
  }
}

export function judgeKernelRelease(text: string): Finding {
  const [major = 0, minor = 0] = text.split(/[.-]/).map(Number);
  const since = ([a, b]: readonly [number, number]): boolean => major > a || (major === a && minor >= b);
  const fair = since(eevdfSince) ? 'EEVDF' : 'CFS';
  if (since(fairServerSince)) return ok('fair server', `Linux ${text}: ${fair}, with the fair server`);
  return degraded(
    'fair server',
    `Linux ${text}: ${fair}, without the fair server (6.12)`,
    'Fair tasks live on what the FILTER budget and RT throttling leave; that is at least 5%.',
  );
}

export function autogroupFinding(): Finding {
  let setting: string;
  try {
    setting = readFileSync('/proc/sys/kernel/sched_autogroup_enabled', 'utf8').trim();
  } catch {
    return ok('autogroup', 'not in this kernel');
  }
  if (setting === '0') return ok('autogroup', 'off');
  return degraded(
    'autogroup',
    'on: outside of cgroups the fair scheduler shares by session; all functions of one daemon are one',
    'Replay runs both policies under it alike. To turn it off: sysctl -w kernel.sched_autogroup_enabled=0',
  );
}
