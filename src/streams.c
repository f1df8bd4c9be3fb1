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
 */
bool
streams_note(Streams *streams, const RelFileLocator *rlocator, BlockNumber blkno)
{
	Stream	   *oldest = &streams->stream[0];

	streams->clock++;
	for (int i = 0; i < STREAMS_TRACKED; i++)
	{
		Stream	   *s = &streams->stream[i];

		if (s->used > 0 && s->last + 1 == blkno &&
			RelFileLocatorEquals(s->rlocator, *rlocator))
		{
			s->last = blkno;
			s->length++;
			s->used = streams->clock;
			return s->length >= STREAMS_RUN;
		}
		if (s->used < oldest->used)
			oldest = s;
	}

	oldest->rlocator = *rlocator;
	oldest->last = blkno;
	oldest->length = 1;
	oldest->used = streams->clock;
	return false;
}
