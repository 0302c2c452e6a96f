/*
 * What every child inherits from the spawner: set once at its start instead of once for each launch, which spares the launch
 * some 45 system calls. None of it takes anything from the spawner: losing a capability from the bounding set does not take
 * it from a process that holds it, and the spawner executes no program itself.
 */
#include "spawner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The daemon's own protection from the out-of-memory killer is not for functions. We give it up for ourselves, too: written by a
 * child that shares our memory, it would change for us in any case, and written later, a program could have forked with it. We need
 * none: the killer takes who is large.
 */
static void give_up_oom_protection(void)
{
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, "0", 1) < 0)
		perror("/proc/self/oom_score_adj");
	if (file >= 0)
		close(file);
}

void inheritance_prepare(bool root)
{
	struct rlimit none = { .rlim_cur = 0, .rlim_max = 0 };
	struct sigaction handled = { .sa_handler = SIG_DFL };
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &handled, NULL);
	if (setrlimit(RLIMIT_RTPRIO, &none) != 0 || setrlimit(RLIMIT_NICE, &none) != 0 || setrlimit(RLIMIT_CORE, &none) != 0)
		die("setrlimit");
	umask(022);
	give_up_oom_protection();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		die("prctl(PR_SET_NO_NEW_PRIVS)");
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Dropping from the bounding set needs CAP_SETPCAP; without it there is no capability to hand on either. */
	for (unsigned long i = 0, is_set; (is_set = (unsigned long)prctl(PR_CAPBSET_READ, i, 0, 0, 0)) <= 1; i++)
		if (is_set && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0 && root)
			die("prctl(PR_CAPBSET_DROP)");
}
