/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  A queue of decoded records like the WAL reader's, of made-up records.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "queue.h"

/*
 * Add a record with room for some block references, none of them in use, at
 * the tail.
 */
DecodedXLogRecord *
queue_append(Queue *queue, int nblocks)
{
	DecodedXLogRecord *record = calloc(1, offsetof(DecodedXLogRecord, blocks) +
									   nblocks * sizeof(DecodedBkpBlock));

	record->max_block_id = nblocks - 1;
	queue->next_lsn += 8;
	record->lsn = queue->next_lsn;
	if (queue->tail)
		queue->tail->next = record;
	else
		queue->head = record;
	queue->tail = record;
	queue->length++;
	return record;
}

/*
 * The record at the head has been applied.  Its memory is spoilt, so that
 * whoever still looks at it is led astray.
 */
void
queue_remove_head(Queue *queue)
{
	DecodedXLogRecord *record = queue->head;

	queue->head = record->next;
	if (queue->head == NULL)
		queue->tail = NULL;
	queue->length--;
	memset(record, 0x7f, offsetof(DecodedXLogRecord, blocks));
	free(record);
}

void
queue_clear(Queue *queue)
{
	while (queue->head)
		queue_remove_head(queue);
}

/* Let a record reference a main-fork block, for reading; returns that. */
DecodedBkpBlock *
set_block(DecodedXLogRecord *record, int block_id,
		  RelFileLocator rlocator, BlockNumber blkno)
{
	DecodedBkpBlock *block = &record->blocks[block_id];

	block->in_use = true;
	block->rlocator = rlocator;
	block->forknum = MAIN_FORKNUM;
	block->blkno = blkno;
	return block;
}
