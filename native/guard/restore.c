/*
 * One task becomes what it was before the daemon touched it, in the order that src/linux/task-promoter.ts has: policy, nice value,
 * slice, CPUs, and last its cpu group, because the kernel refuses to move a real-time thread to a group without a budget.
 */
#include "guard.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct scheduling {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

bool is_ours(pid_t tid, uint32_t priority)
{
	int policy = sched_getscheduler(tid);
	struct sched_param parameter;
	if (policy < 0 || sched_getparam(tid, &parameter) != 0)
		return false;
	policy &= ~SCHED_RESET_ON_FORK;
	return (policy == SCHED_FIFO || policy == SCHED_RR) && (uint32_t)parameter.sched_priority == priority;
}

/* sched_setscheduler sets the slice to its default; one that was chosen is put back. */
static void restore_slice(pid_t tid, uint64_t runtime_ns)
{
	struct scheduling now = { .size = sizeof now };
	if (syscall(SYS_sched_getattr, tid, &now, sizeof now, 0) != 0 || now.runtime == runtime_ns)
		return;
	now.runtime = runtime_ns;
	syscall(SYS_sched_setattr, tid, &now, 0);
}

static bool restore_policy(const struct journal_entry *entry, pid_t tid, struct tally *tally)
{
	struct sched_param none = { .sched_priority = 0 };
	if (sched_setscheduler(tid, (int)entry->policy, &none) == 0)
		return true;
	if (errno != ESRCH)
		tally->refused++;
	return false;
}

static bool is_fair(pid_t tid)
{
	int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
	return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

/* Ahead of others under the fair scheduler. The slice first: the kernel leaves that of a task alone that becomes SCHED_IDLE. */
static void restore_fair(const struct journal_entry *entry, pid_t tid, struct tally *tally)
{
	restore_slice(tid, entry->runtime_ns);
	if (restore_policy(entry, tid, tally))
		setpriority(PRIO_PROCESS, (id_t)tid, entry->nice);
	restore_slice(tid, entry->runtime_ns);
}

/* False: it is no task that this entry speaks of, or the entry was written while it was copied. Tids 0 and 1 are never ours. */
static bool take_copy(const struct journal_entry *shared, struct journal_entry *entry)
{
	*entry = *shared;
	if (entry->state != ENTRY_HELD || __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE) != ENTRY_HELD || entry->tid <= 1)
		return false;
	if (shared->tid != entry->tid || shared->start_time != entry->start_time)
		return false;
	return start_time_of((pid_t)entry->pid, (pid_t)entry->tid) == entry->start_time;
}

void restore_scheduling(const struct journal_header *journal __attribute__((unused)), const struct journal_entry *shared,
			struct tally *tally)
{
	struct journal_entry entry;
	if (!take_copy(shared, &entry))
		return;
	pid_t tid = (pid_t)entry.tid;
	if (is_ours(tid, entry.priority)) {
		if (restore_policy(&entry, tid, tally))
			tally->demoted++;
		if ((entry.flags & ENTRY_NICE) != 0)
			setpriority(PRIO_PROCESS, (id_t)tid, entry.nice);
		restore_slice(tid, entry.runtime_ns);
	} else if ((entry.flags & ENTRY_NICE) != 0 && is_fair(tid)) {
		restore_fair(&entry, tid, tally);
	}
	if ((entry.flags & ENTRY_BOUND) != 0)
		sched_setaffinity(tid, AFFINITY_BYTES, (const cpu_set_t *)entry.affinity);
}

void restore_home(const struct journal_header *journal, const struct journal_entry *shared, struct tally *tally)
{
	struct journal_entry entry;
	if ((shared->flags & ENTRY_MOVED) == 0 || !take_copy(shared, &entry))
		return;
	entry.home[HOME_BYTES - 1] = '\0';
	if (is_away(journal, (pid_t)entry.tid, entry.home) && move_home(journal, (pid_t)entry.tid, entry.home))
		tally->moved++;
}
