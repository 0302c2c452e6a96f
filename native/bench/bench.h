/*
 * bench: the processes that the benchmark measures on. One program, so that one build rule serves them all.
 *
 *   bench progress MS CPU                      a fair task on one core: how long it ever stood still
 *   bench naps COUNT BURN_US SLEEP_US          a function that says when it slept and when it was due to wake
 *   bench crowd COUNT THREADS PERIOD_US WORK_US MS   many processes to be observed
 *   bench forks RATE COUNT WORK_US LIFE_US     short-lived processes at a rate, from absolute deadlines
 *   bench timer MS CPU                         how late the host's own timers are on one core
 *
 * Each ends by itself, and each dies with whoever started it: nothing is left behind on a host that is being measured.
 * Instants are microseconds on CLOCK_MONOTONIC.
 */
#ifndef SFSD_BENCH_H
#define SFSD_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

int64_t clock_us(clockid_t clock);

/* Works until `clock`, a CPU clock of the caller's, has advanced by `length_us`. */
void work_for(clockid_t clock, int64_t length_us);

void sleep_until_us(int64_t at_us);

/* Field 22 of /proc/PID/stat; 0 when the process is gone. */
uint64_t start_time_of(pid_t pid);

/* SIGKILL when the parent thread ends. */
void die_with_parent(void);

void fail(const char *reason) __attribute__((noreturn));

int progress(char **arguments);
int naps(char **arguments);
int crowd(char **arguments);
int forks(char **arguments);
int timer(char **arguments);

/* The number in `arguments[index]`; ends the program when it is none, or out of its bounds. */
int64_t number_at(char **arguments, int index, int64_t min, int64_t max);

#endif
