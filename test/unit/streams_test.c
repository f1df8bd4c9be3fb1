/*-------------------------------------------------------------------------
 *
 * streams_test.c
 *	  Runs of consecutive blocks against a reference that keeps all history.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "streams.h"
#include "tap.h"

#define NSEQUENCES 100000
#define LONGEST 200

static const RelFileLocator relations[] = {
	{.spcOid = 1663,.dbOid = 5,.relNumber = 16384},
	{.spcOid = 1663,.dbOid = 5,.relNumber = 16385},
	{.spcOid = 1663,.dbOid = 6,.relNumber = 16384},
	{.spcOid = 1664,.dbOid = 5,.relNumber = 16384},
};

/* All that was noted since the last reset. */
static struct
{
	const RelFileLocator *rlocator;
	BlockNumber blkno;
	int			run;			/* blocks of its run up to this one */
	bool		tip;			/* no later block continues it */
} history[LONGEST];
static int	nhistory = 0;

/*
 * The run that a block continues is the last one seen whose last block is the
 * block itself or up to STREAMS_GAP before it, provided that it is among the
 * runs used most recently.  Returns whether the block is in a run that is long
 * enough.
 */
static bool
reference_note(const RelFileLocator *rlocator, BlockNumber blkno)
{
	int			run = 1;
	int			tips = 0;

	for (int i = nhistory - 1; i >= 0 && tips < STREAMS_TRACKED; i--)
	{
		if (!history[i].tip)
			continue;
		tips++;
		if (memcmp(history[i].rlocator, rlocator, sizeof(*rlocator)) == 0 &&
			history[i].blkno <= blkno && blkno <= history[i].blkno + STREAMS_GAP)
		{
			run = history[i].run + (blkno != history[i].blkno);
			history[i].tip = false;
			break;
		}
	}
	history[nhistory].rlocator = rlocator;
	history[nhistory].blkno = blkno;
	history[nhistory].run = run;
	history[nhistory].tip = true;
	nhistory++;
	return run >= STREAMS_RUN;
}

/* Which blocks of each relation have been asked for in stretches. */
#define NBLOCKS (LONGEST * (STREAMS_GAP + 1) + 2 * STREAMS_MAX_WINDOW)
static bool asked[lengthof(relations)][NBLOCKS];

/*
 * Is the answer for a block right?  One in a run must have been asked for in a
 * stretch by then.  A stretch is neither empty nor too long, does not begin
 * before the block, and asks for nothing that the one before it asked for.
 */
static bool
answer_is_right(int r, BlockNumber blkno, bool in_run, StreamsAdvice advice,
				BlockNumber first, BlockNumber count)
{
	if (!in_run)
		return advice == STREAMS_ALONE;
	if (advice == STREAMS_ASKED)
		return asked[r][blkno];
	if (advice != STREAMS_ASK || first < blkno || count < 1 || count > STREAMS_MAX_WINDOW)
		return false;
	for (BlockNumber b = blkno; b < first; b++)
		if (!asked[r][b])
			return false;
	for (BlockNumber b = first; b < first + count; b++)
		asked[r][b] = true;
	return true;
}

static void
test_random_sequences(void)
{
	Streams		streams;
	uint64		in_run = 0,
				alone = 0,
				wrong = 0;

	for (int i = 0; i < NSEQUENCES; i++)
	{
		int			nrelations = 1 + random_below(lengthof(relations));
		int			spread = 1 + random_below(100);
		uint32		jump = random_below(60);
		int			gap = 1 + random_below(STREAMS_GAP + 1);
		BlockNumber at[lengthof(relations)] = {0};
		int			length = 1 + random_below(LONGEST);

		streams_reset(&streams);
		memset(asked, 0, sizeof(asked));
		nhistory = 0;
		while (length-- > 0)
		{
			int			r = random_below(nrelations);
			bool		expected;
			StreamsAdvice advice;
			BlockNumber first,
						count;

			if (chance(jump))
				at[r] = random_below(spread);
			else if (chance(95))
				at[r] += 1 + random_below(gap);
			expected = reference_note(&relations[r], at[r]);
			advice = streams_note(&streams, &relations[r], at[r], &first, &count);
			if (!answer_is_right(r, at[r], expected, advice, first, count))
				wrong++;
			if (expected)
				in_run++;
			else
				alone++;
		}
	}
	ok(wrong == 0, "%d random sequences: %llu blocks wrong", NSEQUENCES, (unsigned long long) wrong);
	ok(in_run > 1000 && alone > 1000, "%llu blocks were in a run, %llu were not",
	   (unsigned long long) in_run, (unsigned long long) alone);
}

