/*-------------------------------------------------------------------------
 *
 * lookahead.c
 *	  What the records that are decoded but not yet applied say of a block.
 *
 * The reader keeps a queue of decoded records, from the one to be applied next
 * (head) to the one decoded last (tail), which recovery prefetch is looking
 * at.  Whether a block of the tail record needs to be read depends on the
 * records between: if one of them overwrites the block with a full-page image
 * or initialises it, the block on disk is of no interest; if one of them needs
 * the block as well, it was asked for already.
 *
 * Walking the queue for each question would cost more the further recovery
 * looks ahead.  Instead we keep an index: for each main-fork block that the
 * queue references, the positions of the last record that has an image of it,
 * of the last that initialises it, and of the last that needs it read.  Each
 * record is put into the index once, when the tail has moved past it.  Nothing
 * has to be taken out when a record is applied: a position before the head's
 * speaks of a record that is no longer in the queue, which is all that there is
 * to check.
 *
 * The index is built like a processor's cache.  A block's hash value selects a
 * set of WAYS entries, and the block may be in any of them; a new block takes
 * the entry that has been out of use longest.  So there are no chains or lists
 * to follow: the few cache lines that a question needs are all known at once,
 * and it costs little more when the index is too large for the processor's
 * caches.
 *
 * All memory is one block of fixed size that the caller provides; a shorter
 * look-ahead uses less of it, and so leaves more of the processor's caches to
 * others.  There are several times as many entries as recovery looks at
 * references, so a set hardly ever overflows; if one does, the block is
 * forgotten that was longest out of use.  Then a block may be read that need
 * not be, and that is all.
 *
 * Pure: no I/O, no locks, no errors, no allocation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "common/hashfn.h"

#include "lookahead.h"

/*
 * Four references for each set: the chance that a set's 16 entries do not
 * suffice is a few in a million.
 */
#define WAYS				16
#define REFERENCES_PER_SET	4
#define MAX_SETS			(LOOKAHEAD_MAX_REFERENCES / REFERENCES_PER_SET)

/* Sets start at a cache line; most processors have lines of this size. */
#define LINE_SIZE	64

/*
 * A record's position is its distance from base_lsn in units of the alignment
 * of records, plus one, so that 0 is before every record.
 */
typedef uint32 Position;

#define POSITION_LIMIT	((uint64) PG_UINT32_MAX * MAXIMUM_ALIGNOF)

/* What the queue says of one block. */
typedef struct BlockEntry
{
	RelFileLocator rlocator;	/* all zero in an entry never used */
	Position	image;			/* last record with an image to be applied */
	Position	init;			/* last record that initialises it */
	Position	read;			/* last record that needs it read */
} BlockEntry;

/* Blocks whose hash values agree; their numbers are compared first. */
typedef struct BlockSet
{
	BlockNumber blkno[WAYS];
	BlockEntry	entry[WAYS];
} BlockSet;

struct Lookahead
{
	const DecodedXLogRecord *indexed;	/* last record in the index; only valid
										 * while it is in the queue */
	XLogRecPtr	indexed_lsn;	/* its LSN, or invalid */
	XLogRecPtr	base_lsn;
	Position	head;			/* records before this have been applied */
	uint32		nsets;			/* a power of two */
	BlockSet   *sets;			/* in the same memory, MAX_SETS at most */
};

/* How much memory a Lookahead needs, in bytes. */
Size
lookahead_size(void)
{
	return sizeof(Lookahead) + LINE_SIZE + MAX_SETS * sizeof(BlockSet);
}

static void
forget_all(Lookahead *la)
{
	la->indexed = NULL;
	la->indexed_lsn = InvalidXLogRecPtr;
	la->base_lsn = InvalidXLogRecPtr;
	la->head = 0;
	memset(la->sets, 0, la->nsets * sizeof(BlockSet));
}

/*
 * Forget everything, and prepare for a queue of up to 'references' block
 * references, of which more than LOOKAHEAD_MAX_REFERENCES do not count; also
 * initialises new memory.
 */
void
lookahead_reset(Lookahead *la, int references)
{
	la->sets = (BlockSet *) TYPEALIGN(LINE_SIZE, la + 1);
	la->nsets = 1;
	while (la->nsets < MAX_SETS && la->nsets * REFERENCES_PER_SET < references)
		la->nsets *= 2;
	forget_all(la);
}

static inline Position
position(const Lookahead *la, XLogRecPtr lsn)
{
	return (lsn - la->base_lsn) / MAXIMUM_ALIGNOF + 1;
}

/* The set that a block belongs to. */
static inline BlockSet *
block_set(const Lookahead *la, const RelFileLocator *rlocator, BlockNumber blkno)
{
	uint32		hash = murmurhash32(blkno ^ murmurhash32(rlocator->relNumber));

	/* database and tablespace seldom tell blocks apart: mix them in cheaply */
	return &la->sets[(hash ^ rlocator->dbOid ^ rlocator->spcOid) & (la->nsets - 1)];
}

/* A block's entry in its set, or NULL. */
static inline BlockEntry *
find_entry(BlockSet *set, const RelFileLocator *rlocator, BlockNumber blkno)
{
	for (int i = 0; i < WAYS; i++)
		if (set->blkno[i] == blkno &&
			RelFileLocatorEquals(set->entry[i].rlocator, *rlocator))
			return &set->entry[i];
	return NULL;
}

/*
 * Get an entry for a new block: one that the queue has done with, or else the
 * one that has been out of use longest.
 */
