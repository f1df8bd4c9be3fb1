/*-------------------------------------------------------------------------
 *
 * decision_bench.c
 *	  What one decision costs, at short and long look-ahead.
 *
 * Records are decoded into a circular buffer of 64 MB (wal_decode_buffer_size),
 * with some 16 kB from one to the next, so that the longest look-ahead of
 * 4 * maintenance_io_concurrency references, that is 4 * 1000, just fills it.  Every second record carries an image, which is written there
 * and applied as recovery would do, and thus leaves little else in the
 * processor's caches; every other record needs a block.  The decision on that
 * one is timed: it takes in the two records before it.  Half of the blocks
 * needed were overwritten before, a quarter are needed again, a quarter are
 * new.
 *
 * The clock's own cost is measured and subtracted.  The slowest hundredth of
 * the decisions is left out of the mean, since that is mostly other processes'
 * work; for the same reason rounds of both lengths alternate and the fastest of
 * each counts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "lookahead.h"
#include "streams.h"
#include "tap.h"

#define DECODE_BUFFER	((Size) 64 * 1024 * 1024)
#define STRIDE			(16 * 1024 + 192)	/* no power of two, as in real life */
#define NDECISIONS		100000
#define NROUNDS			7
#define SLOWEST			100000	/* nanoseconds */

/* One made-up decoded record, with its image behind it. */
typedef struct Slot
{
	DecodedXLogRecord record;
	DecodedBkpBlock block;
	char		image[BLCKSZ];
} Slot;

static char *decode_buffer;
static char *buffer_pool;		/* where images are applied to */
static Lookahead *lookahead;
static Streams streams;
static uint64 verdicts[LOOKAHEAD_REPEATED + 1];
static uint64 in_run;
static volatile uint64 oversized;

static Slot *
slot_at(uint64 n)
{
	return (Slot *) (decode_buffer + n % (DECODE_BUFFER / STRIDE) * STRIDE);
}

/* Decode record n, for a window of so many records. */
static void
decode(uint64 n, int window)
{
	Slot	   *slot = slot_at(n);
	DecodedBkpBlock *block = &slot->record.blocks[0];
	BlockNumber known = slot_at(n - 1 - random_below(window - 1))->record.blocks[0].blkno;

	memset(slot, 0, offsetof(Slot, image));
	slot->record.lsn = (n + 1) * STRIDE;
	block->in_use = true;
	block->rlocator.spcOid = 1663;
	block->rlocator.dbOid = 5;
	block->rlocator.relNumber = 16384;
	block->forknum = MAIN_FORKNUM;
	block->blkno = n > window && chance(75) ? known : random_below(10000000);
	if (n % 2 == 0)
	{
		block->has_image = block->apply_image = true;
		memset(slot->image, n, BLCKSZ);
	}
	if (n > 0)
		slot_at(n - 1)->record.next = &slot->record;
}

/*
 * Apply record n.  When a record is done with, the reader looks at the one
 * after it (XLogReleasePreviousRecord()), so that is in the caches then.
 */
static void
apply(uint64 n)
{
	Slot	   *slot = slot_at(n);

	oversized += slot_at(n + 1)->record.oversized;
	if (slot->record.blocks[0].has_image)
		memcpy(buffer_pool + random_below(1024) * BLCKSZ, slot->image, BLCKSZ);
}

/* The decision, with the parts and in the order of guard.c. */
static void
decide(const DecodedXLogRecord *head, const DecodedXLogRecord *tail)
{
	off_t		offset = (off_t) (tail->blocks[0].blkno % RELSEG_SIZE) * BLCKSZ;
	const DecodedBkpBlock *block = lookahead_match(tail, offset, BLCKSZ);
	LookaheadVerdict verdict;
	BlockNumber first,
				count;

	lookahead_advance(lookahead, head, tail);
	verdict = lookahead_block(lookahead, &block->rlocator, block->blkno);
	verdicts[verdict]++;
	if (verdict == LOOKAHEAD_UNKNOWN)
		in_run += streams_note(&streams, &block->rlocator, block->blkno, &first, &count) != STREAMS_ALONE;
}

/* Mean of 'times' without the slowest hundredth, in nanoseconds. */
static double
trimmed_mean(uint32 *times)
{
	static uint32 histogram[SLOWEST + 1];
	uint64		total = 0;
	int			left = NDECISIONS - NDECISIONS / 100;

	memset(histogram, 0, sizeof(histogram));
	for (int i = 0; i < NDECISIONS; i++)
		histogram[Min(times[i], SLOWEST)]++;
	for (uint32 ns = 0; left > 0; ns++)
	{
		int			n = Min(histogram[ns], left);

		total += (uint64) n * ns;
		left -= n;
	}
	return (double) total / (NDECISIONS - NDECISIONS / 100);
}

/* What it takes to read the clock, in nanoseconds. */
static double
clock_cost(void)
{
	static uint32 times[NDECISIONS];

	for (int i = 0; i < NDECISIONS; i++)
	{
		uint64		start = nanoseconds();

		times[i] = nanoseconds() - start;
	}
	return trimmed_mean(times);
}

/* The time of a decision, the clock's included, in nanoseconds. */
static double
measure(int maintenance_io_concurrency)
{
	static uint32 times[NDECISIONS];
	int			window = LOOKAHEAD_MULTIPLIER * maintenance_io_concurrency;
	int			ntimes = 0;

	lookahead_reset(lookahead, window);
	streams_reset(&streams);
	memset(verdicts, 0, sizeof(verdicts));
	for (uint64 n = 0; n < window; n++)
		decode(n, window);
	for (uint64 n = window; n < window + 2 * NDECISIONS; n++)
	{
		uint64		start;

		apply(n - window);
		decode(n, window);
		if (n % 2 == 0)
			continue;
		start = nanoseconds();
		decide(&slot_at(n - window + 1)->record, &slot_at(n)->record);
		times[ntimes++] = nanoseconds() - start;
	}
	return trimmed_mean(times);
}

int
main(int argc, char **argv)
{
	static const int concurrency[] = {10, 1000};
	double		best[lengthof(concurrency)] = {0};
	double		clock = 0;

	seed_random(argc, argv);
	decode_buffer = calloc(1, DECODE_BUFFER);
	buffer_pool = calloc(1024, BLCKSZ);
	lookahead = malloc(lookahead_size());

	for (int round = 0; round < NROUNDS; round++)
	{
		double		cost = clock_cost();

		if (round == 0 || cost < clock)
			clock = cost;
		for (int i = 0; i < lengthof(concurrency); i++)
		{
			double		ns = measure(concurrency[i]);

			if (round == 0 || ns < best[i])
				best[i] = ns;
			if (round == 0)
				note("maintenance_io_concurrency %d: %llu covered, %llu repeated, %llu new",
					 concurrency[i], (unsigned long long) verdicts[LOOKAHEAD_IMAGE],
					 (unsigned long long) verdicts[LOOKAHEAD_REPEATED],
					 (unsigned long long) verdicts[LOOKAHEAD_UNKNOWN]);
		}
	}
	for (int i = 0; i < lengthof(concurrency); i++)
		note("maintenance_io_concurrency %4d: %3.0f ns per decision", concurrency[i],
			 best[i] - clock);
	note("the long look-ahead costs %.2f times the short one",
		 (best[1] - clock) / (best[0] - clock));
	return 0;
}
