/*-------------------------------------------------------------------------
 *
 * redo_hook.c
 *	  Follow WAL replay in the startup process.
 *
 * RmgrTable is an exported, writable array: each resource manager's rm_redo
 * applies the records of its kind.  All of them are replaced by one function
 * that calls the original, counts the record, and now and then calls whoever
 * registered here.  The table also has functions to be called when redo starts
 * and when it ends; the "XLOG" resource manager, which every server has, leaves
 * both free, and we chain to them if some future server does not.
 *
 * Replaying a small record from memory takes some 4,000 instructions, so what
 * is done for each has to make do with a few dozen.  The end of the last record
 * is published in shared memory, for other processes to see, and compared with
 * the LSN that one of them may wait for.
 *
 * The replacement is made when shared memory is set up: by then all libraries
 * have been loaded and their custom resource managers are in the table.  That
 * happens again after a crash, in the same postmaster, so it is idempotent.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "access/rmgr.h"
#include "access/xlog_internal.h"
#include "port/atomics.h"
#include "storage/shmem.h"

#include "redo_hook.h"

#define MAX_CALLBACKS 8

typedef void (*RedoFunction) (XLogReaderState *record);

static RedoFunction original_redo[RM_MAX_ID + 1];
static void (*original_startup) (void) = NULL;
static void (*original_cleanup) (void) = NULL;

static const RedoCallbacks *callbacks[MAX_CALLBACKS];
static int	ncallbacks = 0;

/* On a cache line of its own, or readers of one disturb writers of the other. */
typedef union PaddedLSN
{
	pg_atomic_uint64 lsn;
	char		pad[PG_CACHE_LINE_SIZE];
} PaddedLSN;

typedef struct RedoShared
{
	PaddedLSN	applied;		/* end of the last record applied; written by
								 * the startup process only */
	PaddedLSN	awaited;		/* tell 'reached' callbacks from here on */
} RedoShared;

static RedoShared *shared = NULL;

/* Local to the startup process. */
static XLogReaderState *redo_reader = NULL;
static XLogPageReadCB original_page_read = NULL;
static RedoProgress redo_progress;
static XLogRecPtr progress_at = InvalidXLogRecPtr;	/* call back from here on */

/*
 * Ask to be called back.  For _PG_init() only; callbacks run in the order of
 * registration, and *cb must stay valid.
 */
void
redo_hook_register(const RedoCallbacks *cb)
{
	Assert(ncallbacks < MAX_CALLBACKS);
	callbacks[ncallbacks++] = cb;
}

/* Count a record that was applied. */
static inline void
count_record(const DecodedXLogRecord *record)
{
	const DecodedBkpBlock *last = record->blocks + record->max_block_id;

	redo_progress.records++;
	redo_progress.bytes += record->header.xl_tot_len;

	/* in a block reference that is not in use, nothing else is valid */
	for (const DecodedBkpBlock *block = record->blocks; block <= last; block++)
		if (unlikely(block->has_image) && block->in_use)
			redo_progress.image_bytes += block->bimg_len;
}

static void
tell_progress(XLogReaderState *reader)
{
	progress_at = reader->EndRecPtr + REDO_PROGRESS_BYTES;
	for (int i = 0; i < ncallbacks; i++)
		if (callbacks[i]->progress)
			callbacks[i]->progress(reader);
}

static void
tell_reading(void)
{
	for (int i = 0; i < ncallbacks; i++)
		if (callbacks[i]->reading)
			callbacks[i]->reading();
}

/*
 * Takes the place of the reader's page_read.  The reader is used again when redo
 * is over.
 */
static int
redo_page_read(XLogReaderState *reader, XLogRecPtr pageptr, int reqlen,
			   XLogRecPtr recptr, char *buf)
{
	int			result;

	if (redo_reader == NULL)
		return original_page_read(reader, pageptr, reqlen, recptr, buf);

	tell_reading();
	result = original_page_read(reader, pageptr, reqlen, recptr, buf);
	for (int i = 0; i < ncallbacks; i++)
		if (callbacks[i]->read)
			callbacks[i]->read();
	return result;
}

static void
tell_reached(XLogRecPtr applied)
{
	pg_read_barrier();			/* pairs with redo_hook_await() */
	for (int i = 0; i < ncallbacks; i++)
		if (callbacks[i]->reached)
			callbacks[i]->reached(applied);
}

