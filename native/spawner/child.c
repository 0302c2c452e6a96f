/*
 * The child, from fork to execve. Each step that fails is named through the status pipe; execve closes the pipe.
 *
 *    1  die with the spawner (PR_SET_PDEATHSIG), and make sure that it still lives
 *    2  one priority below the spawner, with SCHED_RESET_ON_FORK
 *    3  own process group
 *    4  cgroups that it was not born in, oom score, resource limits (need privileges)
 *    5  descriptors 0, 1, 2; everything else closed
 *    6  groups, gid, uid; then no capability is left, for uid 0 neither
 *    7  die with the spawner, again: the kernel forgets it when credentials change
 *    8  working directory (as the user: its permissions count), signal mask, execve
 *
 * What all children share was set once by inheritance.c and is inherited: no_new_privs, empty bounding, ambient and inheritable sets,
 * RLIMIT_RTPRIO and RLIMIT_NICE 0, no core files, umask, default signal handlers.
 *
 * Why no session of its own: where autogroup is on, each session is a party of its own to the fair scheduler, and a host's own
 * tasks would get one share beside as many as there are functions, of the little that FILTER leaves: 1 s of standing still was
 * measured with 4. All functions are in the spawner's session, so they are one party, as they are in the cgroup of a service.
 * Why the child stays real-time through execve: loading a program costs some 0.3 ms of CPU time. On a host full of FIFO work a
 * child lowered before execve gets that from the 5% left to the fair scheduler, up to a second late. So the spawner lowers it,
 * when it sees the status pipe close.
 * Why one below the spawner: at equal priority the new program would keep its core, and two would keep both cores,
 * from the spawner that must lower them. One below, the spawner preempts it at once, wherever it is woken.
 * Why SCHED_RESET_ON_FORK: a program that forks in its first microseconds would otherwise leave a real-time child behind.
 * Why a crash of the spawner cannot leave a FIFO task: until it is lowered the child lives only as long as the spawner (steps 1
 * and 7), it cannot have made FIFO children, and no_new_privs keeps a set-uid program from shedding the death signal.
 */
#include "spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the status pipe lives while the rest is closed. */
enum { STATUS_FD = 3 };

static int report_fd;

static _Noreturn void fail(enum stage stage, int error_number)
{
	struct failure failure = { .stage = stage, .error_number = (uint32_t)error_number };
	ssize_t written = write(report_fd, &failure, sizeof failure);
	_exit(written == sizeof failure ? 127 : 126);
}

static void die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		fail(STAGE_PARENT, errno);
	if (getppid() != parent)
		fail(STAGE_PARENT, ESRCH);
}

static void step_below(int priority)
{
	struct sched_param below = { .sched_priority = priority > 1 ? priority - 1 : 1 };
	if (priority > 0 && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &below) != 0)
		fail(STAGE_PRIORITY, errno);
}

/* Writes a short text to a kernel file; `folder` as in openat. */
static void write_file(int folder, const char *path, const char *text, enum stage stage)
{
	int file = openat(folder, path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, text, strlen(text)) < 0)
		fail(stage, errno);
	close(file);
}

static void join_cgroups(const struct launch *launch, int join_fd)
{
	if (join_fd >= 0)
		write_file(join_fd, "cgroup.procs", "0", STAGE_CGROUP);
	for (int i = 0; i < launch->header.cgroup_count; i++)
		write_file(AT_FDCWD, launch->cgroups[i], "0", STAGE_CGROUP);
}

static void apply_limits(const struct launch *launch, bool reset_oom)
{
	if (reset_oom)
		write_file(AT_FDCWD, "/proc/self/oom_score_adj", "0", STAGE_LIMITS);
	for (int i = 0; i < launch->header.limit_count; i++) {
		const struct request_limit *limit = &launch->limits[i];
		struct rlimit value;
		if (getrlimit((__rlimit_resource_t)limit->resource, &value) != 0)
			fail(STAGE_LIMITS, errno);
		/* A request lowers a limit, and never raises it above ours: a daemon without privileges could not. */
		if (value.rlim_max > limit->hard)
			value.rlim_max = limit->hard;
		value.rlim_cur = limit->soft < value.rlim_max ? limit->soft : value.rlim_max;
		if (setrlimit((__rlimit_resource_t)limit->resource, &value) != 0)
			fail(STAGE_LIMITS, errno);
	}
}

/* All descriptors of the spawner are above STATUS_FD or are REQUEST_FD, which the child needs no more. */
static void place_files(const struct launch *launch, int status_fd)
{
	if (dup3(status_fd, STATUS_FD, O_CLOEXEC) < 0)
		fail(STAGE_FILES, errno);
	report_fd = STATUS_FD;
	for (int i = 0; i < 3; i++)
		if (dup2(launch->files[i], i) < 0)
			fail(STAGE_FILES, errno);
	if (syscall(SYS_close_range, STATUS_FD + 1, ~0U, 0) != 0)
		fail(STAGE_FILES, errno);
}

static void become(const struct launch *launch, const struct standing *standing)
{
	gid_t gid = launch->header.gid;
	uid_t uid = launch->header.uid;
	/* To setresuid an id of -1 means "leave it": the program would stay root. */
	if (uid == (uid_t)-1 || gid == (gid_t)-1)
		fail(STAGE_USER, EINVAL);
	if (standing->root && setgroups(0, NULL) != 0)
		fail(STAGE_USER, errno);
	if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
		fail(STAGE_USER, errno);
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	if (syscall(SYS_capset, &header, none) != 0)
		fail(STAGE_CAPABILITIES, errno);
}

static const char *path_of(char *const environment[])
{
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* As execvpe, but with the function's PATH, without the fall-back to a shell, and telling EACCES from ENOENT. */
static int execute(char *const arguments[], char *const environment[])
{
	const char *name = arguments[0];
	if (strchr(name, '/') != NULL) {
		execve(name, arguments, environment);
		return errno;
	}
	int error_number = ENOENT;
	size_t name_length = strlen(name);
	for (const char *folder = path_of(environment); name_length > 0; folder++) {
		size_t length = strcspn(folder, ":");
		char path[PATH_MAX];
		if (length > 0 && length + 1 + name_length < sizeof path) {
			memcpy(path, folder, length);
			path[length] = '/';
			memcpy(path + length + 1, name, name_length + 1);
			execve(path, arguments, environment);
			if (errno == EACCES)
				error_number = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return errno;
		}
		folder += length;
		if (*folder == '\0')
			break;
	}
	return error_number;
}

_Noreturn void child_run(const struct launch *launch, const struct standing *standing, int status_fd, int join_fd)
{
	report_fd = status_fd;
	die_with_parent(standing->pid);
	step_below(standing->priority);
	if (setpgid(0, 0) != 0)
		fail(STAGE_GROUP, errno);
	join_cgroups(launch, join_fd);
	apply_limits(launch, standing->reset_oom);
	place_files(launch, status_fd);
	become(launch, standing);
	die_with_parent(standing->pid);
	if (chdir(launch->directory) != 0)
		fail(STAGE_DIRECTORY, errno);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	fail(STAGE_EXEC, execute(launch->arguments, launch->environment));
}
