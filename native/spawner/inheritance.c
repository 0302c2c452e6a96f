/*
 * What every child inherits from the spawner: set once at its start instead of once for each launch, which spares the launch
 * some 45 system calls. None of it takes anything from the spawner: losing a capability from the bounding set does not take
 * it from a process that holds it, and the spawner executes no program itself.
 */
#include "spawner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void inheritance_prepare(bool root)
{
	struct rlimit none = { .rlim_cur = 0, .rlim_max = 0 };
	struct sigaction handled = { .sa_handler = SIG_DFL };
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &handled, NULL);
	if (setrlimit(RLIMIT_RTPRIO, &none) != 0 || setrlimit(RLIMIT_NICE, &none) != 0 || setrlimit(RLIMIT_CORE, &none) != 0)
		die("setrlimit");
	umask(022);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		die("prctl(PR_SET_NO_NEW_PRIVS)");
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Dropping from the bounding set needs CAP_SETPCAP; without it there is no capability to hand on either. */
	for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0 && root)
			die("prctl(PR_CAPBSET_DROP)");
}

bool own_oom_score_is_set(void)
{
	char text[16] = "0";
	int file = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
	if (file >= 0)
		close(file);
	return length > 0 && atoi(text) != 0;
}
