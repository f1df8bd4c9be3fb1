/*-------------------------------------------------------------------------
 *
 * tap.h
 *	  What the unit tests need of the world: test results in the format that
 *	  prove reads, random numbers, and a clock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdint.h>

extern bool ok(bool passed, const char *format,...) __attribute__((format(printf, 2, 3)));
extern void note(const char *format,...) __attribute__((format(printf, 1, 2)));
extern int	done_testing(void);

extern void seed_random(int argc, char **argv);
extern uint32_t random_below(uint32_t limit);
extern bool chance(uint32_t percent);

extern uint64_t nanoseconds(void);

#endif							/* TAP_H */
