/*-------------------------------------------------------------------------
 *
 * streams.c
 *	  Runs of neighbouring blocks, to be read in stretches.
 *
 * Asking for the consecutive blocks of a run one by one makes as many small
 * reads of what could be a few large ones, and defeats the kernel's readahead
 * as well.  So a block that continues a run is not asked for alone: a whole
 * stretch of the run is, from that block on, and then nothing until replay's
 * look-ahead nears the end of the stretch, when the next one is asked for.
 * Stretches grow as long as the run goes on, up to a length that common disks
 * still count as one read; the kernel's readahead stops at half of that.
 *
 * Blocks that a run leaves out are read along with it, if they are few: they
 * may be in shared buffers already, in which case recovery prefetch does not
 * ask for them, or not be needed at all, but leaving them out would only make
 * more reads.  The kernel sees no run there.
 *
 * The blocks of a table and of each of its indexes come interleaved, hence
 * several runs are followed at a time, and the one longest out of use makes
 * room for a new one.
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

/* The run that a block belongs to, or a new one in place of the oldest. */
static Stream *
find_run(Streams *streams, const RelFileLocator *rlocator, BlockNumber blkno)
{
	Stream	   *run = NULL;
	Stream	   *oldest = &streams->stream[0];

	for (int i = 0; i < STREAMS_TRACKED; i++)
	{
		Stream	   *s = &streams->stream[i];

		if (blkno - s->last <= STREAMS_GAP && s->used > 0 &&
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
		run->last = blkno;
		run->length = 1;
		run->window = 0;
	}
	return run;
}

/*
 * Note that a block will be read, and say whether to ask for it.  With
 * STREAMS_ASK, *first and *count are set to the blocks to ask for; they are in
 * the same segment, not before the block, and need not exist.
 *
 * The last block of a run may be read once more without ending the run.  If
 * several runs fit, the block is counted to the one seen last.
 */
StreamsAdvice
streams_note(Streams *streams, const RelFileLocator *rlocator, BlockNumber blkno,
			 BlockNumber *first, BlockNumber *count)
{
	Stream	   *run = find_run(streams, rlocator, blkno);
	BlockNumber ahead;			/* blocks asked for already, from this one on */
	BlockNumber room;			/* blocks in the segment, from this one on */

	if (blkno != run->last)
		run->length++;
	run->last = blkno;
	run->used = ++streams->clock;

	if (run->length < STREAMS_RUN)
		return STREAMS_ALONE;

	ahead = run->window > 0 && run->asked > blkno ? run->asked - blkno : 0;
	room = RELSEG_SIZE - blkno % RELSEG_SIZE;
	if (ahead > run->window / 2 || ahead >= room)
		return STREAMS_ASKED;

	if (run->window == 0)
		run->window = STREAMS_MIN_WINDOW;
	else
		run->window = Min(2 * run->window, STREAMS_MAX_WINDOW);
	*first = blkno + ahead;
	*count = Min(run->window, room - ahead);
	run->asked = *first + *count;
	return STREAMS_ASK;
}
