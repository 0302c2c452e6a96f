/*
 * Short-lived processes at a rate: one at each absolute deadline, late ones at once, so that the rate holds in the mean. Each works
 * for WORK_US, sleeps until it is LIFE_US old, and exits.
 *
 * It forks at real-time priority, so that the rate holds beside other work too; its children are fair tasks. At most LIVE_MAX of them
 * live at once: on a host that gives them no time the rate falls, instead of the host.
 *
 * Prints one line "PID START_TIME" for each, as soon as it is there.
 */
#include "bench.h"

#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* That of a load generator: above the control plane, below the spawner. */
enum { PRIORITY = 12, LIVE_MAX = 200 };

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
	int live = 0;
	for (int64_t i = 0; i < count; i++) {
		sleep_until_us(start + i * 1000000 / rate);
		while (live > 0 && waitpid(-1, NULL, live < LIVE_MAX ? WNOHANG : 0) > 0)
			live--;
		pid_t pid = fork();
		if (pid < 0)
			fail("fork failed");
		if (pid == 0) {
			die_with_parent();
			int64_t born = clock_us(CLOCK_MONOTONIC);
			work_for(CLOCK_THREAD_CPUTIME_ID, work);
			sleep_until_us(born + life);
			_exit(0);
		}
		live++;
		char line[64];
		int length = snprintf(line, sizeof line, "%d %llu\n", (int)pid, (unsigned long long)start_time_of(pid));
		if (write(1, line, (size_t)length) != length)
			return 1;
	}
	while (wait(NULL) > 0)
		continue;
	return 0;
}
