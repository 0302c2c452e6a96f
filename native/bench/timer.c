/*
 * The host's own timers: a real-time thread above all of sfsd's, bound to one core, that sleeps from deadline to deadline and says how
 * late it ever woke. Whatever it sees is nobody's work: on a virtual machine its core was taken away.
 *
 * Prints {"waits":N,"lateMaxUs":N}.
 */
#include "bench.h"

#include <sched.h>
#include <stdio.h>

/* Below the kernel's own threads (50), above the guard (30). */
enum { PRIORITY = 45, PERIOD_US = 4000, WAITS_MAX = 1000000 };

int timer(char **arguments)
{
	int64_t waits = number_at(arguments, 0, 1, (int64_t)WAITS_MAX * PERIOD_US / 1000) * 1000 / PERIOD_US;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET((int)number_at(arguments, 1, 0, CPU_SETSIZE - 1), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
		fail("the core cannot be chosen");
	struct sched_param parameter = { .sched_priority = PRIORITY };
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) != 0)
		fail("real-time is denied");

	int64_t late_max = 0;
	int64_t due = clock_us(CLOCK_MONOTONIC);
	for (int64_t wait = 0; wait < waits; wait++) {
		due += PERIOD_US;
		sleep_until_us(due);
		int64_t now = clock_us(CLOCK_MONOTONIC);
		if (now - due > late_max)
			late_max = now - due;
		if (now > due)
			due = now;
	}
	printf("{\"waits\":%lld,\"lateMaxUs\":%lld}\n", (long long)waits, (long long)late_max);
	return 0;
}
