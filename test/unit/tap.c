/*-------------------------------------------------------------------------
 *
 * tap.c
 *	  What the unit tests need of the world.
 *
 * This does not include the server's headers: those redirect printf() to the
 * server's own, and the tests link nothing of the server.
 *
 *-------------------------------------------------------------------------
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static int	ntests = 0;
static int	nfailed = 0;
static uint64_t random_state;

/* Report one test; returns 'passed'. */
bool
ok(bool passed, const char *format,...)
{
	va_list		args;

	printf("%sok %d - ", passed ? "" : "not ", ++ntests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	if (!passed)
		nfailed++;
	return passed;
}

/* Print a comment. */
void
note(const char *format,...)
{
	va_list		args;

	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* The last line of the output; returns the program's exit status. */
int
done_testing(void)
{
	printf("1..%d\n", ntests);
	return nfailed == 0 ? 0 : 1;
}

/* Seed from the first argument, or from the clock, and say which. */
void
seed_random(int argc, char **argv)
{
	random_state = argc > 1 ? strtoull(argv[1], NULL, 0) :
		nanoseconds() ^ (uint64_t) getpid();
	note("seed %llu (give it as argument to repeat this run)",
		 (unsigned long long) random_state);
}

/* A random number from 0 to limit - 1 (splitmix64). */
uint32_t
random_below(uint32_t limit)
{
	uint64_t	x = (random_state += UINT64_C(0x9e3779b97f4a7c15));

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	x ^= x >> 31;
	return (uint32_t) (((x >> 32) * limit) >> 32);
}

/* True this many times in a hundred. */
bool
chance(uint32_t percent)
{
	return random_below(100) < percent;
}

uint64_t
nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * The server's inline functions call this where assertions are enabled.  Its
 * parameters differ between versions, but the failed condition comes first.
 */
extern void ExceptionalCondition(const char *condition);

void
ExceptionalCondition(const char *condition)
{
	printf("Bail out! failed assertion: %s\n", condition);
	fflush(stdout);
	abort();
}
