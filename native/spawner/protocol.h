/*
 * What the daemon and the spawner say to each other. src/functions/spawner-protocol.ts mirrors this file, and
 * test/functions/spawner-protocol.test.ts holds the two together through `spawner --layout`. Little endian, as the host is.
 *
 *   daemon ── fd 3: AF_UNIX SOCK_SEQPACKET, one request a message ─────────▶ spawner
 *   daemon ◀─ fd 4: byte stream of replies, all REPLY_BYTES long ─────────── spawner
 *
 * LAUNCH request, with the program's standard input, output and error (SCM_RIGHTS), or with output and error alone: its input is
 * /dev/null then.
 *
 *   struct request_header | rlimit_count x struct request_limit | text_bytes of text
 *   text: NUL-terminated strings: working directory, arguments (the first names the program), environment, cgroup.procs paths,
 *   and last the cgroup2 directory in which the child is to be born, empty for none
 *
 * KILL request: the header alone; `signal_number` goes to the process group of `id`. A signal to an unknown id is ignored: it
 * has crossed with the exit.
 *
 * HELLO comes first, and only where the spawner was started by a service manager that accepted the daemon's connection as fd 3
 * (`spawner --attached`): struct hello, with the end of the reply stream (SCM_RIGHTS) that becomes fd 4.
 *
 * For each LAUNCH, in this order: STARTED then EXITED, or FAILED alone. READY comes once, first, with our own pid as its id.
 */
#ifndef SFSD_SPAWNER_PROTOCOL_H
#define SFSD_SPAWNER_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

enum { PROTOCOL_VERSION = 5 };
enum { REQUEST_FD = 3, REPLY_FD = 4 };

/* Named bounds. A request beyond one of them is answered FAILED, never cut. */
enum {
	REQUEST_BYTES_MAX = 128 * 1024,
	ARGUMENTS_MAX = 1024,
	ENVIRONMENT_MAX = 1024,
	CGROUPS_MAX = 8,
	LIMITS_MAX = 16,
	CHILDREN_MAX = 32768,
};

struct hello {
	uint32_t version;
	uint32_t priority;
	uint32_t session_nice;
	uint32_t reserved;
};

enum request_kind { REQUEST_LAUNCH = 1, REQUEST_KILL = 2 };

/* MEMORY_LIMITED: one of its cgroups has a memory limit of its own, at which the kernel may kill it before it is executed. */
enum launch_flag { LAUNCH_MEMORY_LIMITED = 1, LAUNCH_FLAGS = LAUNCH_MEMORY_LIMITED };

struct request_header {
	uint32_t version;
	uint32_t kind;
	uint64_t id;
	uint32_t uid;
	uint32_t gid;
	int32_t nice;
	uint32_t signal_number;
	uint16_t argument_count;
	uint16_t environment_count;
	uint16_t cgroup_count;
	uint16_t limit_count;
	uint32_t text_bytes;
	/* Of a LAUNCH: LAUNCH_MEMORY_LIMITED or 0. */
	uint32_t flags;
};

struct request_limit {
	uint32_t resource;
	uint32_t reserved;
	uint64_t soft;
	uint64_t hard;
};

enum reply_kind { REPLY_READY = 1, REPLY_STARTED = 2, REPLY_FAILED = 3, REPLY_EXITED = 4 };

/* Where a launch failed; with the errno it becomes the reason that the caller reads. */
enum stage {
	STAGE_REQUEST = 1,
	STAGE_CHILDREN,
	STAGE_PIPE,
	STAGE_FORK,
	STAGE_PARENT,
	STAGE_GROUP,
	STAGE_PRIORITY,
	STAGE_CGROUP,
	STAGE_LIMITS,
	STAGE_FILES,
	STAGE_USER,
	STAGE_CAPABILITIES,
	STAGE_DIRECTORY,
	STAGE_EXEC,
};

struct reply {
	uint32_t kind;
	/* The child; in READY the protocol version. */
	uint32_t pid;
	uint64_t id;
	/* CLOCK_MONOTONIC: execve seen to have succeeded, exit seen, or failure. */
	uint64_t at_us;
	/* Field 22 of /proc/PID/stat. */
	uint64_t start_time;
	uint32_t stage;
	uint32_t error_number;
	/* As wait4 gives it. */
	uint32_t status;
	uint32_t reserved;
	/* In STARTED: all CPU time the child has used at our priority. */
	uint64_t realtime_us;
	/* In EXITED, of the child and the descendants it waited for. */
	uint64_t user_us;
	uint64_t system_us;
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
	uint64_t rss_max_kib;
};

enum { HELLO_BYTES = 16, REQUEST_HEADER_BYTES = 48, REQUEST_LIMIT_BYTES = 24, REPLY_BYTES = 96 };

_Static_assert(sizeof(struct hello) == HELLO_BYTES, "the hello has no padding");
_Static_assert(sizeof(struct request_header) == REQUEST_HEADER_BYTES, "the header has no padding");
_Static_assert(sizeof(struct request_limit) == REQUEST_LIMIT_BYTES, "the limit has no padding");
_Static_assert(sizeof(struct reply) == REPLY_BYTES, "the reply has no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the protocol is the host's own byte order");

#endif
