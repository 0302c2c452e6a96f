/*
 * The fork. A child is born in its cgroup2 group (CLONE_INTO_CGROUP, Linux 5.7): that waits for nothing, where joining a group
 * later takes the kernel's cgroup_threadgroup_rwsem for writing, and so waits for an RCU grace period. Where the kernel refuses,
 * and in v1 trees, which know no such thing, the child joins by a write.
 */
#include "spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* fork(2) without the C library's part: it writes to pages that would then be copied, for features not used here. */
static pid_t fork_in(int birthplace_fd, int exit_signal)
{
	if (birthplace_fd < 0)
		return (pid_t)syscall(SYS_clone, exit_signal, 0, 0, 0, 0);
	struct clone_args born_there = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = (uint64_t)exit_signal, .cgroup = (uint64_t)birthplace_fd
	};
	return (pid_t)syscall(SYS_clone3, &born_there, sizeof born_there);
}

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

pid_t birth(const struct launch *launch, const struct standing *standing, int status_fd, enum stage *stage)
{
	int join_fd = -1;
	if (launch->birthplace[0] != '\0') {
		*stage = STAGE_CGROUP;
		join_fd = open(launch->birthplace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (join_fd < 0)
			return -1;
	}
	*stage = STAGE_FORK;
	bool born_there = join_fd >= 0 && births_work(join_fd);
	pid_t pid = fork_in(born_there ? join_fd : -1, SIGCHLD);
	/* No room for another task is an answer. All else is refusal: a group that takes nobody, or that is being removed. */
	if (pid < 0 && born_there && errno != EAGAIN && errno != ENOMEM) {
		born_there = false;
		pid = fork_in(-1, SIGCHLD);
	}
	if (pid == 0)
		child_run(launch, standing, status_fd, born_there ? -1 : join_fd);
	int error_number = errno;
	if (join_fd >= 0)
		close(join_fd);
	errno = error_number;
	return pid;
}
