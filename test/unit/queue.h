/*-------------------------------------------------------------------------
 *
 * queue.h
 *	  A queue of decoded records like the WAL reader's, of made-up records.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEUE_H
#define QUEUE_H

#include "access/xlogreader.h"

typedef struct Queue
{
	DecodedXLogRecord *head;	/* to be applied next */
	DecodedXLogRecord *tail;	/* decoded last */
	XLogRecPtr	next_lsn;
	int			length;			/* records in it */
} Queue;

extern DecodedXLogRecord *queue_append(Queue *queue, int nblocks);
extern void queue_remove_head(Queue *queue);
extern void queue_clear(Queue *queue);
extern DecodedBkpBlock *set_block(DecodedXLogRecord *record, int block_id,
								  RelFileLocator rlocator, BlockNumber blkno);

#endif							/* QUEUE_H */
