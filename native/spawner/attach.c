/*
 * The spawner as a service of its own: systemd accepted the daemon's connection and started us with it as fd 3. The daemon says how we
 * are to run, and hands us its end of the reply stream; from then on all is as it is for the daemon's own child.
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

enum { HELLO_MS_MAX = 5000, PRIORITY_MAX = 49, SESSION_NICE_MAX = 19 };

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

static int received_fd(struct msghdr *message)
{
	int fd;
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	if (control == NULL || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
	    control->cmsg_len != CMSG_LEN(sizeof fd))
		refuse("the hello came without a reply stream");
	memcpy(&fd, CMSG_DATA(control), sizeof fd);
	return fd;
}

struct hello attach(void)
{
	struct hello hello;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
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
	int fd = received_fd(&message);
	if (fd != REPLY_FD && dup2(fd, REPLY_FD) < 0)
		die("dup2");
	return hello;
}
