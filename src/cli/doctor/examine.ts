/**
 * All checks, in the order in which one explains the next: programs, kernel calls, privileges, real-time scheduling, cgroups, what can be
 * seen of others, the daemon. A check that fails in a way it did not expect is itself a finding: the others still run.
 */
import { reasonOf } from '../../contracts/errors.js';
import { loadKoffiLibc } from '../../linux/koffi-libc.js';
import type { Libc } from '../../linux/libc.js';
import { cgroupFinding } from './cgroups.js';
import { daemonFinding } from './daemon.js';
import { broken, type Finding, ok } from './finding.js';
import { autogroupFinding, fairServerFinding, throttlingFinding, waitFinding } from './kernel.js';
import { modeFinding } from './mode.js';
import { processFinding } from './processes.js';
import {
  compilerFinding,
  ffiNapiFinding,
  guardFinding,
  nodeFinding,
  pythonFinding,
  spawnerFinding,
} from './programs.js';
import { privilegeFinding, promotionFinding } from './realtime.js';
import { btfFinding, kernelThreadFinding, schedExtFinding, smtFinding } from './schedulers.js';
import { targetFinding } from './targets.js';
import { containerdFinding, procConnectorFinding, procFinding } from './visibility.js';

/** Where this host's files are. */
const root = '/';

export async function examine(options: { readonly socket: string | undefined }): Promise<readonly Finding[]> {
  const loaded = loadKoffiLibc();
  const libc = loaded.ok ? loaded.libc : undefined;
  const library = loaded.ok
    ? ok('FFI', `koffi is loaded`)
    : broken('FFI', loaded.reason, 'Install the packages again: npm ci');
  const checks: readonly (readonly [string, () => Finding | Promise<Finding>])[] = [
    ['Node', nodeFinding],
    ['spawner', spawnerFinding],
    ['guard', guardFinding],
    ['C compiler', compilerFinding],
    ['Python', pythonFinding],
    ['FFI', () => library],
    ['ffi-napi', ffiNapiFinding],
    ...withLibc(libc, 'kernel wait', waitFinding),
    ['privileges', privilegeFinding],
    ...withLibc(libc, 'promotion', promotionFinding),
    ...withLibc(libc, 'mode', modeFinding),
    ['throttling', throttlingFinding],
    ['fair server', () => fairServerFinding(root)],
    ['autogroup', autogroupFinding],
    ['sched_ext', () => schedExtFinding(root)],
    ['SMT', () => smtFinding(root)],
    ['kernel threads', () => kernelThreadFinding(root)],
    ['cgroups', cgroupFinding],
    ['target cgroups', () => targetFinding(root)],
    ['/proc', () => procFinding(root)],
    ['proc connector', () => procConnectorFinding(root)],
    ['BTF', () => btfFinding(root)],
    ['containerd', () => containerdFinding(root)],
    ['processes', processFinding],
    ['daemon', () => daemonFinding(options.socket)],
  ];
  const findings: Finding[] = [];
  // One after the other: the promotion check makes a real-time child, and must not be measured with something else.
  for (const [subject, check] of checks) findings.push(await settled(subject, check));
  return findings;
}

function withLibc(
  libc: Libc | undefined,
  subject: string,
  check: (libc: Libc) => Finding | Promise<Finding>,
): readonly (readonly [string, () => Finding | Promise<Finding>])[] {
  return libc === undefined ? [] : [[subject, () => check(libc)]];
}

async function settled(subject: string, check: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (thrown) {
    return broken(subject, `the check itself failed: ${reasonOf(thrown)}`, 'Please report this.');
  }
}
