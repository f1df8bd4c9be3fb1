/*-------------------------------------------------------------------------
 *
 * relstats.h
 *	  The relations that recovery prefetch asks for most.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_RELSTATS_H
#define PPG_RELSTATS_H

#include "access/xlogdefs.h"

#include "guard.h"

extern void relstats_init(void);
extern Size relstats_shmem_size(void);
extern void relstats_shmem_startup(void);
extern void relstats_clear(void);
extern void relstats_count(const RelFileLocator *rlocator, GuardVerdict verdict,
						   XLogRecPtr lsn);

#endif							/* PPG_RELSTATS_H */
