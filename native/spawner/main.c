/*
 * sfsd's spawner: starts every function, so that the daemon itself never forks. `protocol.h` says how it is asked.
 *
 *   spawner --priority N --session-nice M
 *       N: SCHED_FIFO priority, 0: stay SCHED_OTHER; M: 0 to 19, what all functions together yield to the host's other sessions
 *   spawner --attached
 *       fd 3 is the daemon's connection, which says both (attach.c)
 *   spawner --layout
 *       prints the sizes and offsets of the protocol and ends; a test reads it
 *
 * One loop, one epoll. For each event the cheapest useful thing first: programs that have just been executed are lowered,
 * then exits are reaped, then new requests are read.
 *
 *   request ─▶ birth ─▶ status pipe closes: execve done ─▶ lower to SCHED_OTHER ─▶ STARTED ─▶ SIGCHLD ─▶ wait4 ─▶ EXITED
 *                └────▶ status pipe says stage, errno ───▶ SIGCHLD ─▶ wait4 ─▶ FAILED
 *
 * A failure is reported once the child has been reaped, so that its cgroup is empty when the daemon hears of it.
 * Since only we reap, a pid in the table is never another process: signals cannot miss. An exit is first looked at without
 * reaping, its process group killed (what a function leaves running ends with it), and only then reaped.
 *
 * Rejected: vfork and posix_spawn (they hold the loop until execve: as they do, children share our memory, but nobody waits for them);
 * a fork for each (birth.c says what it costs); as many cradles as children (a page or three each, for what lasts a millisecond);
 * a zygote per function (a fork of a warm interpreter is another contract than a fresh program).
 *
 * The end: when the daemon's socket closes, every process group is killed, then every descendant that became our child
 * (PR_SET_CHILD_SUBREAPER), until none is left or END_MS_MAX have passed.
 */
#include "spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, END_MS_MAX = 2000 };
/* SIGCHLD and the three that ask us to end are the signals we take; each is pending once at most. */
enum { SIGNALS_MAX = 4 };

/* epoll data: one of these, or WATCH_CHILD + the child's index. */
enum { WATCH_REQUESTS, WATCH_REPLIES, WATCH_SIGNALS, WATCH_CHILD };

static struct standing standing;
static int epoll_fd;
static int signal_fd;
static struct epoll_event *events;

uint64_t monotonic_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

_Noreturn void die(const char *call)
{
	perror(call);
	exit(1);
}

static void watch(int operation, int fd, uint32_t events, uint32_t what)
{
	struct epoll_event event = { .events = events, .data.u32 = what };
	if (epoll_ctl(epoll_fd, operation, fd, &event) != 0)
		die("epoll_ctl");
}

static void lower(const struct child *child)
{
	struct sched_param none = { .sched_priority = 0 };
	if (standing.priority > 0 && sched_setscheduler(child->pid, SCHED_OTHER, &none) != 0 && errno != ESRCH) {
		/* A function must not stay real-time because we could not lower it. */
		perror("sched_setscheduler");
		kill(child->pid, SIGKILL);
	}
	if (child->nice != 0)
		setpriority(PRIO_PROCESS, (id_t)child->pid, child->nice);
}

void watch_status(const struct child *child)
{
	watch(EPOLL_CTL_ADD, child->status_fd, EPOLLIN, WATCH_CHILD + (uint32_t)child_index(child));
}

/* The status pipe has something to say, or is closed: the child failed, or its program is in place. */
static void status_arrived(struct child *child)
{
	struct failure failure;
	ssize_t length = read(child->status_fd, &failure, sizeof failure);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (length == 0)
		lower(child);
	/* Closing is not enough: a child that is forked meanwhile holds the same pipe, and epoll would go on reporting it. */
	watch(EPOLL_CTL_DEL, child->status_fd, 0, 0);
	close(child->status_fd);
	child->status_fd = -1;
	if (length == sizeof failure) {
		child->failure = failure;
		return;
	}
	cradle_give_back(child->cradle);
	child->cradle = CRADLE_NONE;
	child->state = CHILD_RUNNING;
	struct reply reply = { .kind = REPLY_STARTED,
			       .pid = (uint32_t)child->pid,
			       .id = child->id,
			       .at_us = monotonic_us(),
			       .start_time = start_time_of(child->pid),
			       .realtime_us = standing.priority > 0 ? cpu_us_of(child->pid) : 0 };
	reply_send(&reply);
}

