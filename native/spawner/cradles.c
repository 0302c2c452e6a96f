/*
 * Cradles: what a child that shares our memory lives in until execve gives it a memory of its own. Each holds the request that the
 * child still reads and the stack that it runs on; nobody else touches either meanwhile.
 *
 *   launches   │ 0 │ 1 │ … │ CRADLES_MAX - 1 │ spare │           the spare is for children that get a copy of everything
 *   stacks     │ guard │ 0 │ guard │ 1 │ …                        each grows down, towards its guard page
 *
 * The last cradle given back is the first taken, so that few pages are in use and all of them are warm. The stacks are left out of
 * forks (MADV_DONTFORK): who forks is on the spawner's own stack, and copying that many mappings would take longer.
 */
#include "spawner.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

/* The child's frames take 6 KiB at most, 4 of them for a path; it calls nothing that recurs, and no signal has a handler. */
enum { CRADLES_MAX = 32, STACK_BYTES_MIN = 16 * 1024 };

static struct launch *launches;
static char *stacks;
static size_t guard_bytes;
static size_t stack_bytes;

static struct {
	int count;
	int8_t numbers[CRADLES_MAX];
} *unused;

static void *pages(size_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		die("mmap");
	return start;
}

void cradles_initialise(void)
{
	guard_bytes = (size_t)sysconf(_SC_PAGESIZE);
	stack_bytes = guard_bytes > STACK_BYTES_MIN ? guard_bytes : STACK_BYTES_MIN;
	launches = pages((CRADLES_MAX + 1) * sizeof *launches);
	stacks = pages(CRADLES_MAX * (guard_bytes + stack_bytes));
	if (madvise(stacks, CRADLES_MAX * (guard_bytes + stack_bytes), MADV_DONTFORK) != 0)
		die("madvise");
	unused = shared_take(sizeof *unused);
	for (int8_t number = CRADLES_MAX - 1; number >= 0; number--) {
		if (mprotect(stacks + (size_t)number * (guard_bytes + stack_bytes), guard_bytes, PROT_NONE) != 0)
			die("mprotect");
		cradle_give_back(number);
	}
}

int cradles_unused(void)
{
	return unused->count;
}

int cradle_take(void)
{
	return unused->count == 0 ? CRADLE_NONE : unused->numbers[--unused->count];
}

void cradle_give_back(int number)
{
	if (number == CRADLE_NONE)
		return;
	assert(unused->count < CRADLES_MAX);
	unused->numbers[unused->count++] = (int8_t)number;
}

struct launch *cradle_launch(int number)
{
	return &launches[number == CRADLE_NONE ? CRADLES_MAX : number];
}

struct stack cradle_stack(int number)
{
	assert(number != CRADLE_NONE);
	return (struct stack){ .start = stacks + (size_t)number * (guard_bytes + stack_bytes) + guard_bytes, .bytes = stack_bytes };
}
