/*-------------------------------------------------------------------------
 *
 * lookahead_test.c
 *	  The lookahead index against a reference that walks the whole queue.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "lookahead.h"
#include "queue.h"
#include "tap.h"

#define NQUEUES 120000

/* Recovery looks at no more references than this. */
#define LONGEST_LOOKAHEAD (LOOKAHEAD_MULTIPLIER * 1000)

/* Relations that differ in one member each. */
static const RelFileLocator relations[] = {
	{.spcOid = 1663,.dbOid = 5,.relNumber = 16384},
	{.spcOid = 1663,.dbOid = 5,.relNumber = 16385},
	{.spcOid = 1663,.dbOid = 6,.relNumber = 16384},
	{.spcOid = 1664,.dbOid = 5,.relNumber = 16384},
};

static const char *const verdict_names[] = {"unknown", "image", "init", "repeated"};

static Lookahead *lookahead;
static Queue queue;

/* How often the reference gave each answer, and how often ours was wrong. */
static uint64 seen[LOOKAHEAD_REPEATED + 1];
static uint64 matched = 0;
static uint64 ambiguous = 0;
static uint64 wrong = 0;

/* Is the block one that core would ask for?  In words of our own. */
static bool
would_be_requested(const DecodedBkpBlock *block)
{
	if (!block->in_use || block->forknum != MAIN_FORKNUM)
		return false;
	if (block->has_image)
		return false;
	return (block->flags & BKPBLOCK_WILL_INIT) == 0;
}

/* What the queue before its tail will do to a block, by looking at all of it. */
static LookaheadVerdict
reference_verdict(const RelFileLocator *rlocator, BlockNumber blkno)
{
	bool		image = false,
				init = false,
				repeated = false;

	for (const DecodedXLogRecord *r = queue.head; r != queue.tail; r = r->next)
	{
		for (int i = 0; i <= r->max_block_id; i++)
		{
			const DecodedBkpBlock *block = &r->blocks[i];

			if (!block->in_use || block->forknum != MAIN_FORKNUM ||
				block->blkno != blkno ||
				memcmp(&block->rlocator, rlocator, sizeof(*rlocator)) != 0)
				continue;
			if (block->has_image && block->apply_image)
				image = true;
			if (block->flags & BKPBLOCK_WILL_INIT)
				init = true;
			if (would_be_requested(block))
				repeated = true;
		}
	}
	return image ? LOOKAHEAD_IMAGE : init ? LOOKAHEAD_INIT :
		repeated ? LOOKAHEAD_REPEATED : LOOKAHEAD_UNKNOWN;
}

/* The only block of the tail record that core would ask for at this offset. */
static const DecodedBkpBlock *
reference_match(off_t offset)
{
	const DecodedBkpBlock *found = NULL;
	int			n = 0;

	for (int i = 0; i <= queue.tail->max_block_id; i++)
	{
		BlockNumber blkno = queue.tail->blocks[i].blkno;

		while (blkno >= RELSEG_SIZE)
			blkno -= RELSEG_SIZE;
		if (would_be_requested(&queue.tail->blocks[i]) &&
			offset == (off_t) blkno * BLCKSZ)
		{
			found = &queue.tail->blocks[i];
			n++;
		}
	}
	if (n > 1)
		ambiguous++;
	return n == 1 ? found : NULL;
}

static void
fill_random_block(DecodedBkpBlock *block, int nrelations, int nblocks)
{
	block->in_use = chance(95);
	block->rlocator = relations[random_below(nrelations)];
	block->forknum = chance(85) ? MAIN_FORKNUM : (ForkNumber) random_below(INIT_FORKNUM + 1);
	block->blkno = random_below(nblocks) + random_below(3) * RELSEG_SIZE;
	block->has_image = chance(25);
	block->apply_image = block->has_image && chance(70);
	if (chance(15))
		block->flags = BKPBLOCK_WILL_INIT;
}