static uint64_t microseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void reap_child(struct child *child)
{
	int status = 0;
	struct rusage used = { 0 };
	uint64_t at_us = monotonic_us();
	kill(-child->pid, SIGKILL);
	if (child->status_fd >= 0)
		status_arrived(child);
	wait4(child->pid, &status, 0, &used);
	cradle_give_back(child->cradle);
	struct reply reply = { .kind = REPLY_EXITED,
			       .pid = (uint32_t)child->pid,
			       .id = child->id,
			       .at_us = at_us,
			       .status = (uint32_t)status,
			       .user_us = microseconds(used.ru_utime),
			       .system_us = microseconds(used.ru_stime),
			       .voluntary_switches = (uint64_t)used.ru_nvcsw,
			       .involuntary_switches = (uint64_t)used.ru_nivcsw,
			       .rss_max_kib = (uint64_t)used.ru_maxrss };
	if (child->state == CHILD_RUNNING)
		reply_send(&reply);
	else
		reply_failure(child->id, (enum stage)child->failure.stage, (int)child->failure.error_number);
	child_remove(child);
}

/* Orphans of a function that were given to us are reaped without a word. */
static void reap(void)
{
	while (replies_have_room()) {
		siginfo_t exited = { 0 };
		if (waitid(P_ALL, 0, &exited, WEXITED | WNOHANG | WNOWAIT) != 0 || exited.si_pid == 0)
			return;
		struct child *child = child_by_pid(exited.si_pid);
		if (child != NULL)
			reap_child(child);
		else
			waitpid(exited.si_pid, NULL, 0);
	}
}

static void kill_child(struct child *child)
{
	child_signal(child, SIGKILL);
}

