/*-------------------------------------------------------------------------
 *
 * streams.c
 *	  Runs of consecutive blocks.
 *
 * A plain read of consecutive blocks is sped up by the kernel's own readahead,
 * which reads many blocks at a time; asking for the same blocks one by one
 * defeats that.  So we want to know whether a block continues a run.  The
 * blocks of a table and of each of its indexes come interleaved, hence several
 * runs are followed at a time, and the one longest out of use makes room for a
 * new one.
 *
 * Pure: no I/O, no locks, no errors, no allocation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "streams.h"

/* Forget everything; also initialises new memory. */
void
streams_reset(Streams *streams)
{
	memset(streams, 0, sizeof(*streams));
}

/*
 * Note that a block will be read.  Returns true if it is at least the
 * STREAMS_RUN'th of a run of consecutive blocks.
 *
 * The last block of a run may be read once more without ending the run.  If
 * several runs fit, the block is counted to the one seen last.
 */
bool
streams_note(Streams *streams, const RelFileLocator *rlocator, BlockNumber blkno)
{
	Stream	   *run = NULL;
	Stream	   *oldest = &streams->stream[0];

	for (int i = 0; i < STREAMS_TRACKED; i++)
	{
		Stream	   *s = &streams->stream[i];

		if (blkno - s->last <= 1 && s->used > 0 &&
			RelFileLocatorEquals(s->rlocator, *rlocator) &&
			(run == NULL || s->used > run->used))
			run = s;
		if (s->used < oldest->used)
			oldest = s;
	}

	if (run == NULL)
	{
		run = oldest;
		run->rlocator = *rlocator;
		run->length = 1;
	}
	else
		run->length += blkno - run->last;
	run->last = blkno;
	run->used = ++streams->clock;
	return run->length >= STREAMS_RUN;
}
