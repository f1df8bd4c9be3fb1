/*-------------------------------------------------------------------------
 *
 * pg_prefetch_guard.h
 *	  What every room may call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_PREFETCH_GUARD_H
#define PG_PREFETCH_GUARD_H

extern void require_preloaded(void);
extern MemoryContext room_memory(void);

#endif							/* PG_PREFETCH_GUARD_H */
