/*
 * The spawner's parts, and what they share. One thread, no allocation after start: everything is a
 * bounded array.
 *
 *   main.c         start-up, the epoll loop, the end
 *   attach.c       takes over a connection that a service manager accepted
 *   inheritance.c  what all children inherit
 *   requests.c     takes one message apart
 *   intake.c       reads requests and starts children
 *   birth.c        the birth of a child, sharing our memory or forked
 *   cradles.c      the stacks and requests of children that share our memory
 *   raw.h          system calls that leave our memory alone
 *   child.c        what happens between fork and execve, in the child
 *   children.c     the table of children that live or are not yet reaped
 *   replies.c      the bounded queue of replies
 *   processes.c    what the kernel knows of a child, and signals to it
 *   memory.c       where all of that is kept
 *   layout.c       the protocol's layout as text
 */
#ifndef SFSD_SPAWNER_H
#define SFSD_SPAWNER_H

#include "protocol.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * A LAUNCH, and the same taken apart: all pointers point into it. Only request_receive writes to it: from then on a child may be
 * reading it. The lists lie one behind the other, so that a usual request is one page of them and one of the message.
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
	/* Standard input, output and error; -1 for an input that is ours, /dev/null. */
	int files[3];
	char *texts[ARGUMENTS_MAX + 1 + ENVIRONMENT_MAX + 1 + CGROUPS_MAX];
	_Alignas(4096) char message[REQUEST_BYTES_MAX];
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
	/* Whether children may share our memory until execve. */
	bool shares_memory;
	pid_t pid;
};

/* What a child is told at its birth. */
struct newborn {
	const struct launch *launch;
	const struct standing *standing;
	int status_fd;
	/* The birthplace, when the child could not be born there and must join it; -1: it need not. */
	int join_fd;
};

/* requests.c */
enum message { MESSAGE_NONE, MESSAGE_END, MESSAGE_LAUNCH, MESSAGE_KILL, MESSAGE_INVALID };
enum message request_receive(struct launch *into);
void launch_close_files(const struct launch *launch);

/* birth.c. Below 0: -errno, and `*stage` says where. CRADLE_NONE: a fork; else the cradle in which `launch` lies. */
pid_t birth(const struct launch *launch, const struct standing *standing, int status_fd, int cradle, enum stage *stage);
bool births_may_share(void);

/* child.c. `told`: a struct newborn. Never returns. */
void child_run(void *told);

/* cradles.c */
enum { CRADLE_NONE = -1, STACK_ALIGNMENT = 16 };
struct stack {
	char *start;
	size_t bytes;
};
void cradles_initialise(void);
int cradles_unused(void);
/* CRADLE_NONE when all are in use. */
int cradle_take(void);
/* Only once its child has a memory of its own, or none any more. CRADLE_NONE: nothing to do. */
void cradle_give_back(int number);
/* CRADLE_NONE: the spare. */
struct launch *cradle_launch(int number);
struct stack cradle_stack(int number);

/* children.c */
enum child_state { CHILD_FREE, CHILD_STARTING, CHILD_RUNNING };
struct child {
	uint64_t id;
	pid_t pid;
	int32_t nice;
	int status_fd;
	enum child_state state;
	struct failure failure;
	int cradle;
	/* Next in the bucket, or next free; -1 ends it. */
	int32_t next_by_pid;
	int32_t next_by_id;
};
void children_initialise(void);
int children_count(void);
struct child *child_at(int index);
int child_index(const struct child *child);
struct child *child_add(const struct child *child);
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
void reply_failure(uint64_t id, enum stage stage, int error_number);
/* False: the daemon is gone. `*blocked` says whether some bytes wait for the socket. */
bool replies_flush(bool *blocked);

/* attach.c. Until the daemon has said hello; ends the process where it says nothing that is understood. */
struct hello attach(void);

/* inheritance.c */
void inheritance_prepare(bool root);

/* processes.c. 0 when it cannot be read. */
uint64_t start_time_of(pid_t pid);
uint64_t cpu_us_of(pid_t pid);
void child_signal(const struct child *child, int signal_number);

/* layout.c */
void layout_print(void);

/* intake.c */
void intake_initialise(void);
/* epoll has told of requests. */
void intake_told(void);
/* False: the daemon is gone. */
bool intake_read(const struct standing *standing);
/* For epoll_wait: until requests may be read that are there already. */
int intake_timeout_ms(void);

/* main.c */
void watch_status(const struct child *child);
uint64_t monotonic_us(void);
_Noreturn void die(const char *call);

#endif