/* Call back whoever is to know that a record was applied; the first always is. */
static pg_noinline void
call_back(XLogReaderState *reader)
{
	if (unlikely(redo_reader == NULL))
	{
		redo_reader = reader;
		original_page_read = reader->routine.page_read;
		reader->routine.page_read = redo_page_read;
	}
	if (reader->EndRecPtr >= pg_atomic_read_u64(&shared->awaited.lsn))
		tell_reached(reader->EndRecPtr);
	if (reader->EndRecPtr >= progress_at)
		tell_progress(reader);
}

/*
 * Takes the place of every rm_redo.  Count the instructions when you add
 * anything (test/lab/overhead.sh).
 */
static void
redo_trampoline(XLogReaderState *reader)
{
	RedoShared *replay;
	XLogRecPtr	applied;

	original_redo[XLogRecGetRmid(reader)] (reader);
	count_record(reader->record);

	replay = shared;
	applied = reader->EndRecPtr;
	pg_atomic_write_u64(&replay->applied.lsn, applied);
	pg_memory_barrier();		/* pairs with redo_hook_await() */
	if (unlikely(applied >= pg_atomic_read_u64(&replay->awaited.lsn) ||
				 applied >= progress_at))
		call_back(reader);
}

/* Takes the place of the XLOG resource manager's rm_startup. */
static void
redo_begins(void)
{
	if (original_startup)
		original_startup();

	for (int i = 0; i < ncallbacks; i++)
		if (callbacks[i]->begin)
			callbacks[i]->begin();
}

/* Takes the place of the XLOG resource manager's rm_cleanup. */
static void
redo_ends(void)
{
	if (original_cleanup)
		original_cleanup();

	if (redo_reader != NULL)
		tell_reading();			/* a recovery target may have stopped it */
	for (int i = 0; i < ncallbacks; i++)
		if (callbacks[i]->end)
			callbacks[i]->end();
	redo_reader = NULL;
}

/* Replace the table's functions. */
static void
replace_functions(void)
{
	for (int rmid = 0; rmid <= RM_MAX_ID; rmid++)
	{
		if (RmgrTable[rmid].rm_name == NULL ||
			RmgrTable[rmid].rm_redo == redo_trampoline)
			continue;
		original_redo[rmid] = RmgrTable[rmid].rm_redo;
		RmgrTable[rmid].rm_redo = redo_trampoline;
	}

	if (RmgrTable[RM_XLOG_ID].rm_startup != redo_begins)
	{
		original_startup = RmgrTable[RM_XLOG_ID].rm_startup;
		original_cleanup = RmgrTable[RM_XLOG_ID].rm_cleanup;
		RmgrTable[RM_XLOG_ID].rm_startup = redo_begins;
		RmgrTable[RM_XLOG_ID].rm_cleanup = redo_ends;
	}
}

/* Shared memory needed, in bytes. */
Size
redo_hook_shmem_size(void)
{
	return sizeof(RedoShared);
}

/* Also gets between the server and its resource managers. */
void
redo_hook_shmem_startup(void)
{
	bool		found;

	shared = ShmemInitStruct("pg_prefetch_guard replay", sizeof(RedoShared), &found);
	if (!found)
	{
		pg_atomic_init_u64(&shared->applied.lsn, InvalidXLogRecPtr);
		pg_atomic_init_u64(&shared->awaited.lsn, PG_UINT64_MAX);
	}
	replace_functions();
}

/*
 * Let 'reached' callbacks be called from this LSN on; PG_UINT64_MAX: not at
 * all.  A record may be applied meanwhile without anyone noticing, so look at
 * redo_hook_applied() after that.
 */
void
redo_hook_await(XLogRecPtr lsn)
{
	pg_write_barrier();			/* pairs with tell_reached(): what callbacks
								 * read was written before */
	pg_atomic_write_u64(&shared->awaited.lsn, lsn);
	pg_memory_barrier();		/* pairs with redo_trampoline() */
}

/*
 * End of the last record applied, or invalid if none was yet.  Core publishes
 * this a little later.
 */
XLogRecPtr
redo_hook_applied(void)
{
	return pg_atomic_read_u64(&shared->applied.lsn);
}

/*
 * The reader that records come from, or NULL before the first one was applied
 * and after the last.  Its decode queue holds what has been decoded but not yet
 * applied.
 */
XLogReaderState *
redo_hook_reader(void)
{
	return redo_reader;
}

/* For 'progress' callbacks: call them again after the next record. */
void
redo_hook_next_record(void)
{
	progress_at = InvalidXLogRecPtr;
}

/* What this process has applied since it started. */
const RedoProgress *
redo_hook_progress(void)
{
	return &redo_progress;
}
