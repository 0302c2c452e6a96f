/*
 * The table of children, found by pid (exits) and by id (kills): an array of slots with two chained hashes over it.
 * Slots are handed out lowest first, so that a host with few functions touches few pages, and forks copy few.
 */
#include "spawner.h"

#include <assert.h>

enum { BUCKETS = 1024 };

static struct {
	int count;
	int32_t free_first;
	/* Slots from here on were never used. */
	int32_t fresh_first;
	int32_t by_pid[BUCKETS];
	int32_t by_id[BUCKETS];
	struct child slots[CHILDREN_MAX];
} *table;

static unsigned bucket(uint64_t key)
{
	return (unsigned)(key % BUCKETS);
}

void children_initialise(void)
{
	table = shared_take(sizeof *table);
	for (int i = 0; i < BUCKETS; i++)
		table->by_pid[i] = table->by_id[i] = -1;
	table->free_first = -1;
}

int children_count(void)
{
	return table->count;
}

struct child *child_at(int index)
{
	assert(index >= 0 && index < CHILDREN_MAX);
	return &table->slots[index];
}

int child_index(const struct child *child)
{
	return (int)(child - table->slots);
}

struct child *child_add(const struct child *born)
{
	assert(table->count < CHILDREN_MAX);
	int32_t index = table->free_first >= 0 ? table->free_first : table->fresh_first++;
	struct child *child = &table->slots[index];
	if (table->free_first >= 0)
		table->free_first = child->next_by_pid;
	*child = *born;
	child->next_by_pid = table->by_pid[bucket((uint64_t)child->pid)];
	table->by_pid[bucket((uint64_t)child->pid)] = index;
	child->next_by_id = table->by_id[bucket(child->id)];
	table->by_id[bucket(child->id)] = index;
	table->count++;
	return child;
}

struct child *child_by_pid(pid_t pid)
{
	for (int32_t index = table->by_pid[bucket((uint64_t)pid)]; index >= 0; index = table->slots[index].next_by_pid)
		if (table->slots[index].pid == pid)
			return &table->slots[index];
	return NULL;
}

struct child *child_by_id(uint64_t id)
{
	for (int32_t index = table->by_id[bucket(id)]; index >= 0; index = table->slots[index].next_by_id)
		if (table->slots[index].id == id)
			return &table->slots[index];
	return NULL;
}

void child_remove(struct child *child)
{
	int32_t index = child_index(child);
	int32_t *link = &table->by_pid[bucket((uint64_t)child->pid)];
	while (*link != index)
		link = &table->slots[*link].next_by_pid;
	*link = child->next_by_pid;
	link = &table->by_id[bucket(child->id)];
	while (*link != index)
		link = &table->slots[*link].next_by_id;
	*link = child->next_by_id;
	child->state = CHILD_FREE;
	child->next_by_pid = table->free_first;
	table->free_first = index;
	table->count--;
}

void children_each(void (*visit)(struct child *child))
{
	for (int32_t index = 0; index < table->fresh_first; index++)
		if (table->slots[index].state != CHILD_FREE)
			visit(&table->slots[index]);
}