/* Note a block; was it in a run? */
static bool
in_run(Streams *streams, const RelFileLocator *rlocator, BlockNumber blkno)
{
	BlockNumber first,
				count;

	return streams_note(streams, rlocator, blkno, &first, &count) != STREAMS_ALONE;
}

/* Note blocks first to last; how many of them were in a run? */
static int
note_range(Streams *streams, const RelFileLocator *rlocator, BlockNumber first, BlockNumber last)
{
	int			n = 0;

	for (BlockNumber blkno = first; blkno <= last; blkno++)
		n += in_run(streams, rlocator, blkno);
	return n;
}

/*
 * Note every block of a range and see that the blocks of a run are asked for
 * exactly once each, in stretches that grow, each one in time before the last
 * is over, and none across the end of a segment.
 */
static void
test_stretches(void)
{
	Streams		streams;
	BlockNumber start = RELSEG_SIZE - 200;
	BlockNumber end = RELSEG_SIZE + 200;
	BlockNumber next = start + STREAMS_RUN - 1;
	BlockNumber longest = 0;
	int			wrong = 0,
				late = 0,
				across = 0;

	streams_reset(&streams);
	for (BlockNumber blkno = start; blkno < end; blkno++)
	{
		BlockNumber first,
					count;

		if (streams_note(&streams, &relations[0], blkno, &first, &count) != STREAMS_ASK)
			continue;
		if (first != next)
			wrong++;
		if (blkno >= next && blkno != start + STREAMS_RUN - 1 && blkno != RELSEG_SIZE)
			late++;
		if (first / RELSEG_SIZE != (first + count - 1) / RELSEG_SIZE || blkno / RELSEG_SIZE != first / RELSEG_SIZE)
			across++;
		longest = Max(longest, count);
		next = first + count;
	}
	ok(wrong == 0 && next >= end, "stretches follow one another");
	ok(longest == STREAMS_MAX_WINDOW, "they grow to %d blocks", STREAMS_MAX_WINDOW);
	ok(late == 0, "they are asked for ahead");
	ok(across == 0, "none crosses the end of a segment");
}

static void
test_rules(void)
{
	Streams		streams;
	int			n;

	memset(&streams, 0x7f, sizeof(streams));
	streams_reset(&streams);
	ok(note_range(&streams, &relations[0], 0, 99) == 100 - (STREAMS_RUN - 1),
	   "a run counts from its %dth block", STREAMS_RUN);
	ok(!in_run(&streams, &relations[1], 100), "another relation does not continue it");
	ok(in_run(&streams, &relations[0], 99), "its last block once more belongs to it");
	ok(in_run(&streams, &relations[0], 100), "and does not end it");
	ok(in_run(&streams, &relations[0], 100 + STREAMS_GAP), "nor does a small gap");
	ok(!in_run(&streams, &relations[0], 101 + 2 * STREAMS_GAP), "a larger one does");
	ok(!in_run(&streams, &relations[0], 99 + STREAMS_GAP), "and so does a step back");
	ok(note_range(&streams, &relations[2], RELSEG_SIZE - 10, RELSEG_SIZE + 9) == 20 - (STREAMS_RUN - 1),
	   "a run goes on in the next segment");

	streams_reset(&streams);
	n = 0;
	for (BlockNumber blkno = 0; blkno < 100; blkno++)
		for (int s = 0; s < STREAMS_TRACKED; s++)
			n += note_range(&streams, &relations[0], s * 1000 + blkno, s * 1000 + blkno);
	ok(n == STREAMS_TRACKED * (100 - (STREAMS_RUN - 1)), "%d runs interleaved are followed",
	   STREAMS_TRACKED);

	streams_reset(&streams);
	note_range(&streams, &relations[0], 0, 9);
	for (int s = 1; s < STREAMS_TRACKED; s++)
		in_run(&streams, &relations[0], s * 1000);
	ok(in_run(&streams, &relations[0], 10), "a run survives as many others as are tracked");
	for (int s = 1; s <= STREAMS_TRACKED; s++)
		in_run(&streams, &relations[1], s * 1000);
	ok(!in_run(&streams, &relations[0], 11), "but not more");

	streams_reset(&streams);
	for (int i = 0; i < 10; i++)
	{
		note_range(&streams, &relations[0], i, i);
		note_range(&streams, &relations[1], i * 1000, i * 1000);
	}
	ok(in_run(&streams, &relations[0], 10), "scattered blocks go, the run stays");

	streams_reset(&streams);
	ok(!in_run(&streams, &relations[0], 11), "a reset forgets");
	ok(!in_run(&streams, &relations[0], 0), "block 0 does not continue an unused entry");
}

int
main(int argc, char **argv)
{
	seed_random(argc, argv);
	test_rules();
	test_stretches();
	test_random_sequences();
	return done_testing();
}
