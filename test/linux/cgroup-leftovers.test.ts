import { existsSync, mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CgroupLayout } from '../../src/linux/cgroup-layout.js';
import { daemonGroup, removeLeftovers } from '../../src/linux/cgroup-leftovers.js';

const layout = CgroupLayout.detect();
const mount = layout.unifiedPath ?? layout.tree('pids')?.mount;
const skip = process.getuid?.() !== 0 ? 'needs root' : mount === undefined ? 'no cgroup tree here' : false;

t.test('groups of a daemon that is gone are removed, those of a living one stay', { skip }, async (t) => {
  // Above the largest pid that Linux gives (PID_MAX_LIMIT), so never a process.
  const dead = join(mount ?? '', daemonGroup(4_194_305));
  const living = join(mount ?? '', daemonGroup(process.pid));
  mkdirSync(join(dead, 'fn-a-1'), { recursive: true });
  mkdirSync(join(living, 'fn-a-1'), { recursive: true });
  t.teardown(() => {
    rmdirSync(join(living, 'fn-a-1'));
    rmdirSync(living);
  });
  removeLeftovers(layout);
  t.notOk(existsSync(dead));
  t.ok(existsSync(join(living, 'fn-a-1')));
});
