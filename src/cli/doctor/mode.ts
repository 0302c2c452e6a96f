/**
 * Which permission mode a daemon would choose that is started as this command was: the daemon's own probe, asked of ourselves and undone.
 */
import { loadConfig } from '../../daemon/config/config.js';
import { probePermission } from '../../daemon/permission.js';
import { CgroupLayout } from '../../linux/cgroup-layout.js';
import type { Libc } from '../../linux/libc.js';
import { broken, degraded, type Finding, ok } from './finding.js';

export function modeFinding(libc: Libc): Finding {
  const config = loadConfig({ environment: {}, flags: {} });
  const { mode, reason = '', left } = probePermission(libc, config, CgroupLayout.detect());
  left?.comeBack();
  const fact = reason === '' ? mode : `${mode}: ${reason}`;
  switch (mode) {
    case 'fifo':
      return ok('mode', 'fifo: what is promoted becomes SCHED_FIFO');
    case 'fifo-cgroup':
      return degraded('mode', fact, 'Promotion works as usual.');
    case 'eevdf':
      return degraded(
        'mode',
        fact,
        'Functions in FILTER get a weight and a short slice instead of SCHED_FIFO.',
      );
    case 'off':
      return broken('mode', fact, 'Until then all functions run under the fair scheduler.');
  }
}
