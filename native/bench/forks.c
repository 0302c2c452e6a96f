/*
 * Short-lived processes at a rate: one at each absolute deadline, late ones at once, so that the rate holds in the mean. Each works
 * for WORK_US, sleeps until it is LIFE_US old, and exits.
 *
 * It forks at real-time priority, so that the rate holds beside other work too; its children are fair tasks. At most LIVE_MAX of them
 * live at once: on a host that gives them no time the rate falls, instead of the host.
 *
 * A child shares this program's memory (CLONE_VM) and has a stack of its own: what is measured is the daemon, and copying memory at
 * this rate would leave it half of a small host.
 *
 * Prints one line "PID START_TIME" for each, as soon as it is there.
 */
#include "bench.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* That of a load generator: above the control plane, below the spawner. */
enum { PRIORITY = 12, LIVE_MAX = 200, STACK_BYTES = 16384 };

struct slot {
	pid_t pid;
	int64_t work;
	int64_t life;
	_Alignas(16) char stack[STACK_BYTES];
};

static struct slot slots[LIVE_MAX];

static int live_for_a_while(void *argument)
{
	const struct slot *slot = argument;
	die_with_parent();
	int64_t born = clock_us(CLOCK_MONOTONIC);
	work_for(CLOCK_THREAD_CPUTIME_ID, slot->work);
	sleep_until_us(born + slot->life);
	_exit(0);
}

/* One that nobody uses; waits for a child to end when there is none. */
static struct slot *free_slot(void)
{
	static int live;
	pid_t ended;
	while (live > 0 && (ended = waitpid(-1, NULL, live < LIVE_MAX ? WNOHANG : 0)) > 0) {
		for (int i = 0; i < LIVE_MAX; i++)
			if (slots[i].pid == ended)
				slots[i].pid = 0;
		live--;
	}
	int i = 0;
	while (slots[i].pid != 0)
		i++;
	live++;
	return &slots[i];
}

int forks(char **arguments)
{
	int64_t rate = number_at(arguments, 0, 1, 100000);
	int64_t count = number_at(arguments, 1, 1, 10000000);
	int64_t work = number_at(arguments, 2, 0, 1000000);
	int64_t life = number_at(arguments, 3, 0, 10000000);
	struct sched_param priority = { .sched_priority = PRIORITY };
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) != 0)
		fail("real-time priority is not permitted");
	int64_t start = clock_us(CLOCK_MONOTONIC);
	for (int64_t i = 0; i < count; i++) {
		sleep_until_us(start + i * 1000000 / rate);
		struct slot *slot = free_slot();
		slot->work = work;
		slot->life = life;
		pid_t pid = clone(live_for_a_while, slot->stack + STACK_BYTES, CLONE_VM | SIGCHLD, slot);
		if (pid < 0)
			fail("clone failed");
		slot->pid = pid;
		char line[64];
		int length = snprintf(line, sizeof line, "%d %llu\n", (int)pid, (unsigned long long)start_time_of(pid));
		if (write(1, line, (size_t)length) != length)
			return 1;
	}
	while (wait(NULL) > 0)
		continue;
	return 0;
}
