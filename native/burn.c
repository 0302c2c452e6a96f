/*
 * burn: a workload function that needs an exact amount of CPU time.
 *
 *   burn CPU_MS [--sleep-ms M --at-ms A]... [--threads N] [--fork] [--print-start]
 *   burn --stdin          the same words, read from standard input: one registered function then serves every demand
 *
 * CPU_MS (a decimal number, microsecond resolution) is what the whole process shall have used at its end, start-up included:
 * it stops when its process CPU clock says so, because a trace's "CPU time needed" includes the start-up too. With --threads
 * each of N threads uses an equal share, by its own clock; with --fork a child does the work and the parent waits for it.
 * A sleep of M ms happens once A ms of CPU time have been used (in the first thread only).
 *
 * Reading a CPU clock is a system call. The work between two reads grows or shrinks until it takes 4 to 12 us, so that the
 * end is exact to about 12 us and at most some 5% of the time is spent in the kernel.
 *
 * Prints one JSON line at the end: {"cpuMs":50.004,"startedAtUs":123456}; startedAtUs is CLOCK_MONOTONIC on entry to main.
 * Statically linked and without stdio on the way in, because its start-up is part of every launch that is measured.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPS_MAX = 64, THREADS_MAX = 256, WORDS_MAX = 160, LINE_MAX_BYTES = 4096 };
enum { CHECK_MIN_NS = 4000, CHECK_MAX_NS = 12000 };

struct pause_at {
	int64_t at_ns;
	int64_t length_ns;
};

struct plan {
	int64_t cpu_ns;
	struct pause_at sleeps[SLEEPS_MAX];
	int sleep_count;
	int threads;
	bool in_child;
	bool print_start;
};

static int64_t read_clock(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void fail(const char *reason)
{
	static const char usage[] =
		"usage: burn CPU_MS [--sleep-ms M --at-ms A]... [--threads N] [--fork] [--print-start] | burn --stdin\n";
	if (write(2, reason, strlen(reason)) < 0 || write(2, "\n", 1) < 0 || write(2, usage, sizeof usage - 1) < 0)
		_exit(3);
	_exit(2);
}

/* The result is stored where the compiler must not reason about it, or the loop would be folded away. */
static volatile uint64_t sink;

static void work(uint64_t rounds)
{
	uint64_t value = sink | 1;
	for (uint64_t i = 0; i < rounds; i++)
		value = value * 6364136223846793005u + 1442695040888963407u;
	sink = value;
}

/* Runs until `clock` reads `until_ns`. */
static void burn_until(clockid_t clock, int64_t until_ns)
{
	static _Thread_local uint64_t rounds = 2048;
	int64_t last = read_clock(clock);
	while (last < until_ns) {
		work(rounds);
		int64_t now = read_clock(clock);
		int64_t took = now - last;
		if (took < CHECK_MIN_NS)
			rounds += rounds / 2;
		else if (took > CHECK_MAX_NS && rounds > 64)
			rounds -= rounds / 3;
		last = now;
	}
}

static void sleep_for(int64_t length_ns)
{
	struct timespec left = { .tv_sec = length_ns / 1000000000, .tv_nsec = length_ns % 1000000000 };
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		continue;
}

static void *burn_share(void *argument)
{
	burn_until(CLOCK_THREAD_CPUTIME_ID, *(int64_t *)argument);
	return NULL;
}

static void burn_threads(const struct plan *plan)
{
	pthread_t threads[THREADS_MAX];
	int64_t share = plan->cpu_ns / plan->threads;
	for (int i = 1; i < plan->threads; i++) {
		int error = pthread_create(&threads[i], NULL, burn_share, &share);
		if (error != 0)
			fail("pthread_create failed");
	}
	for (int i = 0; i < plan->sleep_count; i++) {
		burn_until(CLOCK_THREAD_CPUTIME_ID, plan->sleeps[i].at_ns / plan->threads);
		sleep_for(plan->sleeps[i].length_ns);
	}
	burn_until(CLOCK_THREAD_CPUTIME_ID, share);
	for (int i = 1; i < plan->threads; i++)
		pthread_join(threads[i], NULL);
}

static void burn_single(const struct plan *plan)
{
	for (int i = 0; i < plan->sleep_count; i++) {
		burn_until(CLOCK_PROCESS_CPUTIME_ID, plan->sleeps[i].at_ns);
		sleep_for(plan->sleeps[i].length_ns);
	}
	burn_until(CLOCK_PROCESS_CPUTIME_ID, plan->cpu_ns);
}

