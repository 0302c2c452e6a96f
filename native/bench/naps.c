/*
 * A function that works and sleeps in turn, and says when: [at the call that sleeps, when its timer was due] for each nap.
 *
 * The second is not when it ran again: a fair task on a full host may wait for a core, and what is measured is how soon the
 * daemon sees that it is runnable. Lengths vary, or naps would keep step with the daemon's polls.
 *
 * Prints {"naps":[[sleptAtUs,wokenAtUs],...]}.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { NAPS_MAX = 1024, VARIATION_US = 8000, STRIDE_US = 977, TIMER_SLACK_NS = 1 };

int naps(char **arguments)
{
	static int64_t times[NAPS_MAX][2];
	int count = (int)number_at(arguments, 0, 1, NAPS_MAX);
	int64_t burn = number_at(arguments, 1, 1, 1000000);
	int64_t sleep = number_at(arguments, 2, 1, 1000000);
	/* Fair tasks' timers may fire 50 us late otherwise. */
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
	for (int i = 0; i < count; i++) {
		work_for(CLOCK_THREAD_CPUTIME_ID, burn);
		int64_t now = clock_us(CLOCK_MONOTONIC);
		int64_t until = now + sleep + (now + (int64_t)i * STRIDE_US) % VARIATION_US;
		times[i][0] = now;
		times[i][1] = until;
		sleep_until_us(until);
	}
	printf("{\"naps\":[");
	for (int i = 0; i < count; i++)
		printf("%s[%lld,%lld]", i == 0 ? "" : ",", (long long)times[i][0], (long long)times[i][1]);
	printf("]}\n");
	return 0;
}
