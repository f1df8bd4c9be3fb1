/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  The decision on each block that recovery prefetch asks for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_GUARD_H
#define PPG_GUARD_H

/* What became of a request, or in audit mode would have become of it. */
typedef enum GuardVerdict
{
	GUARD_ISSUED,				/* passed on to the kernel */
	GUARD_COVERED_BY_IMAGE,		/* dropped: an image comes before the read */
	GUARD_COVERED_BY_INIT,		/* dropped: initialised before the read */
	GUARD_REPEATED,				/* dropped: asked for before */
	GUARD_SEQUENTIAL			/* dropped: in a stretch asked for before */
} GuardVerdict;

#define GUARD_NVERDICTS (GUARD_SEQUENTIAL + 1)

extern void guard_init(void);
extern Size guard_shmem_size(void);
extern void guard_shmem_startup(void);
extern void guard_reset(void);
extern bool guard_counters_are_current(void);

#endif							/* PPG_GUARD_H */
