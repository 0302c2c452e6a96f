/*
 * Reads requests and starts children.
 *
 * A request is read into a free cradle (cradles.c), which its child holds until the status pipe closes, or until it has been reaped:
 * one that has said why it failed may still be on its stack. While all are held, requests wait in the socket: the children, one
 * priority below us, get our core, and in a burst the next cradle is free within a millisecond. An execve can hang, though, on a file
 * system that does not answer: requests that have waited for CRADLE_WAIT_MS_MAX, kills among them, are read all the same, and
 * launched by a fork.
 */
#include "spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { REQUESTS_PER_ROUND_MAX = 16, CRADLE_WAIT_MS_MAX = 10 };

static struct {
	/* Whether requests may be there: epoll tells of each once (EPOLLET), so that it is silent while they wait. */
	bool unread;
	/* Until when they wait for a cradle; 0: they do not. */
	uint64_t wait_until_us;
} *intake;

void intake_initialise(void)
{
	intake = shared_take(sizeof *intake);
}

void intake_told(void)
{
	intake->unread = true;
}

/* Whether the child now holds the cradle. */
static bool start_child(const struct launch *launch, const struct standing *standing, int cradle)
{
	const struct request_header *header = &launch->header;
	int ends[2];
	if (!standing->shares_memory || (header->flags & LAUNCH_MEMORY_LIMITED) != 0)
		cradle = CRADLE_NONE;
	if (children_count() == CHILDREN_MAX) {
		reply_failure(header->id, STAGE_CHILDREN, EAGAIN);
		return false;
	}
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		reply_failure(header->id, STAGE_PIPE, errno);
		return false;
	}
	enum stage stage;
	pid_t pid = birth(launch, standing, ends[1], cradle, &stage);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		reply_failure(header->id, stage, -pid);
		return false;
	}
	struct child born = { .id = header->id,
			      .pid = pid,
			      .nice = header->nice,
			      .status_fd = ends[0],
			      .state = CHILD_STARTING,
			      .cradle = cradle };
	watch_status(child_add(&born));
	return cradle != CRADLE_NONE;
}

/* One request, if there is one. */
static enum message read_request(const struct standing *standing)
{
	int cradle = cradle_take();
	struct launch *launch = cradle_launch(cradle);
	bool held = false;
	enum message message = request_receive(launch);
	if (message == MESSAGE_LAUNCH)
		held = start_child(launch, standing, cradle);
	else if (message == MESSAGE_KILL) {
		struct child *child = child_by_id(launch->header.id);
		if (child != NULL)
			child_signal(child, (int)launch->header.signal_number);
	} else if (message == MESSAGE_INVALID)
		reply_failure(launch->header.id, STAGE_REQUEST, EINVAL);
	if (message != MESSAGE_NONE && message != MESSAGE_END)
		launch_close_files(launch);
	if (!held)
		cradle_give_back(cradle);
	return message;
}

/* Whether there is a cradle to read into, or the wait for one is over. */
static bool may_read(void)
{
	if (cradles_unused() > 0) {
		intake->wait_until_us = 0;
		return true;
	}
	uint64_t now_us = monotonic_us();
	if (intake->wait_until_us == 0)
		intake->wait_until_us = now_us + CRADLE_WAIT_MS_MAX * 1000;
	return now_us >= intake->wait_until_us;
}

bool intake_read(const struct standing *standing)
{
	if (!intake->unread)
		return true;
	for (int i = 0; i < REQUESTS_PER_ROUND_MAX && replies_have_room(); i++) {
		if (!may_read())
			return true;
		enum message message = read_request(standing);
		if (message == MESSAGE_END)
			return false;
		if (message == MESSAGE_NONE) {
			intake->unread = false;
			break;
		}
	}
	intake->wait_until_us = 0;
	return true;
}

int intake_timeout_ms(void)
{
	if (!intake->unread)
		return -1;
	uint64_t now_us = monotonic_us();
	return cradles_unused() > 0 || now_us >= intake->wait_until_us ? 0 : (int)((intake->wait_until_us - now_us + 999) / 1000);
}
