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

static unsigned char queue[QUEUE_REPLIES_MAX * REPLY_BYTES];
static size_t queued;

bool replies_have_room(void)
{
	return queued + REPLIES_PER_EVENT_MAX * REPLY_BYTES <= sizeof queue;
}

void reply_send(const struct reply *reply)
{
	assert(queued + REPLY_BYTES <= sizeof queue);
	memcpy(queue + queued, reply, REPLY_BYTES);
	queued += REPLY_BYTES;
}

bool replies_flush(bool *blocked)
{
	*blocked = false;
	while (queued > 0) {
		ssize_t sent = send(REPLY_FD, queue, queued, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) {
			*blocked = errno == EAGAIN;
			return *blocked;
		}
		queued -= (size_t)sent;
		memmove(queue, queue + sent, queued);
	}
	return true;
}