static BlockEntry *
new_entry(BlockSet *set, const RelFileLocator *rlocator, BlockNumber blkno,
		  Position head)
{
	int			oldest = 0;
	Position	oldest_use = PG_UINT32_MAX;

	for (int i = 0; i < WAYS && oldest_use >= head; i++)
	{
		const BlockEntry *entry = &set->entry[i];
		Position	use = Max(Max(entry->image, entry->init), entry->read);

		if (use < oldest_use)
		{
			oldest = i;
			oldest_use = use;
		}
	}
	set->blkno[oldest] = blkno;
	set->entry[oldest] = (BlockEntry) {.rlocator = *rlocator};
	return &set->entry[oldest];
}

/* Put one reference to a main-fork block into the index. */
static void
index_block(Lookahead *la, const DecodedBkpBlock *block, Position pos)
{
	/*
	 * An image that is there only for wal_consistency_checking is not put
	 * over the block.  Recovery does not prefetch for it either, so such a
	 * reference says neither that the block is covered nor that it was asked
	 * for.
	 */
	bool		image = block->has_image && block->apply_image;
	bool		init = (block->flags & BKPBLOCK_WILL_INIT) != 0;
	bool		read = lookahead_wants_block(block);
	BlockSet   *set;
	BlockEntry *entry;

	if (!image && !init && !read)
		return;
	set = block_set(la, &block->rlocator, block->blkno);
	entry = find_entry(set, &block->rlocator, block->blkno);
	if (entry == NULL)
		entry = new_entry(set, &block->rlocator, block->blkno, la->head);
	if (image)
		entry->image = pos;
	if (init)
		entry->init = pos;
	if (read)
		entry->read = pos;
}

/* Have the sets of a record's blocks brought into the processor's caches. */
static void
fetch_sets(const Lookahead *la, const DecodedXLogRecord *record)
{
	for (int i = 0; i <= record->max_block_id; i++)
	{
		const DecodedBkpBlock *block = &record->blocks[i];
		const BlockSet *set = block_set(la, &block->rlocator, block->blkno);

		__builtin_prefetch(set->blkno);
		__builtin_prefetch(set->entry);
	}
}

/*
 * Bring the index up to date: it then covers the queue from 'head' to the
 * record before 'tail'.
 *
 * Call this again whenever 'tail' has moved and before asking about blocks;
 * what 'head' and 'tail' point to must be one reader's queue.  After that
 * reader was repositioned (XLogBeginRead()), lookahead_reset() must come
 * first, since the record indexed last may no longer exist then.
 */
void
lookahead_advance(Lookahead *la, const DecodedXLogRecord *head,
				  const DecodedXLogRecord *tail)
{
	const DecodedXLogRecord *record;

	/* every 32 GB of WAL, and at first, start over with a new base */
	if (tail->lsn - la->base_lsn >= POSITION_LIMIT)
	{
		forget_all(la);
		la->base_lsn = head->lsn;
	}

	la->head = position(la, head->lsn);
	if (la->indexed_lsn < head->lsn)
		record = head;
	else
		record = la->indexed->next;

	for (; record != NULL && record != tail; record = record->next)
	{
		Position	pos = position(la, record->lsn);

		/* at last this is the tail, whose blocks we will be asked about */
		if (record->next)
			fetch_sets(la, record->next);

		for (int i = 0; i <= record->max_block_id; i++)
		{
			const DecodedBkpBlock *block = &record->blocks[i];

			if (block->in_use && block->forknum == MAIN_FORKNUM)
				index_block(la, block, pos);
		}
		la->indexed = record;
		la->indexed_lsn = record->lsn;
	}
}

/*
 * What will the records in the index do to this main-fork block?  The answer
 * is the first that holds, in the order of LookaheadVerdict.
 */
LookaheadVerdict
lookahead_block(const Lookahead *la, const RelFileLocator *rlocator,
				BlockNumber blkno)
{
	const BlockEntry *entry = find_entry(block_set(la, rlocator, blkno), rlocator, blkno);

	if (entry == NULL)
		return LOOKAHEAD_UNKNOWN;
	if (entry->image >= la->head)
		return LOOKAHEAD_IMAGE;
	if (entry->init >= la->head)
		return LOOKAHEAD_INIT;
	if (entry->read >= la->head)
		return LOOKAHEAD_REPEATED;
	return LOOKAHEAD_UNKNOWN;
}

/*
 * Would recovery prefetch this block, going by what its record alone says?
 * (See XLogPrefetcherNextBlock() in xlogprefetcher.c.)
 */
bool
lookahead_wants_block(const DecodedBkpBlock *block)
{
	return block->in_use && block->forknum == MAIN_FORKNUM &&
		!block->has_image && !(block->flags & BKPBLOCK_WILL_INIT);
}

/*
 * Which block of a record is a prefetch of 'length' bytes at 'offset' of some
 * file for?  Returns NULL unless there is exactly one that fits.
 */
const DecodedBkpBlock *
lookahead_match(const DecodedXLogRecord *record, off_t offset, off_t length)
{
	const DecodedBkpBlock *match = NULL;

	if (length != BLCKSZ)
		return NULL;
	for (int i = 0; i <= record->max_block_id; i++)
	{
		const DecodedBkpBlock *block = &record->blocks[i];

		if (!lookahead_wants_block(block) ||
			(off_t) (block->blkno % RELSEG_SIZE) * BLCKSZ != offset)
			continue;
		if (match)
			return NULL;
		match = block;
	}
	return match;
}
