/*-------------------------------------------------------------------------
 *
 * streams.h
 *	  Runs of consecutive blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_STREAMS_H
#define PPG_STREAMS_H

#include "storage/block.h"

#define STREAMS_TRACKED	16		/* runs known at a time */
#define STREAMS_RUN		4		/* that many blocks in a row make a run */

typedef struct Stream
{
	RelFileLocator rlocator;
	BlockNumber last;			/* the block seen last */
	uint32		length;			/* blocks in a row up to it */
	uint64		used;			/* when it was seen last; 0: free */
} Stream;

typedef struct Streams
{
	uint64		clock;			/* counts blocks */
	Stream		stream[STREAMS_TRACKED];
} Streams;

extern void streams_reset(Streams *streams);
extern bool streams_note(Streams *streams, const RelFileLocator *rlocator,
						 BlockNumber blkno);

#endif							/* PPG_STREAMS_H */