/* Put a random record at the tail, often one without any blocks. */
static void
append_random_record(int nrelations, int nblocks)
{
	int			n = chance(2) ? XLR_MAX_BLOCK_ID + 1 : random_below(5);
	DecodedXLogRecord *record;

	/* large records bring the LSN across the limit of positions now and then */
	if (chance(2))
		queue.next_lsn += (XLogRecPtr) random_below(512 * 1024 * 1024) * MAXIMUM_ALIGNOF;
	record = queue_append(&queue, n);
	for (int i = 0; i < n; i++)
		fill_random_block(&record->blocks[i], nrelations, nblocks);
}

/* Ask about every block of the tail record as the guard does. */
static void
check_tail(void)
{
	for (int i = 0; i <= queue.tail->max_block_id; i++)
	{
		off_t		offset = (off_t) (queue.tail->blocks[i].blkno % RELSEG_SIZE) * BLCKSZ;
		const DecodedBkpBlock *block = lookahead_match(queue.tail, offset, BLCKSZ);
		LookaheadVerdict expected;

		if (block != reference_match(offset))
			wrong++;
		if (block == NULL)
			continue;
		matched++;
		lookahead_advance(lookahead, queue.head, queue.tail);
		expected = reference_verdict(&block->rlocator, block->blkno);
		seen[expected]++;
		if (lookahead_block(lookahead, &block->rlocator, block->blkno) != expected)
			wrong++;
	}
}

/*
 * One random queue: records come at the tail and leave at the head, at times
 * all of them; now and then nobody asks for a while.
 */
static void
check_random_queue(void)
{
	int			nrelations = 1 + random_below(lengthof(relations));
	int			nblocks = 1 + random_below(30);
	int			longest = 1 + random_below(40);
	int			nrecords = 5 + random_below(50);
	uint32		ask = 20 + random_below(81);

	/* a new reader, and what it is given may have a lower LSN, or the same */
	if (chance(50))
	{
		queue_clear(&queue);
		queue.next_lsn = (XLogRecPtr) random_below(1000000) * 1000000;
	}
	lookahead_reset(lookahead, (40 + random_below(80)) * (XLR_MAX_BLOCK_ID + 1));

	while (nrecords-- > 0)
	{
		append_random_record(nrelations, nblocks);
		if (chance(ask))
			check_tail();
		while (queue.length > longest || (queue.length > 0 && chance(30)))
			queue_remove_head(&queue);
		if (chance(2))
			queue_clear(&queue);
	}
}

static void
test_random_queues(void)
{
	for (int i = 0; i < NQUEUES; i++)
		check_random_queue();
	queue_clear(&queue);

	ok(wrong == 0, "%d random queues: %llu blocks judged as by the reference, %llu not",
	   NQUEUES, (unsigned long long) matched, (unsigned long long) wrong);
	for (int i = 0; i < lengthof(seen); i++)
		ok(seen[i] > 1000, "the answer \"%s\" came up (%llu times)", verdict_names[i],
		   (unsigned long long) seen[i]);
	ok(ambiguous > 1000, "so did ambiguous offsets (%llu times)", (unsigned long long) ambiguous);
}

/*
 * Many more blocks than recovery looks ahead: what is in the longest look-ahead
 * must be known, what is older may be forgotten but not be wrong.
 */
