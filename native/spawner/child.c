/*
 * The child, from birth to execve. Each step that fails is named through the status pipe; execve closes the pipe.
 * It may share the spawner's memory (birth.c): so it writes nothing but its own stack, and makes its system calls itself (raw.h).
 *
 *    1  die with the spawner (PR_SET_PDEATHSIG), and make sure that it still lives
 *    2  one priority below the spawner, with SCHED_RESET_ON_FORK
 *    3  own process group
 *    4  cgroups that it was not born in, resource limits (need privileges)
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
#include "raw.h"
#include "spawner.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

/* Where the status pipe lives while the rest is closed. */
enum { STATUS_FD = 3 };

/* On 32-bit hosts the plain names mean 16-bit ids. */
#ifdef SYS_setresuid32
#undef SYS_setgroups
#undef SYS_setresgid
#undef SYS_setresuid
#define SYS_setgroups SYS_setgroups32
#define SYS_setresgid SYS_setresgid32
#define SYS_setresuid SYS_setresuid32
#endif

/* As prlimit64 has it, on all architectures. */
struct limit {
	uint64_t soft;
	uint64_t hard;
};

static _Noreturn void fail(int status_fd, enum stage stage, long result)
{
	struct failure failure = { .stage = stage, .error_number = (uint32_t)-result };
	long written = raw(write, status_fd, &failure, sizeof failure);
	for (;;)
		raw(exit_group, written == sizeof failure ? 127 : 126);
}

static void check(int status_fd, enum stage stage, long result)
{
	if (result < 0)
		fail(status_fd, stage, result);
}

static void die_with_parent(pid_t parent, int status_fd)
{
	check(status_fd, STAGE_PARENT, raw(prctl, PR_SET_PDEATHSIG, SIGKILL));
	if (raw(getppid, 0) != parent)
		fail(status_fd, STAGE_PARENT, -ESRCH);
}

static void step_below(int priority, int status_fd)
{
	struct sched_param below = { .sched_priority = priority > 1 ? priority - 1 : 1 };
	if (priority > 0)
		check(status_fd, STAGE_PRIORITY, raw(sched_setscheduler, 0, SCHED_FIFO | SCHED_RESET_ON_FORK, &below));
}

/* Joins by a write; `folder` as in openat. */
static void join_cgroup(int folder, const char *path, int status_fd)
{
	long file = raw(openat, folder, path, O_WRONLY | O_CLOEXEC);
	check(status_fd, STAGE_CGROUP, file);
	check(status_fd, STAGE_CGROUP, raw(write, file, "0", 1));
	raw(close, file);
}

static void join_cgroups(const struct launch *launch, int join_fd, int status_fd)
{
	if (join_fd >= 0)
		join_cgroup(join_fd, "cgroup.procs", status_fd);
	for (int i = 0; i < launch->header.cgroup_count; i++)
		join_cgroup(AT_FDCWD, launch->cgroups[i], status_fd);
}

static void apply_limits(const struct launch *launch, int status_fd)
{
	for (int i = 0; i < launch->header.limit_count; i++) {
		const struct request_limit *asked = &launch->limits[i];
		struct limit value;
		check(status_fd, STAGE_LIMITS, raw(prlimit64, 0, asked->resource, NULL, &value));
		/* A request lowers a limit, and never raises it above ours: a daemon without privileges could not. */
		if (value.hard > asked->hard)
			value.hard = asked->hard;
		value.soft = asked->soft < value.hard ? asked->soft : value.hard;
		check(status_fd, STAGE_LIMITS, raw(prlimit64, 0, asked->resource, &value, NULL));
	}
}

/* All descriptors of the spawner are above STATUS_FD or are REQUEST_FD, which the child needs no more. */
static void place_files(const struct launch *launch, int status_fd)
{
	check(status_fd, STAGE_FILES, raw(dup3, status_fd, STATUS_FD, O_CLOEXEC));
	for (int i = 0; i < 3; i++)
		if (launch->files[i] >= 0)
			check(STATUS_FD, STAGE_FILES, raw(dup3, launch->files[i], i, 0));
	check(STATUS_FD, STAGE_FILES, raw(close_range, STATUS_FD + 1, ~0U, 0));
}

static void become(const struct launch *launch, const struct standing *standing)
{
	gid_t gid = launch->header.gid;
	uid_t uid = launch->header.uid;
	/* To setresuid an id of -1 means "leave it": the program would stay root. */
	if (uid == (uid_t)-1 || gid == (gid_t)-1)
		fail(STATUS_FD, STAGE_USER, -EINVAL);
	if (standing->root) {
		/* Without CAP_SETGID a root that asks for itself keeps the daemon's groups, as every other user's daemon does. */
		long result = raw(setgroups, 0, NULL);
		if (result != -EPERM || uid != 0)
			check(STATUS_FD, STAGE_USER, result);
	}
	check(STATUS_FD, STAGE_USER, raw(setresgid, gid, gid, gid));
	check(STATUS_FD, STAGE_USER, raw(setresuid, uid, uid, uid));
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	check(STATUS_FD, STAGE_CAPABILITIES, raw(capset, &header, none));
}

static const char *path_of(char *const environment[])
{
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* As execvpe, but with the function's PATH, without the fall-back to a shell, and telling EACCES from ENOENT. */
static long execute(char *const arguments[], char *const environment[])
{
	const char *name = arguments[0];
	if (strchr(name, '/') != NULL)
		return raw(execve, name, arguments, environment);
	long reason = -ENOENT;
	size_t name_length = strlen(name);
	for (const char *folder = path_of(environment); name_length > 0; folder++) {
		size_t length = strcspn(folder, ":");
		char path[PATH_MAX];
		if (length > 0 && length + 1 + name_length < sizeof path) {
			memcpy(path, folder, length);
			path[length] = '/';
			memcpy(path + length + 1, name, name_length + 1);
			long result = raw(execve, path, arguments, environment);
			if (result == -EACCES)
				reason = -EACCES;
			else if (result != -ENOENT && result != -ENOTDIR)
				return result;
		}
		folder += length;
		if (*folder == '\0')
			break;
	}
	return reason;
}

void child_run(void *told)
{
	const struct newborn *newborn = told;
	const struct launch *launch = newborn->launch;
	const struct standing *standing = newborn->standing;
	int status_fd = newborn->status_fd;
	die_with_parent(standing->pid, status_fd);
	step_below(standing->priority, status_fd);
	check(status_fd, STAGE_GROUP, raw(setpgid, 0, 0));
	join_cgroups(launch, newborn->join_fd, status_fd);
	apply_limits(launch, status_fd);
	place_files(launch, status_fd);
	become(launch, standing);
	die_with_parent(standing->pid, STATUS_FD);
	check(STATUS_FD, STAGE_DIRECTORY, raw(chdir, launch->directory));
	uint64_t none[2] = { 0 };
	raw(rt_sigprocmask, SIG_SETMASK, none, NULL, _NSIG / 8);
	fail(STATUS_FD, STAGE_EXEC, execute(launch->arguments, launch->environment));
}
