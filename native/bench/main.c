/* Which of the five programs; see bench.h. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct program {
	const char *name;
	int arguments;
	int (*run)(char **arguments);
} programs[] = {
	{ "progress", 2, progress },
	{ "naps", 3, naps },
	{ "crowd", 5, crowd },
	{ "forks", 4, forks },
	{ "timer", 2, timer },
};

int main(int argc, char **argv)
{
	die_with_parent();
	for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof programs[0]; i++) {
		if (strcmp(argv[1], programs[i].name) == 0 && argc == 2 + programs[i].arguments)
			return programs[i].run(argv + 2);
	}
	fail("usage: bench progress MS CPU | naps COUNT BURN_US SLEEP_US | crowd COUNT THREADS PERIOD_US WORK_US MS | "
	     "forks RATE COUNT WORK_US LIFE_US | timer MS CPU");
}