static void kill_adopted(void)
{
	FILE *list = fopen("/proc/thread-self/children", "re");
	int pid;
	while (list != NULL && fscanf(list, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	if (list != NULL)
		fclose(list);
}

static void end_all(void)
{
	uint64_t until_us = monotonic_us() + END_MS_MAX * 1000;
	children_each(kill_child);
	while (monotonic_us() < until_us) {
		kill_adopted();
		pid_t pid;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			continue;
		if (pid < 0)
			return;
		struct timespec pause = { .tv_nsec = 1000000 };
		nanosleep(&pause, NULL);
	}
}

/* Sends what waits; asks to be woken when the rest can be sent. False: the daemon is gone. */
static bool flush_replies(bool *watched)
{
	bool blocked;
	if (!replies_flush(&blocked))
		return false;
	if (blocked != *watched)
		watch(EPOLL_CTL_MOD, REPLY_FD, blocked ? EPOLLOUT : 0, WATCH_REPLIES);
	*watched = blocked;
	return true;
}

/*
 * Without room for replies there is nothing that we may do: wait for the daemon to read, and for that alone. Events that cannot
 * be handled yet would wake an epoll_wait again and again, at a priority above the daemon's. False: the daemon is gone.
 */
static bool wait_for_room(bool *watched)
{
	while (flush_replies(watched)) {
		if (replies_have_room())
			return true;
		struct pollfd room = { .fd = REPLY_FD, .events = POLLOUT };
		poll(&room, 1, -1);
	}
	return false;
}

static void drain_signals(void)
{
	struct signalfd_siginfo information[SIGNALS_MAX];
	if (read(signal_fd, information, sizeof information) < 0 && errno != EAGAIN)
		perror("signalfd");
}

static void loop(void)
{
	bool replies_watched = false;
	/* Whether exits may be waiting: the signal is taken before all of them are. */
	bool behind = false;
	while (wait_for_room(&replies_watched)) {
		int count = epoll_wait(epoll_fd, events, EVENTS_MAX, behind ? 0 : intake_timeout_ms());
		for (int i = 0; i < count; i++) {
			uint32_t what = events[i].data.u32;
			if (what == WATCH_REQUESTS)
				intake_told();
			else if (what == WATCH_REPLIES && (events[i].events & (EPOLLERR | EPOLLHUP)) != 0)
				return;
			else if (what == WATCH_SIGNALS) {
				drain_signals();
				behind = true;
			} else if (what >= WATCH_CHILD && replies_have_room())
				status_arrived(child_at((int)(what - WATCH_CHILD)));
		}
		if (behind) {
			reap();
			behind = !replies_have_room();
		}
		if (!intake_read(&standing))
			return;
	}
}

/*
 * All functions are in our session, which is one party to the fair scheduler where autogroup is on: its nice value, not that of a
 * task, says what they get beside the host's own. Without autogroup there is nothing to set.
 */
static void session_yields(int nice)
{
	char text[16];
	int length = snprintf(text, sizeof text, "%d", nice);
	int file = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (file < 0)
		return;
	if (write(file, text, (size_t)length) < 0)
		perror("/proc/self/autogroup");
	close(file);
}

/* What a program reads that is given no input; before close_range, which takes the rest. */
static void input_from_nothing(void)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
		die("/dev/null");
}

static void prepare(int priority, int session_nice)
{
	standing = (struct standing){ .priority = priority, .root = geteuid() == 0, .pid = getpid() };
	/* Not a terminal's: functions are in our session, see child.c. A leader of a session has one already. */
	if (setsid() < 0 && getsid(0) != standing.pid)
		die("setsid");
	session_yields(session_nice);
	struct sched_param own = { .sched_priority = priority };
	if (sched_setscheduler(0, priority > 0 ? SCHED_FIFO : SCHED_OTHER, &own) != 0)
		die("sched_setscheduler");
	if (fcntl(REQUEST_FD, F_SETFD, FD_CLOEXEC) != 0 || fcntl(REPLY_FD, F_SETFD, FD_CLOEXEC) != 0)
		die("the request and reply sockets");
	input_from_nothing();
	if (syscall(SYS_close_range, REPLY_FD + 1, ~0U, 0) != 0)
		die("close_range");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		die("prctl(PR_SET_CHILD_SUBREAPER)");
	inheritance_prepare(standing.root);
	/*
	 * A child that shares our memory has become its user before it is executed. Not dumpable, it cannot be traced, nor our memory
	 * be written, by another process of that user: uid 0 without capabilities, too. Execve makes the child dumpable again.
	 */
	if (standing.root && prctl(PR_SET_DUMPABLE, 0) != 0)
		die("prctl(PR_SET_DUMPABLE)");
	standing.shares_memory = births_may_share();
	cradles_initialise();
	children_initialise();
	replies_initialise();
	intake_initialise();
	events = shared_take(EVENTS_MAX * sizeof *events);
	sigset_t handled;
	sigemptyset(&handled);
	sigaddset(&handled, SIGCHLD);
	/* A stop by the terminal is the daemon's to handle; we end when it does. */
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGHUP);
	if (sigprocmask(SIG_SETMASK, &handled, NULL) != 0)
		die("sigprocmask");
	signal_fd = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (signal_fd < 0 || epoll_fd < 0)
		die("signalfd or epoll_create1");
	watch(EPOLL_CTL_ADD, REQUEST_FD, EPOLLIN | EPOLLET, WATCH_REQUESTS);
	watch(EPOLL_CTL_ADD, REPLY_FD, 0, WATCH_REPLIES);
	watch(EPOLL_CTL_ADD, signal_fd, EPOLLIN, WATCH_SIGNALS);
}

/* -1: it is none, or not below the limit. */
static int64_t number_below(const char *text, long limit)
{
	char *end;
	long number = strtol(text, &end, 10);
	return *text == '\0' || *end != '\0' || number < 0 || number >= limit ? -1 : number;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--layout") == 0) {
		layout_print();
		return 0;
	}
	struct hello hello = { 0 };
	if (argc == 2 && strcmp(argv[1], "--attached") == 0) {
		hello = attach();
	} else {
		int64_t priority = argc == 5 && strcmp(argv[1], "--priority") == 0 ? number_below(argv[2], 50) : -1;
		int64_t nice = argc == 5 && strcmp(argv[3], "--session-nice") == 0 ? number_below(argv[4], 20) : -1;
		if (priority < 0 || nice < 0) {
			fprintf(stderr, "usage: spawner --priority N (0 to 49) --session-nice M (0 to 19) | --attached | --layout\n");
			return 2;
		}
		hello.priority = (uint32_t)priority;
		hello.session_nice = (uint32_t)nice;
	}
	prepare((int)hello.priority, (int)hello.session_nice);
	struct reply ready = {
		.kind = REPLY_READY, .pid = PROTOCOL_VERSION, .id = (uint64_t)standing.pid, .at_us = monotonic_us()
	};
	reply_send(&ready);
	loop();
	end_all();
	return 0;
}
