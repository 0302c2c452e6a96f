/*
 * Above everything that we may have to demote. Without the right to be real-time nothing can have been promoted either; without that to
 * lock memory we may fault, and are slower. Neither keeps us from working.
 */
#include "guard.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

void stand_above(int priority)
{
	struct sched_param own = { .sched_priority = priority };
	if (priority > 0)
		sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &own);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (file >= 0) {
		(void)!write(file, "-1000", 5);
		close(file);
	}
}
