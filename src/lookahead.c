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
 * looks ahead.  Instead we keep an index: one entry for each main-fork block
 * that the queue references, with the LSNs of the last record that has an
 * image of it, initialises it, or needs it read.  Each record is put into the
 * index once, when the tail has moved past it.  Nothing has to be taken out
 * when a record is applied: an LSN before the head's speaks of a record that
 * is no longer in the queue, which is all that there is to check.  Entries are
 * kept in the order of their last reference, so those that have left the queue
 * altogether are found at the front of that list and used again.
 *
 * All memory is one block of fixed size that the caller provides.  If there
 * are ever more blocks in the queue than entries, the oldest is forgotten; then
 * a block may be read that need not be, and that is all.
 *
 * Pure: no I/O, no locks, no errors, no allocation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "common/hashfn.h"
#include "lib/ilist.h"

#include "lookahead.h"

/*
 * Recovery looks ahead by at most 4 * maintenance_io_concurrency block
 * references (XLOGPREFETCHER_DISTANCE_MULTIPLIER in xlogprefetcher.c), and the
 * setting's upper limit is 1000.  The next power of two leaves room for the
 * last record's other blocks and for a change of the setting.
 */
#define MAX_BLOCKS	8192
#define NBUCKETS	8192
#define NO_ENTRY	PG_UINT16_MAX

/* One block that the queue references. */
typedef struct BlockEntry
{
	dlist_node	node;			/* in 'recent' */
	XLogRecPtr	image_lsn;		/* last record with an image to be applied */
	XLogRecPtr	init_lsn;		/* last record that initialises it */
	XLogRecPtr	read_lsn;		/* last record that needs it read */
	XLogRecPtr	last_lsn;		/* last record that references it at all */
	RelFileLocator rlocator;
	BlockNumber blkno;
	uint16		next;			/* in its bucket, or NO_ENTRY */
} BlockEntry;

struct Lookahead
{
	const DecodedXLogRecord *indexed;	/* last record in the index; only valid
										 * while it is in the queue */
	XLogRecPtr	indexed_lsn;	/* its LSN, or invalid */
	XLogRecPtr	head_lsn;		/* records before this have been applied */
	int			nused;			/* entries ever used */
	dlist_head	recent;			/* used entries, oldest reference first */
	uint16		bucket[NBUCKETS];
	BlockEntry	entry[MAX_BLOCKS];
};

/* How much memory a Lookahead needs, in bytes. */
Size
lookahead_size(void)
{
	return sizeof(Lookahead);
}

/* Forget everything; also initialises new memory. */
void
lookahead_reset(Lookahead *la)
{
	la->indexed = NULL;
	la->indexed_lsn = InvalidXLogRecPtr;
	la->head_lsn = InvalidXLogRecPtr;
	la->nused = 0;
	dlist_init(&la->recent);
	memset(la->bucket, 0xff, sizeof(la->bucket));
}

static inline uint32
block_bucket(const RelFileLocator *rlocator, BlockNumber blkno)
{
	uint32		hash = murmurhash32(blkno ^ murmurhash32(rlocator->relNumber));

	/* database and tablespace seldom tell blocks apart: mix them in cheaply */
	return (hash ^ rlocator->dbOid ^ rlocator->spcOid) % NBUCKETS;
}

/* The entry of a block, or NULL. */
static const BlockEntry *
find_entry(const Lookahead *la, const RelFileLocator *rlocator, BlockNumber blkno)
{
	uint16		i = la->bucket[block_bucket(rlocator, blkno)];

	while (i != NO_ENTRY)
	{
		const BlockEntry *entry = &la->entry[i];

		if (entry->blkno == blkno &&
			RelFileLocatorEquals(entry->rlocator, *rlocator))
			return entry;
		i = entry->next;
	}
	return NULL;
}

/* Take an entry out of its bucket. */
static void
unlink_entry(Lookahead *la, const BlockEntry *entry)
{
	uint16	   *link = &la->bucket[block_bucket(&entry->rlocator, entry->blkno)];

	while (&la->entry[*link] != entry)
		link = &la->entry[*link].next;
	*link = entry->next;
}

/*
 * Get an entry for a new block: the oldest if the queue has done with it, else
 * one never used, else the oldest all the same.
 */
static BlockEntry *
new_entry(Lookahead *la, const RelFileLocator *rlocator, BlockNumber blkno)
{
	BlockEntry *entry = NULL;
	uint16	   *bucket;

	if (!dlist_is_empty(&la->recent))
		entry = dlist_head_element(BlockEntry, node, &la->recent);

	if (entry && (entry->last_lsn < la->head_lsn || la->nused == MAX_BLOCKS))
	{
		dlist_delete(&entry->node);
		unlink_entry(la, entry);
	}
	else
		entry = &la->entry[la->nused++];

	entry->image_lsn = InvalidXLogRecPtr;
	entry->init_lsn = InvalidXLogRecPtr;
	entry->read_lsn = InvalidXLogRecPtr;
	entry->rlocator = *rlocator;
	entry->blkno = blkno;
	bucket = &la->bucket[block_bucket(rlocator, blkno)];
	entry->next = *bucket;
	*bucket = entry - la->entry;
	dlist_push_tail(&la->recent, &entry->node);
	return entry;
}

/* Put one reference into the index. */
static void
index_block(Lookahead *la, const DecodedBkpBlock *block, XLogRecPtr lsn)
{
	BlockEntry *entry = unconstify(BlockEntry *,
								   find_entry(la, &block->rlocator, block->blkno));

	if (entry == NULL)
		entry = new_entry(la, &block->rlocator, block->blkno);
	else
	{
		dlist_delete(&entry->node);
		dlist_push_tail(&la->recent, &entry->node);
	}

	/*
	 * An image that is there only for wal_consistency_checking is not put
	 * over the block.  Recovery does not prefetch for it either, so such a
	 * reference says neither that the block is covered nor that it was asked
	 * for.
	 */
	if (block->has_image && block->apply_image)
		entry->image_lsn = lsn;
	if (block->flags & BKPBLOCK_WILL_INIT)
		entry->init_lsn = lsn;
	if (lookahead_wants_block(block))
		entry->read_lsn = lsn;
	entry->last_lsn = lsn;
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

	la->head_lsn = head->lsn;
	if (la->indexed_lsn < head->lsn)
		record = head;
	else
		record = la->indexed->next;

	for (; record != NULL && record != tail; record = record->next)
	{
		for (int i = 0; i <= record->max_block_id; i++)
		{
			const DecodedBkpBlock *block = &record->blocks[i];

			if (block->in_use && block->forknum == MAIN_FORKNUM)
				index_block(la, block, record->lsn);
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
	const BlockEntry *entry = find_entry(la, rlocator, blkno);

	if (entry == NULL)
		return LOOKAHEAD_UNKNOWN;
	if (entry->image_lsn != InvalidXLogRecPtr && entry->image_lsn >= la->head_lsn)
		return LOOKAHEAD_IMAGE;
	if (entry->init_lsn != InvalidXLogRecPtr && entry->init_lsn >= la->head_lsn)
		return LOOKAHEAD_INIT;
	if (entry->read_lsn != InvalidXLogRecPtr && entry->read_lsn >= la->head_lsn)
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
