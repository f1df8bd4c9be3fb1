/*-------------------------------------------------------------------------
 *
 * lookahead.h
 *	  What the records that are decoded but not yet applied say of a block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_LOOKAHEAD_H
#define PPG_LOOKAHEAD_H

#include "access/xlogreader.h"
#include "storage/block.h"

/*
 * Recovery looks ahead by at most this many block references for each unit of
 * maintenance_io_concurrency (XLOGPREFETCHER_DISTANCE_MULTIPLIER in
 * xlogprefetcher.c), whose upper limit is 1000.
 */
#define LOOKAHEAD_MULTIPLIER		4
#define LOOKAHEAD_MAX_REFERENCES	4096

typedef struct Lookahead Lookahead;

/* What applying the queue will do to a block before it is next needed. */
typedef enum LookaheadVerdict
{
	LOOKAHEAD_UNKNOWN,			/* nothing: it is needed from disk */
	LOOKAHEAD_IMAGE,			/* a full-page image will be put over it */
	LOOKAHEAD_INIT,				/* it will be initialised from nothing */
	LOOKAHEAD_REPEATED			/* it was needed, so asked for, before */
} LookaheadVerdict;

extern Size lookahead_size(void);
extern void lookahead_reset(Lookahead *la, int references);
extern void lookahead_advance(Lookahead *la, const DecodedXLogRecord *head,
							  const DecodedXLogRecord *tail);
extern LookaheadVerdict lookahead_block(const Lookahead *la,
										const RelFileLocator *rlocator,
										BlockNumber blkno);
extern bool lookahead_wants_block(const DecodedBkpBlock *block);
extern const DecodedBkpBlock *lookahead_match(const DecodedXLogRecord *record,
											  off_t offset, off_t length);

#endif							/* PPG_LOOKAHEAD_H */
