/*
 * Where the spawner keeps what it writes while it runs: one shared anonymous mapping, handed out once at start.
 *
 * Most children share our memory until they are executed, and cost us no fault (birth.c). Those under a memory limit are forked, and
 * after a fork every private page that parent or child writes costs a page fault and a copy, in both of them. Shared pages do not:
 * the kernel does not even copy their page tables. Only the requests are private (cradles.c): a forked child reads its own while we
 * read the next one.
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