static void
test_long_queue(void)
{
	const RelFileLocator *rel = &relations[0];
	int			nrecords = 10 * LONGEST_LOOKAHEAD;
	int			forgotten = 0;
	int			missed = 0;
	int			lost = 0;

	lookahead_reset(lookahead, LONGEST_LOOKAHEAD);
	for (int i = 0; i < nrecords; i++)
	{
		DecodedXLogRecord *record = queue_append(&queue, 1);
		DecodedBkpBlock *block;

		block = set_block(record, 0, *rel, i);
		block->has_image = block->apply_image = (i % 2 == 0);
		lookahead_advance(lookahead, queue.head, record);
	}
	for (int i = 0; i < nrecords - 1; i++)
	{
		LookaheadVerdict verdict = lookahead_block(lookahead, rel, i);

		if (verdict == (i % 2 == 0 ? LOOKAHEAD_IMAGE : LOOKAHEAD_REPEATED))
			continue;
		if (i < nrecords - 1 - LONGEST_LOOKAHEAD && verdict == LOOKAHEAD_UNKNOWN)
			forgotten++;
		else
			missed++;
	}
	ok(missed == 0, "more blocks than entries: the last %d are known", LONGEST_LOOKAHEAD);
	ok(forgotten > 0, "more blocks than entries: %d old ones are forgotten", forgotten);

	/* a block that is referenced again does not count as old */
	for (int i = 0; i < nrecords; i++)
	{
		DecodedXLogRecord *record = queue_append(&queue, 1);

		if (i % LONGEST_LOOKAHEAD == 0)
			set_block(record, 0, relations[1], 7);
		else
			set_block(record, 0, *rel, nrecords + i);
		lookahead_advance(lookahead, queue.head, record);
		if (i > 0 && lookahead_block(lookahead, &relations[1], 7) != LOOKAHEAD_REPEATED)
			lost++;
	}
	ok(lost == 0,
	   "more blocks than entries: one that is referenced again and again is known");

	/* once the queue has moved on, nothing of it is left */
	while (queue.length > 1)
		queue_remove_head(&queue);
	lookahead_advance(lookahead, queue.head, queue.tail);
	ok(lookahead_block(lookahead, rel, 2 * nrecords - 2) == LOOKAHEAD_UNKNOWN,
	   "applied records no longer count");
	queue_clear(&queue);
}

/* Ask about a main-fork block that a new record at the tail needs. */
static LookaheadVerdict
ask(RelFileLocator rlocator, BlockNumber blkno)
{
	DecodedXLogRecord *record = queue_append(&queue, 1);
	const DecodedBkpBlock *block;

	set_block(record, 0, rlocator, blkno);
	block = lookahead_match(record, (off_t) (blkno % RELSEG_SIZE) * BLCKSZ, BLCKSZ);
	if (block != &record->blocks[0])
		return (LookaheadVerdict) -1;
	lookahead_advance(lookahead, queue.head, queue.tail);
	return lookahead_block(lookahead, &block->rlocator, block->blkno);
}

/* Start over with one record in the queue, that references one block. */
static DecodedBkpBlock *
start_with(RelFileLocator rlocator, BlockNumber blkno)
{
	queue_clear(&queue);
	lookahead_reset(lookahead, 40);
	return set_block(queue_append(&queue, 1), 0, rlocator, blkno);
}

/* The rules one by one, so that a failure says which. */
static void
test_rules(void)
{
	const RelFileLocator rel = relations[0];
	DecodedBkpBlock *block;

	block = start_with(rel, 5);
	block->has_image = block->apply_image = true;
	ok(ask(rel, 5) == LOOKAHEAD_IMAGE, "an image that will be applied covers");
	ok(ask(rel, 6) == LOOKAHEAD_UNKNOWN, "but not another block");
	ok(ask(rel, 5 + RELSEG_SIZE) == LOOKAHEAD_UNKNOWN, "nor the same offset in another segment");
	for (int i = 1; i < lengthof(relations); i++)
		ok(ask(relations[i], 5) == LOOKAHEAD_UNKNOWN, "nor the same block of relation %u/%u/%u",
		   relations[i].spcOid, relations[i].dbOid, relations[i].relNumber);
	queue_remove_head(&queue);
	ok(ask(rel, 5) == LOOKAHEAD_REPEATED, "an image that was applied does not cover");

	block = start_with(rel, 5);
	block->has_image = true;
	ok(ask(rel, 5) == LOOKAHEAD_UNKNOWN, "an image for a consistency check does not cover");
	ok(ask(rel, 5) == LOOKAHEAD_REPEATED, "nor is a later request useful twice");

	block = start_with(rel, 5);
	block->flags = BKPBLOCK_WILL_INIT;
	ok(ask(rel, 5) == LOOKAHEAD_INIT, "a block that will be initialised is covered");

	block = start_with(rel, 5);
	block->flags = BKPBLOCK_WILL_INIT;
	block->has_image = true;
	ok(ask(rel, 5) == LOOKAHEAD_INIT, "also with an image for a consistency check");

	block = start_with(rel, 5);
	block->forknum = FSM_FORKNUM;
	block->has_image = block->apply_image = true;
	ok(ask(rel, 5) == LOOKAHEAD_UNKNOWN, "another fork's image does not cover");

	block = start_with(rel, 5);
	block->in_use = false;
	ok(ask(rel, 5) == LOOKAHEAD_UNKNOWN, "a reference not in use does not count");

	start_with(rel, 5 + 2 * RELSEG_SIZE);
	ok(ask(rel, 5 + 2 * RELSEG_SIZE) == LOOKAHEAD_REPEATED, "blocks of the third segment are told apart");
	ok(ask(rel, 5 + RELSEG_SIZE) == LOOKAHEAD_UNKNOWN, "from those of the second");

	block = start_with(rel, 5);
	ask(rel, 5);
	block = set_block(queue_append(&queue, 1), 0, rel, 5);
	block->flags = BKPBLOCK_WILL_INIT;
	ok(ask(rel, 5) == LOOKAHEAD_INIT, "\"initialised\" goes before \"repeated\"");
	block = set_block(queue_append(&queue, 1), 0, rel, 5);
	block->has_image = block->apply_image = true;
	ok(ask(rel, 5) == LOOKAHEAD_IMAGE, "\"image\" goes before \"initialised\"");

	lookahead_reset(lookahead, 40);
	queue_clear(&queue);
	ok(ask(rel, 5) == LOOKAHEAD_UNKNOWN, "a reset forgets");
	queue_clear(&queue);
}

