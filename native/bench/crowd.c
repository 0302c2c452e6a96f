/*
 * Many processes of the same kind, to be observed. With a period each thread works a little once a period, so that its CPU clock
 * has moved at every poll, or never stops when the work is longer than the period (the whole crowd is nice 19); with period 0 each
 * sleeps for good, and only its state says so.
 *
 * Prints one line "PID START_TIME" for each process, once all its threads are there; ends when standard input does.
 */
#include "bench.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT_MAX = 512, THREADS_MAX = 64, STACK_BYTES = 65536 };

static int64_t period_us;
static int64_t work_us;

static void live(void)
{
	while (period_us == 0)
		pause();
	/* Not all at once: they would wait for each other. */
	int64_t at = clock_us(CLOCK_MONOTONIC) + (int64_t)gettid() * 131 % period_us;
	for (;;) {
		sleep_until_us(at);
		work_for(CLOCK_THREAD_CPUTIME_ID, work_us);
		int64_t now = clock_us(CLOCK_MONOTONIC);
		at = at + period_us > now ? at + period_us : now + period_us;
	}
}

static void *member(void *unused)
{
	live();
	return unused;
}

static void run_process(int threads, int report)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (int i = 1; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &small, member, NULL) != 0)
			fail("a thread cannot be made");
	}
	if (write(report, "r", 1) != 1)
		_exit(1);
	live();
}

int crowd(char **arguments)
{
	static pid_t pids[COUNT_MAX];
	int count = (int)number_at(arguments, 0, 1, COUNT_MAX);
	int threads = (int)number_at(arguments, 1, 1, THREADS_MAX);
	period_us = number_at(arguments, 2, 0, 10000000);
	work_us = number_at(arguments, 3, 0, 1000000);
	int life_ms = (int)number_at(arguments, 4, 1, 600000);
	int report[2];
	if (pipe(report) != 0)
		fail("no pipe");
	if (nice(19) == -1)
		fail("nice failed");
	for (int i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			fail("fork failed");
		if (pids[i] == 0) {
			die_with_parent();
			run_process(threads, report[1]);
		}
	}
	for (int i = 0; i < count; i++) {
		char byte;
		if (read(report[0], &byte, 1) != 1)
			fail("a process did not start");
	}
	for (int i = 0; i < count; i++)
		printf("%d %llu\n", (int)pids[i], (unsigned long long)start_time_of(pids[i]));
	fflush(stdout);

	struct pollfd input = { .fd = 0, .events = POLLIN };
	poll(&input, 1, life_ms);
	for (int i = 0; i < count; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < count; i++)
		waitpid(pids[i], NULL, 0);
	return 0;
}
