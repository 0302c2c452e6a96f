/*
 * Takes one message apart. The daemon is trusted, its bugs are not: every count and every string is checked against the
 * message before it is used, and a message that does not add up is answered FAILED.
 */
#include "spawner.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILES_WITHOUT_INPUT = 2, FILES_PER_LAUNCH = 3, FILES_RECEIVED_MAX = 16 };

void launch_close_files(const struct launch *launch)
{
	for (int i = 0; i < FILES_PER_LAUNCH; i++)
		if (launch->files[i] >= 0)
			close(launch->files[i]);
}

/* Keeps the first three descriptors and closes any other, so that a wrong request leaks nothing. Returns how many came. */
static int take_files(struct msghdr *header, int files[FILES_PER_LAUNCH])
{
	int count = 0;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL; part = CMSG_NXTHDR(header, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		int received[FILES_RECEIVED_MAX];
		size_t bytes = part->cmsg_len - CMSG_LEN(0);
		memcpy(received, CMSG_DATA(part), bytes);
		for (size_t i = 0; i < bytes / sizeof(int); i++) {
			if (count < FILES_PER_LAUNCH)
				files[count] = received[i];
			else
				close(received[i]);
			count++;
		}
	}
	return count;
}

/* The next string, or NULL when the text ends before its NUL. */
static char *next_text(char **cursor, const char *end)
{
	char *start = *cursor;
	char *stop = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;
	if (stop == NULL)
		return NULL;
	*cursor = stop + 1;
	return start;
}

static bool take_list(char **cursor, const char *end, int count, char **into)
{
	for (int i = 0; i < count; i++) {
		into[i] = next_text(cursor, end);
		if (into[i] == NULL)
			return false;
	}
	return true;
}

static bool take_apart(struct launch *into, size_t length)
{
	const struct request_header *header = &into->header;
	char *message = into->message;
	size_t limits = (size_t)header->limit_count * sizeof(struct request_limit);
	if (header->argument_count < 1 || header->argument_count > ARGUMENTS_MAX ||
	    header->environment_count > ENVIRONMENT_MAX || header->cgroup_count > CGROUPS_MAX ||
	    header->limit_count > LIMITS_MAX || (header->flags & ~(uint32_t)LAUNCH_FLAGS) != 0 ||
	    sizeof *header + limits + header->text_bytes != length)
		return false;
	into->limits = (const struct request_limit *)(message + sizeof *header);
	char *cursor = message + sizeof *header + limits;
	const char *end = message + length;
	into->directory = next_text(&cursor, end);
	into->arguments = into->texts;
	into->environment = into->arguments + header->argument_count + 1;
	into->cgroups = into->environment + header->environment_count + 1;
	if (into->directory == NULL || !take_list(&cursor, end, header->argument_count, into->arguments) ||
	    !take_list(&cursor, end, header->environment_count, into->environment) ||
	    !take_list(&cursor, end, header->cgroup_count, into->cgroups))
		return false;
	into->birthplace = next_text(&cursor, end);
	into->arguments[header->argument_count] = NULL;
	into->environment[header->environment_count] = NULL;
	return into->birthplace != NULL && cursor == end;
}

enum message request_receive(struct launch *into)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FILES_RECEIVED_MAX)];
	} control;
	struct iovec whole = { .iov_base = into->message, .iov_len = sizeof into->message };
	struct msghdr header = { .msg_iov = &whole, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	ssize_t length;
	do
		length = recvmsg(REQUEST_FD, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (length < 0 && errno == EINTR);
	if (length < 0)
		return errno == EAGAIN ? MESSAGE_NONE : MESSAGE_END;
	if (length == 0)
		return MESSAGE_END;
	for (int i = 0; i < FILES_PER_LAUNCH; i++)
		into->files[i] = -1;
	int files = take_files(&header, into->files);
	memset(&into->header, 0, sizeof into->header);
	if ((size_t)length < sizeof into->header || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return MESSAGE_INVALID;
	memcpy(&into->header, into->message, sizeof into->header);
	if (into->header.version != PROTOCOL_VERSION)
		return MESSAGE_INVALID;
	if (into->header.kind == REQUEST_KILL && files == 0)
		return MESSAGE_KILL;
	if (files == FILES_WITHOUT_INPUT) {
		memmove(into->files + 1, into->files, FILES_WITHOUT_INPUT * sizeof into->files[0]);
		into->files[0] = -1;
		files = FILES_PER_LAUNCH;
	}
	if (into->header.kind == REQUEST_LAUNCH && files == FILES_PER_LAUNCH && take_apart(into, (size_t)length))
		return MESSAGE_LAUNCH;
	return MESSAGE_INVALID;
}
