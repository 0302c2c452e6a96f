/*
 * The spawner as a service of its own: systemd accepted the daemon's connection and started us with it as fd 3. The daemon says how we
 * are to run, and hands us its end of the reply stream and, where it has left its cpu cgroup, the one to follow it to; from then on all is as it is for the daemon's own child.
 *
 * The socket's mode says who may connect (0600: root). It is asked again here, because whoever speaks to us starts programs as anybody.
 */
#include "spawner.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HELLO_MS_MAX = 5000, PRIORITY_MAX = 49, SESSION_NICE_MAX = 19, FDS_MAX = 2 };

static _Noreturn void refuse(const char *reason)
{
	fprintf(stderr, "spawner --attached: %s\n", reason);
	exit(1);
}

static void require_own_user(void)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	if (getsockopt(REQUEST_FD, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		die("fd 3 is no connection: getsockopt");
	if (peer.uid != geteuid())
		refuse("the peer is another user");
}

struct received {
	int reply;
	/* cgroup.procs of a group that the daemon has moved to; -1: it is where it was started. */
	int group;
};

static struct received received_fds(struct msghdr *message)
{
	int fds[FDS_MAX] = { -1, -1 };
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	if (control == NULL || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
	    (control->cmsg_len != CMSG_LEN(sizeof(int)) && control->cmsg_len != CMSG_LEN(sizeof fds)))
		refuse("the hello came without a reply stream");
	memcpy(fds, CMSG_DATA(control), control->cmsg_len - CMSG_LEN(0));
	return (struct received){ .reply = fds[0], .group = fds[1] };
}

/* Our unit may be in a cpu cgroup without a real-time budget, as the daemon's was: it has left its own, and functions are born in ours. */
static void follow(int group)
{
	if (group < 0)
		return;
	if (write(group, "0", 1) != 1)
		perror("spawner --attached: the daemon's cpu cgroup");
	close(group);
}

struct hello attach(void)
{
	struct hello hello;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec bytes = { .iov_base = &hello, .iov_len = sizeof hello };
	struct msghdr message = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	struct pollfd said = { .fd = REQUEST_FD, .events = POLLIN };
	require_own_user();
	if (poll(&said, 1, HELLO_MS_MAX) <= 0)
		refuse("nobody said hello");
	if (recvmsg(REQUEST_FD, &message, 0) != sizeof hello || hello.version != PROTOCOL_VERSION)
		refuse("the hello is of another version");
	if (hello.priority > PRIORITY_MAX || hello.session_nice > SESSION_NICE_MAX)
		refuse("the hello asks for what is out of bounds");
	struct received fds = received_fds(&message);
	follow(fds.group);
	if (fds.reply != REPLY_FD) {
		if (dup2(fds.reply, REPLY_FD) < 0)
			die("dup2");
		close(fds.reply);
	}
	return hello;
}
