/*
 * The bounded queue of replies. While it has no room for the replies that one event can cause, the loop neither reads requests
 * nor reaps: requests then wait in the socket and exits in the kernel, as zombies, and nothing is ever dropped.
 */
#include "spawner.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { QUEUE_REPLIES_MAX = 1024, REPLIES_PER_EVENT_MAX = 2 };

static struct {
	size_t bytes;
	unsigned char queue[QUEUE_REPLIES_MAX * REPLY_BYTES];
} *waiting;

void replies_initialise(void)
{
	waiting = shared_take(sizeof *waiting);
}

bool replies_have_room(void)
{
	return waiting->bytes + REPLIES_PER_EVENT_MAX * REPLY_BYTES <= sizeof waiting->queue;
}

void reply_send(const struct reply *reply)
{
	assert(waiting->bytes + REPLY_BYTES <= sizeof waiting->queue);
	memcpy(waiting->queue + waiting->bytes, reply, REPLY_BYTES);
	waiting->bytes += REPLY_BYTES;
}

void reply_failure(uint64_t id, enum stage stage, int error_number)
{
	struct reply reply = {
		.kind = REPLY_FAILED, .id = id, .at_us = monotonic_us(), .stage = stage, .error_number = (uint32_t)error_number
	};
	reply_send(&reply);
}

bool replies_flush(bool *blocked)
{
	*blocked = false;
	while (waiting->bytes > 0) {
		ssize_t sent = send(REPLY_FD, waiting->queue, waiting->bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) {
			*blocked = errno == EAGAIN;
			return *blocked;
		}
		waiting->bytes -= (size_t)sent;
		memmove(waiting->queue, waiting->queue + sent, waiting->bytes);
	}
	return true;
}
