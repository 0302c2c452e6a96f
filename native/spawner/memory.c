/*
 * Where the spawner keeps what it writes while it runs: one shared anonymous mapping, handed out once at start.
 *
 * After a fork every private page that parent or child writes costs a page fault and a copy, in both of them, at each launch.
 * Shared pages do not: the kernel does not even copy their page tables. Only the request stays private: the child reads it while
 * we read the next one. Measured where a fault costs 40 us (a nested virtual machine): it takes a third off the spawner's CPU time.
 *
 * Rejected: CLONE_VM, which has no faults at all. While a child still shares our memory, the kernel's out-of-memory killer, called
 * for the child's memory cgroup, kills everyone who shares it: a function with a small limit could end the spawner.
 */
#include "spawner.h"

#include <assert.h>
#include <sys/mman.h>

enum { SHARED_BYTES = 4 * 1024 * 1024, ALIGNMENT = 64 };

void *shared_take(size_t bytes)
{
	static char *start;
	static size_t taken;
	if (start == NULL) {
		start = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (start == MAP_FAILED)
			die("mmap");
	}
	void *part = start + taken;
	taken += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	assert(taken <= SHARED_BYTES);
	return part;
}
