/*
 * Moving a thread to another cgroup waits for an RCU grace period, and the kernel threads that drive one are SCHED_OTHER: on a full host 0.5 s
 * was seen (src/linux/grace-period-threads.ts has more). They are found at start, and stand above all while tasks are moved home.
 */
#include "guard.h"

#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 8, FILE_NAME_MAX = 64, KTHREADD = 2 };

static const char *const names[] = { "rcu_preempt", "rcu_sched", "rcu_exp_gp", "rcu_exp_par_gp" };

static pid_t found[THREADS_MAX];
static bool raised[THREADS_MAX];
static int found_count;

static bool is_wanted(pid_t pid)
{
	char path[FILE_NAME_MAX];
	char name[FILE_NAME_MAX] = "";
	pid_t process, parent;
	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	FILE *comm = fopen(path, "re");
	if (comm == NULL)
		return false;
	bool read = fgets(name, sizeof name, comm) != NULL;
	fclose(comm);
	for (size_t index = 0; read && index < sizeof names / sizeof *names; index++)
		if (strncmp(name, names[index], strlen(names[index])) == 0)
			return relatives_of(pid, &process, &parent) && parent == KTHREADD;
	return false;
}

void grace_find(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *process;
	while (processes != NULL && found_count < THREADS_MAX && (process = readdir(processes)) != NULL) {
		pid_t pid = isdigit((unsigned char)process->d_name[0]) ? (pid_t)atoi(process->d_name) : 0;
		if (pid > KTHREADD && is_wanted(pid))
			found[found_count++] = pid;
	}
	if (processes != NULL)
		closedir(processes);
}

void grace_hurry(void)
{
	struct sched_param own;
	if (sched_getscheduler(0) == SCHED_OTHER || sched_getparam(0, &own) != 0)
		return;
	for (int index = 0; index < found_count; index++)
		raised[index] = sched_getscheduler(found[index]) == SCHED_OTHER &&
				sched_setscheduler(found[index], SCHED_FIFO, &own) == 0;
}

void grace_rest(void)
{
	struct sched_param none = { .sched_priority = 0 };
	for (int index = 0; index < found_count; index++) {
		if (raised[index])
			sched_setscheduler(found[index], SCHED_OTHER, &none);
		raised[index] = false;
	}
}
