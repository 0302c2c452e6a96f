/*
 * The protocol's sizes, bounds and offsets as text, for the test that holds the TypeScript mirror to protocol.h.
 */
#include "spawner.h"

#include <stdio.h>

void layout_print(void)
{
#define FIELD(name, type, field) printf("%s.%s %zu %zu\n", name, #field, offsetof(type, field), sizeof(((type *)0)->field))
	printf("version %d\nheader %d\nlimit %d\nreply %d\nrequestMax %d\n", PROTOCOL_VERSION, REQUEST_HEADER_BYTES,
	       REQUEST_LIMIT_BYTES, REPLY_BYTES, REQUEST_BYTES_MAX);
	printf("argumentsMax %d\nenvironmentMax %d\ncgroupsMax %d\nlimitsMax %d\nchildrenMax %d\n", ARGUMENTS_MAX,
	       ENVIRONMENT_MAX, CGROUPS_MAX, LIMITS_MAX, CHILDREN_MAX);
	printf("hello %d\n", HELLO_BYTES);
	FIELD("hello", struct hello, version);
	FIELD("hello", struct hello, priority);
	FIELD("hello", struct hello, session_nice);
	FIELD("header", struct request_header, version);
	FIELD("header", struct request_header, kind);
	FIELD("header", struct request_header, id);
	FIELD("header", struct request_header, uid);
	FIELD("header", struct request_header, gid);
	FIELD("header", struct request_header, nice);
	FIELD("header", struct request_header, signal_number);
	FIELD("header", struct request_header, argument_count);
	FIELD("header", struct request_header, environment_count);
	FIELD("header", struct request_header, cgroup_count);
	FIELD("header", struct request_header, limit_count);
	FIELD("header", struct request_header, text_bytes);
	FIELD("header", struct request_header, flags);
	FIELD("limit", struct request_limit, resource);
	FIELD("limit", struct request_limit, soft);
	FIELD("limit", struct request_limit, hard);
	FIELD("reply", struct reply, kind);
	FIELD("reply", struct reply, pid);
	FIELD("reply", struct reply, id);
	FIELD("reply", struct reply, at_us);
	FIELD("reply", struct reply, start_time);
	FIELD("reply", struct reply, stage);
	FIELD("reply", struct reply, error_number);
	FIELD("reply", struct reply, status);
	FIELD("reply", struct reply, realtime_us);
	FIELD("reply", struct reply, user_us);
	FIELD("reply", struct reply, system_us);
	FIELD("reply", struct reply, voluntary_switches);
	FIELD("reply", struct reply, involuntary_switches);
	FIELD("reply", struct reply, rss_max_kib);
	printf("stage.exec %d\nflag.memoryLimited %d\n", STAGE_EXEC, LAUNCH_MEMORY_LIMITED);
}
