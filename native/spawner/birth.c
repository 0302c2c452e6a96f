/*
 * The birth of a child. It is born in its cgroup2 group (CLONE_INTO_CGROUP, Linux 5.7): that waits for nothing, where joining a group
 * later takes the kernel's cgroup_threadgroup_rwsem for writing, and so waits for an RCU grace period. Where the kernel refuses,
 * and in v1 trees, which know no such thing, the child joins by a write.
 *
 * Two ways, the same child (child.c):
 *
 *   in a cradle   CLONE_VM: it shares our memory until execve, on a stack of its own. Nothing is copied, nothing faults, neither
 *                 in it nor in us: where a fault costs 40 us (a nested virtual machine) that saves each of the two 0.3 to 1 ms.
 *   forked        it gets a copy of our memory. For a child under a memory limit: while a child shares our memory, the kernel's
 *                 out-of-memory killer, called for the child's group, kills everyone who shares it, that is us. And for a child
 *                 for which no cradle is free.
 *
 * What the two share must not hurt us while it is shared:
 *   - a core-dumping signal to a child ended everyone who shared its memory until Linux 5.16: before that, all are forked;
 *   - a child that has become its user, but not yet its program, may not be traced by that user: see PR_SET_DUMPABLE in main.c. With
 *     fs.suid_dumpable at 1, a change of user would undo that: then all are forked;
 *   - writing the child's oom_score_adj would write ours, too: see inheritance.c.
 */
#include "raw.h"
#include "spawner.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* fork(2) without the C library's part: it writes to pages that would then be copied, for features not used here. */
static pid_t fork_in(int birthplace_fd, int exit_signal)
{
	struct clone_args born_there = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = (uint64_t)exit_signal, .cgroup = (uint64_t)birthplace_fd
	};
	return (pid_t)(birthplace_fd < 0 ? raw(clone, exit_signal) : raw(clone3, &born_there, sizeof born_there));
}

#if RAW_BIRTHS
static pid_t share_in(int birthplace_fd, struct stack stack, struct newborn *newborn)
{
	struct clone_args born_there = { .flags = CLONE_VM | CLONE_INTO_CGROUP,
					 .exit_signal = SIGCHLD,
					 .stack = (uint64_t)(uintptr_t)stack.start,
					 .stack_size = stack.bytes,
					 .cgroup = (uint64_t)birthplace_fd };
	if (birthplace_fd >= 0)
		return (pid_t)raw_birth(SYS_clone3, (long)&born_there, sizeof born_there, child_run, newborn);
	return (pid_t)raw_birth(SYS_clone, CLONE_VM | SIGCHLD, (long)(stack.start + stack.bytes), child_run, newborn);
}

static bool changed_users_are_traceable(void)
{
	char mode = '0';
	int file = open("/proc/sys/fs/suid_dumpable", O_RDONLY | O_CLOEXEC);
	bool known = file >= 0 && read(file, &mode, 1) == 1;
	if (file >= 0)
		close(file);
	return known && mode == '1';
}

bool births_may_share(void)
{
	if (changed_users_are_traceable())
		return false;
	struct utsname host;
	int major = 0;
	int minor = 0;
	return uname(&host) == 0 && sscanf(host.release, "%d.%d", &major, &minor) == 2 && (major > 5 || (major == 5 && minor >= 16));
}
#else
static pid_t share_in(int birthplace_fd, struct stack stack, struct newborn *newborn)
{
	(void)birthplace_fd;
	(void)stack;
	(void)newborn;
	return -ENOSYS;
}

bool births_may_share(void)
{
	return false;
}
#endif

/*
 * Whether children survive being born elsewhere. Some kernels (6.18 for one) kill each child whose group and ours have not been
 * killed equally often through cgroup.kill: they take that for a kill that races with the fork. The daemon gives us groups that
 * never were; should ours have been, before our time, then none of our children would live.
 */
static bool births_work(int birthplace_fd)
{
	static enum { UNTRIED, WORK, FAIL } births;
	if (births == UNTRIED) {
		int status = -1;
		pid_t pid = fork_in(birthplace_fd, 0);
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, &status, __WALL);
		births = status == 0 ? WORK : FAIL;
	}
	return births == WORK;
}

/* The child's own copy of what it must know lies at the end of its stack: it runs on when `birth` has long returned. */
static pid_t begin(const struct newborn *told, int cradle, int birthplace_fd)
{
	struct newborn newborn = *told;
	/* Born there, it need not join. */
	if (birthplace_fd >= 0)
		newborn.join_fd = -1;
	if (cradle != CRADLE_NONE) {
		struct stack stack = cradle_stack(cradle);
		stack.bytes -= (sizeof newborn + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
		struct newborn *kept = (struct newborn *)(void *)(stack.start + stack.bytes);
		*kept = newborn;
		return share_in(birthplace_fd, stack, kept);
	}
	pid_t pid = fork_in(birthplace_fd, SIGCHLD);
	if (pid == 0)
		child_run(&newborn);
	return pid;
}

pid_t birth(const struct launch *launch, const struct standing *standing, int status_fd, int cradle, enum stage *stage)
{
	struct newborn newborn = { .launch = launch, .standing = standing, .status_fd = status_fd, .join_fd = -1 };
	if (launch->birthplace[0] != '\0') {
		*stage = STAGE_CGROUP;
		newborn.join_fd = (int)raw(openat, AT_FDCWD, launch->birthplace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (newborn.join_fd < 0)
			return newborn.join_fd;
	}
	*stage = STAGE_FORK;
	bool born_there = newborn.join_fd >= 0 && births_work(newborn.join_fd);
	pid_t pid = begin(&newborn, cradle, born_there ? newborn.join_fd : -1);
	/* No room for another task is an answer. All else is refusal: a group that takes nobody, or that is being removed. */
	if (pid < 0 && born_there && pid != -EAGAIN && pid != -ENOMEM)
		pid = begin(&newborn, cradle, -1);
	if (newborn.join_fd >= 0)
		close(newborn.join_fd);
	return pid;
}
