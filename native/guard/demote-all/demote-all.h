/* What the files of sfsd-demote-all share, beside guard.h. */
#ifndef SFSD_GUARD_DEMOTE_ALL_H
#define SFSD_GUARD_DEMOTE_ALL_H

#include "../guard.h"

/* scan.c: every task of the host at this priority inside a cgroup of sfsd's. */
void scan(uint32_t priority, struct tally *tally);

#endif
