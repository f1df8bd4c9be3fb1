/*-------------------------------------------------------------------------
 *
 * streams.h
 *	  Runs of neighbouring blocks, to be read in stretches.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_STREAMS_H
#define PPG_STREAMS_H

#include "storage/block.h"

#define STREAMS_TRACKED		16	/* runs known at a time */
#define STREAMS_RUN			4	/* that many blocks make a run */
#define STREAMS_GAP			4	/* farthest from one of them to the next */
#define STREAMS_MIN_WINDOW	8	/* length of a run's first stretch, in blocks */
#define STREAMS_MAX_WINDOW	32	/* ... of the longest */

/* What to do about a block that will be read. */
typedef enum StreamsAdvice
{
	STREAMS_ALONE,				/* not in a run: ask for it */
	STREAMS_ASK,				/* ask for a stretch of the run */
	STREAMS_ASKED				/* don't: the run's last stretch has it */
} StreamsAdvice;

typedef struct Stream
{
	RelFileLocator rlocator;
	BlockNumber last;			/* the block seen last */
	uint32		length;			/* blocks seen up to it */
	BlockNumber window;			/* length of the last stretch, or 0 */
	BlockNumber asked;			/* end of the last stretch */
	uint64		used;			/* when it was seen last; 0: free */
} Stream;

typedef struct Streams
{
	uint64		clock;			/* counts blocks */
	Stream		stream[STREAMS_TRACKED];
} Streams;

extern void streams_reset(Streams *streams);
extern StreamsAdvice streams_note(Streams *streams, const RelFileLocator *rlocator,
								  BlockNumber blkno, BlockNumber *first,
								  BlockNumber *count);

#endif							/* PPG_STREAMS_H */
