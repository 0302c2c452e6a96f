/*
 * The spawner's parts, and what they share. One thread, no allocation after start: everything is a
 * bounded array.
 *
 *   main.c         start-up, the epoll loop, the end
 *   inheritance.c  what all children inherit
 *   requests.c     takes one message apart
 *   birth.c        the fork
 *   child.c        what happens between fork and execve, in the child
 *   children.c     the table of children that live or are not yet reaped
 *   replies.c      the bounded queue of replies
 *   memory.c       where all of that is kept
 *   layout.c       the protocol's layout as text
 */
#ifndef SFSD_SPAWNER_H
#define SFSD_SPAWNER_H

#include "protocol.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * A LAUNCH taken apart; all pointers point into it or into the message, and live until the next one is read. The lists lie one
 * behind the other, so that a usual request is one page of this and one of the message.
 */
struct launch {
	struct request_header header;
	const struct request_limit *limits;
	const char *directory;
	/* Both end with NULL. */
	char **arguments;
	char **environment;
	char **cgroups;
	/* A cgroup2 directory; empty: none. */
	const char *birthplace;
	int files[3];
	char *texts[ARGUMENTS_MAX + 1 + ENVIRONMENT_MAX + 1 + CGROUPS_MAX];
};

/* What a child says through the status pipe when it fails; nothing at all when execve closed the pipe. */
struct failure {
	uint32_t stage;
	uint32_t error_number;
};

/* How the spawner itself stands, decided once at start. */
struct standing {
	/* 0: SCHED_OTHER, and so are the children from birth. */
	int priority;
	bool root;
	/* Whether our own oom_score_adj is not 0, so that each child must reset it. */
	bool reset_oom;
	pid_t pid;
};

/* requests.c */
enum message { MESSAGE_NONE, MESSAGE_END, MESSAGE_LAUNCH, MESSAGE_KILL, MESSAGE_INVALID };
enum message request_receive(struct launch *into);
void launch_close_files(struct launch *launch);

/* birth.c. -1: errno and `*stage` say why. */
pid_t birth(const struct launch *launch, const struct standing *standing, int status_fd, enum stage *stage);

/* child.c. `join_fd`: the birthplace, when the child could not be born there and must join it; -1: it need not. */
_Noreturn void child_run(const struct launch *launch, const struct standing *standing, int status_fd, int join_fd);

/* children.c */
enum child_state { CHILD_FREE, CHILD_STARTING, CHILD_RUNNING };
struct child {
	uint64_t id;
	pid_t pid;
	int32_t nice;
	int status_fd;
	enum child_state state;
	struct failure failure;
	/* Next in the bucket, or next free; -1 ends it. */
	int32_t next_by_pid;
	int32_t next_by_id;
};
void children_initialise(void);
int children_count(void);
struct child *child_at(int index);
int child_index(const struct child *child);
struct child *child_add(uint64_t id, pid_t pid, int32_t nice, int status_fd);
struct child *child_by_pid(pid_t pid);
struct child *child_by_id(uint64_t id);
void child_remove(struct child *child);
void children_each(void (*visit)(struct child *child));

/* memory.c. Zeroed, never given back. */
void *shared_take(size_t bytes);

/* replies.c */
void replies_initialise(void);
bool replies_have_room(void);
void reply_send(const struct reply *reply);
/* False: the daemon is gone. `*blocked` says whether some bytes wait for the socket. */
bool replies_flush(bool *blocked);

/* inheritance.c */
void inheritance_prepare(bool root);
bool own_oom_score_is_set(void);

/* layout.c */
void layout_print(void);

/* main.c */
uint64_t monotonic_us(void);
_Noreturn void die(const char *call);

#endif
