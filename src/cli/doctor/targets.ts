/**
 * May tasks become real-time in the control groups in which functions live? With CONFIG_RT_GROUP_SCHED that is a matter of the group, not
 * of privileges: a group of the v1 cpu tree has no budget until somebody gives it one, and on cgroup2 there is none to give.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CgroupLayout } from '../../linux/cgroup-layout.js';
import { broken, degraded, type Finding, ok } from './finding.js';
import { kernelOption, textOf } from './host-files.js';

const subject = 'target cgroups';
const groupsMax = 256;
const namedMax = 4;

export function targetFinding(root: string): Finding {
  const layout = CgroupLayout.detect({ root, mountinfo: textOf(root, 'proc/self/mountinfo') ?? '' });
  const tree = layout.tree('cpu');
  if (tree?.version === 1 && textOf('', join(tree.mount, 'cpu.rt_runtime_us')) !== undefined)
    return judgeTree(tree.mount);
  if (kernelOption(root, 'RT_GROUP_SCHED') !== 'y') return ok(subject, 'any group may hold real-time tasks');
  if (/\brt_group_sched=0\b/.test(textOf(root, 'proc/cmdline') ?? ''))
    return ok(subject, 'CONFIG_RT_GROUP_SCHED is there, and off (rt_group_sched=0)');
  if (layout.version !== 'v2') return ok(subject, 'no cpu tree: all tasks are in its root group');
  return broken(
    subject,
    'CONFIG_RT_GROUP_SCHED on cgroup2: only tasks of the root group may be real-time, and functions are in others',
    'Boot with rt_group_sched=0 (Linux 6.15) or a kernel without the option; until then functions run under the fair scheduler.',
  );
}

function judgeTree(mount: string): Finding {
  const groups = groupsIn(mount);
  const without = groups.filter((group) => textOf('', join(mount, group, 'cpu.rt_runtime_us')) === '0');
  const fact = `${groups.length} groups in the cpu tree, ${without.length} without a real-time budget`;
  if (without.length === 0) return ok(subject, fact);
  const names = without.slice(0, namedMax).map((group) => `/${group}`);
  return degraded(
    subject,
    `${fact}: ${names.join(', ')}${without.length > namedMax ? ', ...' : ''}`,
    'A task there is moved, in the cpu tree only, to /sfsd-filter while it is in FILTER, and back after its demotion.',
  );
}

/** The first two levels: where container managers have theirs. */
function groupsIn(mount: string): readonly string[] {
  const names = (folder: string): string[] => {
    try {
      const entries = readdirSync(join(mount, folder), { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
    } catch {
      return [];
    }
  };
  const first = names('');
  return [...first, ...first.flatMap(names)].filter((name) => name !== 'sfsd-filter').slice(0, groupsMax);
}
