/*
 * The table of children, found by pid (exits) and by id (kills): an array of slots with two chained hashes over it.
 * Slots are handed out lowest first, so that a host with few functions touches few pages, and forks copy few.
 */
#include "spawner.h"

#include <assert.h>

enum { BUCKETS = 1024 };

static struct child children[CHILDREN_MAX];
static int32_t by_pid[BUCKETS];
static int32_t by_id[BUCKETS];
static int32_t free_first;
/* Slots from here on were never used. */
static int32_t fresh_first;
static int count;

static unsigned bucket(uint64_t key)
{
	return (unsigned)(key % BUCKETS);
}

void children_initialise(void)
{
	for (int i = 0; i < BUCKETS; i++)
		by_pid[i] = by_id[i] = -1;
	free_first = -1;
}

int children_count(void)
{
	return count;
}

struct child *child_at(int index)
{
	assert(index >= 0 && index < CHILDREN_MAX);
	return &children[index];
}

int child_index(const struct child *child)
{
	return (int)(child - children);
}

struct child *child_add(uint64_t id, pid_t pid, int32_t nice, int status_fd)
{
	assert(count < CHILDREN_MAX);
	int32_t index = free_first >= 0 ? free_first : fresh_first++;
	struct child *child = &children[index];
	if (free_first >= 0)
		free_first = child->next_by_pid;
	*child = (struct child){ .id = id, .pid = pid, .nice = nice, .status_fd = status_fd, .state = CHILD_STARTING };
	child->next_by_pid = by_pid[bucket((uint64_t)pid)];
	by_pid[bucket((uint64_t)pid)] = index;
	child->next_by_id = by_id[bucket(id)];
	by_id[bucket(id)] = index;
	count++;
	return child;
}

struct child *child_by_pid(pid_t pid)
{
	for (int32_t index = by_pid[bucket((uint64_t)pid)]; index >= 0; index = children[index].next_by_pid)
		if (children[index].pid == pid)
			return &children[index];
	return NULL;
}

struct child *child_by_id(uint64_t id)
{
	for (int32_t index = by_id[bucket(id)]; index >= 0; index = children[index].next_by_id)
		if (children[index].id == id)
			return &children[index];
	return NULL;
}

void child_remove(struct child *child)
{
	int32_t index = child_index(child);
	int32_t *link = &by_pid[bucket((uint64_t)child->pid)];
	while (*link != index)
		link = &children[*link].next_by_pid;
	*link = child->next_by_pid;
	link = &by_id[bucket(child->id)];
	while (*link != index)
		link = &children[*link].next_by_id;
	*link = child->next_by_id;
	child->state = CHILD_FREE;
	child->next_by_pid = free_first;
	free_first = index;
	count--;
}

void children_each(void (*visit)(struct child *child))
{
	for (int32_t index = 0; index < fresh_first; index++)
		if (children[index].state != CHILD_FREE)
			visit(&children[index]);
}
