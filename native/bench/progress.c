/*
 * A task under the fair scheduler, bound to one core. Whenever it has worked for 0.1 ms it looks at the time; the longest it ever
 * took from one look to the next is how long it stood still. A last look after the end counts too: it may have been starved then.
 *
 * Prints {"steps":N,"gapMaxUs":N,"gapP99Us":N}; the 99th percentile is of the longest gap in each 200 ms.
 */
#include "bench.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEP_US = 100, WINDOW_US = 200000, WINDOWS_MAX = 4096 };

static int64_t gaps[WINDOWS_MAX];

static int by_size(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left;
	int64_t b = *(const int64_t *)right;
	return (a > b) - (a < b);
}

int progress(char **arguments)
{
	int64_t length = number_at(arguments, 0, 1, (int64_t)WINDOWS_MAX * WINDOW_US / 1000) * 1000;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET((int)number_at(arguments, 1, 0, CPU_SETSIZE - 1), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
		fail("the core cannot be chosen");

	int64_t start = clock_us(CLOCK_MONOTONIC);
	int64_t last = start;
	int64_t steps = 0;
	int windows = 1;
	while (last - start < length) {
		work_for(CLOCK_THREAD_CPUTIME_ID, STEP_US);
		int64_t now = clock_us(CLOCK_MONOTONIC);
		int window = (int)((now - start) / WINDOW_US);
		if (window >= WINDOWS_MAX)
			window = WINDOWS_MAX - 1;
		if (now - last > gaps[window])
			gaps[window] = now - last;
		if (window >= windows)
			windows = window + 1;
		last = now;
		steps++;
	}
	qsort(gaps, (size_t)windows, sizeof gaps[0], by_size);
	printf("{\"steps\":%lld,\"gapMaxUs\":%lld,\"gapP99Us\":%lld}\n", (long long)steps, (long long)gaps[windows - 1],
	       (long long)gaps[(windows - 1) * 99 / 100]);
	return 0;
}