static void run(const struct plan *plan, int64_t started_ns)
{
	if (plan->threads > 1)
		burn_threads(plan);
	else
		burn_single(plan);
	int64_t used_us = read_clock(CLOCK_PROCESS_CPUTIME_ID) / 1000;
	char line[128];
	int length = snprintf(line, sizeof line, "{\"cpuMs\":%lld.%03lld,\"startedAtUs\":%lld}\n", (long long)(used_us / 1000),
			      (long long)(used_us % 1000), (long long)(started_ns / 1000));
	if (write(1, line, (size_t)length) != length)
		_exit(3);
}

static double number_from(const char *word)
{
	char *end;
	double value = word == NULL ? -1 : strtod(word, &end);
	if (word == NULL || *word == '\0' || *end != '\0' || !(value >= 0 && value <= 1e9))
		fail("a number from 0 to 1e9 is missing or wrong");
	return value;
}

static int by_time(const void *left, const void *right)
{
	int64_t a = ((const struct pause_at *)left)->at_ns;
	int64_t b = ((const struct pause_at *)right)->at_ns;
	return (a > b) - (a < b);
}

static void parse(struct plan *plan, int count, char **words)
{
	int ats = 0;
	plan->threads = 1;
	if (count == 0)
		fail("CPU_MS is missing");
	plan->cpu_ns = (int64_t)(number_from(words[0]) * 1e6);
	for (int i = 1; i < count; i++) {
		char *value = i + 1 < count ? words[i + 1] : NULL;
		if (strcmp(words[i], "--fork") == 0) {
			plan->in_child = true;
			continue;
		}
		if (strcmp(words[i], "--print-start") == 0) {
			plan->print_start = true;
			continue;
		}
		double number = number_from(value);
		i++;
		if (strcmp(words[i - 1], "--threads") == 0 && number >= 1 && number <= THREADS_MAX)
			plan->threads = (int)number;
		else if (strcmp(words[i - 1], "--sleep-ms") == 0 && plan->sleep_count < SLEEPS_MAX)
			plan->sleeps[plan->sleep_count++].length_ns = (int64_t)(number * 1e6);
		else if (strcmp(words[i - 1], "--at-ms") == 0 && ats < SLEEPS_MAX)
			plan->sleeps[ats++].at_ns = (int64_t)(number * 1e6);
		else
			fail("an option is unknown, or out of its bounds");
	}
	if (ats != plan->sleep_count)
		fail("each --sleep-ms needs its --at-ms");
	qsort(plan->sleeps, (size_t)plan->sleep_count, sizeof plan->sleeps[0], by_time);
}

/* Splits the first line of standard input into words; the rest of the input is ignored. */
static int read_words(char *line, char **words)
{
	size_t length = 0;
	ssize_t got;
	while (length < LINE_MAX_BYTES && memchr(line, '\n', length) == NULL &&
	       (got = read(0, line + length, LINE_MAX_BYTES - length)) > 0)
		length += (size_t)got;
	line[length] = '\0';
	char *end = strchr(line, '\n');
	if (end != NULL)
		*end = '\0';
	int count = 0;
	for (char *word = strtok(line, " \t\r"); word != NULL && count < WORDS_MAX; word = strtok(NULL, " \t\r"))
		words[count++] = word;
	return count;
}

static void print_start(int64_t started_ns)
{
	char line[64];
	int length = snprintf(line, sizeof line, "{\"startedAtUs\":%lld}\n", (long long)(started_ns / 1000));
	if (write(1, line, (size_t)length) != length)
		_exit(3);
}

int main(int argc, char **argv)
{
	int64_t started_ns = read_clock(CLOCK_MONOTONIC);
	struct plan plan = { .threads = 1 };
	char line[LINE_MAX_BYTES + 1];
	char *words[WORDS_MAX];
	if (argc == 2 && strcmp(argv[1], "--stdin") == 0)
		parse(&plan, read_words(line, words), words);
	else
		parse(&plan, argc - 1, argv + 1);
	if (plan.print_start)
		print_start(started_ns);
	if (!plan.in_child) {
		run(&plan, started_ns);
		return 0;
	}
	pid_t child = fork();
	if (child < 0)
		fail("fork failed");
	if (child == 0) {
		run(&plan, started_ns);
		_exit(0);
	}
	int status;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