static void
test_match(void)
{
	DecodedXLogRecord *record;

	queue_append(&queue, 0);
	ok(lookahead_match(queue.tail, 0, BLCKSZ) == NULL, "match: a record without blocks has none");

	record = queue_append(&queue, 3);
	set_block(record, 0, relations[0], 5);
	set_block(record, 1, relations[1], 6);
	set_block(record, 2, relations[0], 7 + RELSEG_SIZE);
	ok(lookahead_match(record, 5 * BLCKSZ, BLCKSZ) == &record->blocks[0] &&
	   lookahead_match(record, 6 * BLCKSZ, BLCKSZ) == &record->blocks[1], "match: by offset");
	ok(lookahead_match(record, 7 * BLCKSZ, BLCKSZ) == &record->blocks[2],
	   "match: the offset is that in the segment");
	ok(lookahead_match(record, 8 * BLCKSZ, BLCKSZ) == NULL, "match: no block has this offset");
	ok(lookahead_match(record, 5 * BLCKSZ, 2 * BLCKSZ) == NULL, "match: only single blocks");

	record->blocks[1].blkno = 5;
	ok(lookahead_match(record, 5 * BLCKSZ, BLCKSZ) == NULL,
	   "match: the same offset in two relations is ambiguous");
	record->blocks[1].forknum = VISIBILITYMAP_FORKNUM;
	ok(lookahead_match(record, 5 * BLCKSZ, BLCKSZ) == &record->blocks[0],
	   "match: unless only one of them is in the main fork");
	record->blocks[2].blkno = 5 + RELSEG_SIZE;
	ok(lookahead_match(record, 5 * BLCKSZ, BLCKSZ) == NULL,
	   "match: the same offset in two segments is ambiguous");
	record->blocks[0].has_image = true;
	ok(lookahead_match(record, 5 * BLCKSZ, BLCKSZ) == &record->blocks[2],
	   "match: unless one of them has an image");
	record->blocks[2].flags = BKPBLOCK_WILL_INIT;
	ok(lookahead_match(record, 5 * BLCKSZ, BLCKSZ) == NULL,
	   "match: a block that its own record initialises is not asked for");
	queue_clear(&queue);
}

int
main(int argc, char **argv)
{
	seed_random(argc, argv);
	lookahead = malloc(lookahead_size());
	memset(lookahead, 0x7f, lookahead_size());

	test_match();
	test_rules();
	test_random_queues();
	test_long_queue();
	ok(lookahead_size() <= 512 * 1024, "the index takes %zu kB, at most 512", lookahead_size() / 1024);
	return done_testing();
}
