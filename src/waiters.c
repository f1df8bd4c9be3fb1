/*-------------------------------------------------------------------------
 *
 * waiters.c
 *	  Backends that sleep until this server has reached an LSN.
 *
 * A backend that has to wait puts its entry of a shared array into a heap, one
 * for each kind of position (mode), and sleeps on its latch.  Whoever moves the
 * position takes the entries it has passed out of the heap and sets their
 * latches: the startup process after each record (redo_hook.c), the walreceiver
 * when it has written or flushed (walreceiver_hook.c).  What has been replayed
 * has been written and flushed as well, wherever it came from, so the startup
 * process looks at all heaps.
 *
 * Most of the time nobody waits.  So the least target of each heap, and the
 * least of all, are kept outside the lock, and as long as they are not reached
 * that one read is all there is to do.
 *
 * That the last waiter is never missed rests on the order of two steps each:
 *
 *	mover: publish the position; full barrier; read the least target
 *	waiter: publish its target; full barrier; read the position
 *
 * At least one of the two sees what the other has published.  Core publishes
 * the end of a record as the replay position only after rm_redo, when we have
 * already looked for waiters.  Therefore we publish the position 'applied' of
 * our own before we look, and a waiter that sees it ahead of core's waits for
 * core's to follow, which takes microseconds: when it returns, nobody can be
 * told an older position any more.
 *
 * The flush position of a primary is moved by any backend, which nothing tells
 * us of.  If the target has been inserted, the waiter flushes it itself; if
 * not, it sleeps for a while and looks again.
 *
 * Nothing has to be cleaned up after a crash, since shared memory is
 * initialised again.  In all other cases the entry is taken out of its heap by
 * the backend, in PG_CATCH or when it exits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/pairingheap.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "replication/walreceiver.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "pg_prefetch_guard.h"
#include "redo_hook.h"
#include "waiters.h"
#include "walreceiver_hook.h"

/* Stands for no target, and for a position that is past every target. */
#define NO_TARGET				PG_UINT64_MAX

/* How often to look when nobody is sure to wake us, in milliseconds. */
#define POLL_RECEIVED			100
#define POLL_END_OF_RECOVERY	1000
#define POLL_FLUSH_MIN			1
#define POLL_FLUSH_MAX			32

/* For how long core may be behind 'applied' before we look again. */
#define PUBLISH_NAP_US			20

/* Latches set at a time, without holding the lock. */
#define WAKE_BATCH				16

/* Upper bounds of the histogram's buckets but the last, in milliseconds. */
static const double histogram_bounds[] = {
	0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000
};

#define HISTOGRAM_NBUCKETS		(lengthof(histogram_bounds) + 1)

/*
 * A backend that waits, or room for it.  Written by that backend, all but
 * in_heap, which is under the lock: only the backend sets it, anyone clears it.
 */
typedef struct Waiter
{
	pairingheap_node node;
	bool		in_heap;
	int			pid;			/* 0: does not wait */
	WaitMode	mode;
	XLogRecPtr	target;
	Latch	   *latch;
	TimestampTz started_at;
	TimestampTz deadline;		/* 0: none */
} Waiter;

/* Waits of one mode that have ended. */
typedef struct WaitCounts
{
	pg_atomic_uint64 outcome[WAIT_NOUTCOMES];
	pg_atomic_uint64 total_us;	/* time waited, in microseconds */
	pg_atomic_uint64 max_us;
	pg_atomic_uint64 histogram[HISTOGRAM_NBUCKETS];
} WaitCounts;

/* On a cache line of its own, or the startup process and others share it. */
typedef union PaddedPosition
{
	pg_atomic_uint64 lsn;
	char		pad[PG_CACHE_LINE_SIZE];
} PaddedPosition;

/* Which positions the walreceiver tells of as soon as they are reached. */
typedef enum ReceiverTells
{
	RECEIVER_TELLS_NOTHING,		/* it has not run, or cannot be followed */
	RECEIVER_TELLS_WRITTEN,
	RECEIVER_TELLS_FLUSHED		/* that as well */
} ReceiverTells;

typedef struct WaitersShared
{
	PaddedPosition applied;		/* end of the last record applied; startup
								 * process only */
	PaddedPosition least_of_all;	/* least target in any heap */
	pg_atomic_uint64 least[WAIT_NSTANDBY_MODES];	/* least target in a heap */
	pg_atomic_uint32 end_is_told;	/* 1: the end of recovery wakes everybody */
	pg_atomic_uint32 receiver_tells;	/* ReceiverTells; walreceiver only */

	pairingheap heap[WAIT_NSTANDBY_MODES];	/* under the lock */
	WaitCounts	counts[WAIT_NMODES];
	Waiter		waiter[FLEXIBLE_ARRAY_MEMBER];	/* by process number */
} WaitersShared;

typedef struct ModeInfo
{
	const char *name;			/* what SQL calls it */
	const char *wait_event;
} ModeInfo;

static const ModeInfo modes[WAIT_NMODES] = {
	[WAIT_MODE_STANDBY_REPLAY] = {"standby_replay", "WaitForLsnReplay"},
	[WAIT_MODE_STANDBY_WRITE] = {"standby_write", "WaitForLsnWrite"},
	[WAIT_MODE_STANDBY_FLUSH] = {"standby_flush", "WaitForLsnFlush"},
	[WAIT_MODE_PRIMARY_FLUSH] = {"primary_flush", "WaitForLsnPrimaryFlush"}
};

static WaitersShared *shared = NULL;

/* Protects the heaps and which entries are in them. */
static LWLock *lock = NULL;

/* When this backend's present wait began. */
static instr_time wait_start;

SQL_FUNCTION(pg_get_prefetch_guard_waiters);
SQL_FUNCTION(pg_stat_get_prefetch_guard_waits);

/* The mode's name in SQL. */
const char *
wait_mode_name(WaitMode mode)
{
	return modes[mode].name;
}

/*
 * How far this server is.  What has been replayed counts as written and
 * flushed: it may have come from an archive or have been there all along.
 */
XLogRecPtr
wait_mode_position(WaitMode mode)
{
	switch (mode)
	{
		case WAIT_MODE_STANDBY_REPLAY:
			return GetXLogReplayRecPtr(NULL);
		case WAIT_MODE_STANDBY_WRITE:
			return Max(GetWalRcvWriteRecPtr(), GetXLogReplayRecPtr(NULL));
		case WAIT_MODE_STANDBY_FLUSH:
			return Max(GetWalRcvFlushRecPtr(NULL, NULL), GetXLogReplayRecPtr(NULL));
		case WAIT_MODE_PRIMARY_FLUSH:
			return GetFlushRecPtr(NULL);
	}
	pg_unreachable();
}

/* Heap order: the least target first. */
static int
compare_targets(const pairingheap_node *a, const pairingheap_node *b, void *arg)
{
	XLogRecPtr	target_a = pairingheap_const_container(Waiter, node, a)->target;
	XLogRecPtr	target_b = pairingheap_const_container(Waiter, node, b)->target;

	return target_a < target_b ? 1 : (target_a > target_b ? -1 : 0);
}

/* The waiter with a heap's least target, or NULL. */
static Waiter *
first_waiter(WaitMode mode)
{
	if (pairingheap_is_empty(&shared->heap[mode]))
		return NULL;
	return pairingheap_container(Waiter, node, pairingheap_first(&shared->heap[mode]));
}

/* Publish the least targets after a change of a heap.  The lock is held. */
static void
publish_least(WaitMode mode)
{
	const Waiter *first = first_waiter(mode);
	uint64		least_of_all = NO_TARGET;

	pg_atomic_write_u64(&shared->least[mode], first ? first->target : NO_TARGET);
	for (int i = 0; i < WAIT_NSTANDBY_MODES; i++)
		least_of_all = Min(least_of_all, pg_atomic_read_u64(&shared->least[i]));
	pg_atomic_write_u64(&shared->least_of_all.lsn, least_of_all);
}

/*
 * Take up to WAKE_BATCH waiters whose target is not past 'position' out of a
 * heap, and return their number and latches.
 */
static int
take_reached(WaitMode mode, XLogRecPtr position, Latch **latches)
{
	Waiter	   *first;
	int			n = 0;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	while (n < WAKE_BATCH &&
		   (first = first_waiter(mode)) != NULL && first->target <= position)
	{
		pairingheap_remove_first(&shared->heap[mode]);
		first->in_heap = false;
		latches[n++] = first->latch;
	}
	publish_least(mode);
	LWLockRelease(lock);
	return n;
}

/*
 * Wake those whose target is not past 'position', which must have been
 * published, and a full barrier passed, before.  A latch belongs to a process
 * slot, so setting it late merely makes some other process look around.
 */
static void
wake_reached(WaitMode mode, XLogRecPtr position)
{
	Latch	   *latches[WAKE_BATCH];
	int			n = WAKE_BATCH;

	if (pg_atomic_read_u64(&shared->least[mode]) > position)
		return;
	while (n == WAKE_BATCH)
	{
		n = take_reached(mode, position, latches);
		for (int i = 0; i < n; i++)
			SetLatch(latches[i]);
	}
}

/* Exit callback of the startup process: recovery is over, or the server. */
static void
wake_everybody(int code, Datum arg)
{
	for (int mode = 0; mode < WAIT_NSTANDBY_MODES; mode++)
		wake_reached(mode, NO_TARGET);
}

/* Redo callback: about to start. */
static void
waiters_redo_begins(void)
{
	on_shmem_exit(wake_everybody, 0);
	pg_atomic_write_u32(&shared->end_is_told, 1);
}

/* Redo callback: a record was applied. */
static void
waiters_record_applied(XLogReaderState *record)
{
	XLogRecPtr	position = record->EndRecPtr;

	pg_atomic_write_u64(&shared->applied.lsn, position);
	pg_memory_barrier();		/* pairs with enter_heap() */
	if (likely(pg_atomic_read_u64(&shared->least_of_all.lsn) > position))
		return;
	for (int mode = 0; mode < WAIT_NSTANDBY_MODES; mode++)
		wake_reached(mode, position);
}

/* Walreceiver callback: WAL may have been written or flushed. */
static void
waiters_wal_received(void)
{
	uint32		tells = wal_receiver_status_interval > 0 ?
		RECEIVER_TELLS_FLUSHED : RECEIVER_TELLS_WRITTEN;

	if (unlikely(pg_atomic_read_u32(&shared->receiver_tells) != tells))
	{
		/* have everybody think anew about how long to sleep */
		pg_atomic_write_u32(&shared->receiver_tells, tells);
		pg_memory_barrier();	/* pairs with enter_heap() */
		wake_reached(WAIT_MODE_STANDBY_FLUSH, NO_TARGET);
	}

	pg_memory_barrier();		/* pairs with enter_heap() */
	if (pg_atomic_read_u64(&shared->least[WAIT_MODE_STANDBY_WRITE]) != NO_TARGET)
		wake_reached(WAIT_MODE_STANDBY_WRITE, GetWalRcvWriteRecPtr());
	if (pg_atomic_read_u64(&shared->least[WAIT_MODE_STANDBY_FLUSH]) != NO_TARGET)
		wake_reached(WAIT_MODE_STANDBY_FLUSH, GetWalRcvFlushRecPtr(NULL, NULL));
}

static const RedoCallbacks waiters_callbacks = {
	.begin = waiters_redo_begins,
	.applied = waiters_record_applied
};

/* Follow replay and the walreceiver. */
void
waiters_init(void)
{
	redo_hook_register(&waiters_callbacks);
	walreceiver_hook_install(waiters_wal_received);
}

/* Ask for the lock. */
void
waiters_shmem_request(void)
{
	RequestNamedLWLockTranche("pg_prefetch_guard", 1);
}

/* Shared memory needed, in bytes. */
Size
waiters_shmem_size(void)
{
	return add_size(offsetof(WaitersShared, waiter),
					mul_size(MaxBackends, sizeof(Waiter)));
}

static void
init_counts(WaitCounts *counts)
{
	for (int i = 0; i < WAIT_NOUTCOMES; i++)
		pg_atomic_init_u64(&counts->outcome[i], 0);
	pg_atomic_init_u64(&counts->total_us, 0);
	pg_atomic_init_u64(&counts->max_us, 0);
	for (int i = 0; i < HISTOGRAM_NBUCKETS; i++)
		pg_atomic_init_u64(&counts->histogram[i], 0);
}

void
waiters_shmem_startup(void)
{
	bool		found;

	lock = &GetNamedLWLockTranche("pg_prefetch_guard")->lock;
	shared = ShmemInitStruct("pg_prefetch_guard waiters", waiters_shmem_size(), &found);
	if (found)
		return;

	memset(shared, 0, waiters_shmem_size());
	pg_atomic_init_u64(&shared->applied.lsn, InvalidXLogRecPtr);
	pg_atomic_init_u64(&shared->least_of_all.lsn, NO_TARGET);
	pg_atomic_init_u32(&shared->end_is_told, 0);
	pg_atomic_init_u32(&shared->receiver_tells, RECEIVER_TELLS_NOTHING);
	for (int i = 0; i < WAIT_NSTANDBY_MODES; i++)
	{
		pg_atomic_init_u64(&shared->least[i], NO_TARGET);
		shared->heap[i].ph_compare = compare_targets;
	}
	for (int i = 0; i < WAIT_NMODES; i++)
		init_counts(&shared->counts[i]);
}

/* Forget the waits that have ended. */
void
waiters_reset(void)
{
	for (int mode = 0; mode < WAIT_NMODES; mode++)
	{
		WaitCounts *c = &shared->counts[mode];

		for (int i = 0; i < WAIT_NOUTCOMES; i++)
			pg_atomic_write_u64(&c->outcome[i], 0);
		pg_atomic_write_u64(&c->total_us, 0);
		pg_atomic_write_u64(&c->max_us, 0);
		for (int i = 0; i < HISTOGRAM_NBUCKETS; i++)
			pg_atomic_write_u64(&c->histogram[i], 0);
	}
}

/* Count a wait that has ended. */
static void
count_wait(WaitMode mode, WaitOutcome outcome)
{
	WaitCounts *c = &shared->counts[mode];
	instr_time	elapsed;
	uint64		us;
	uint64		max;
	int			bucket = 0;

	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, wait_start);
	us = INSTR_TIME_GET_MICROSEC(elapsed);

	while (bucket < lengthof(histogram_bounds) && us > histogram_bounds[bucket] * 1000)
		bucket++;
	pg_atomic_fetch_add_u64(&c->histogram[bucket], 1);
	pg_atomic_fetch_add_u64(&c->outcome[outcome], 1);
	pg_atomic_fetch_add_u64(&c->total_us, us);

	max = pg_atomic_read_u64(&c->max_us);
	while (max < us && !pg_atomic_compare_exchange_u64(&c->max_us, &max, us))
		;
}

static inline Waiter *
my_entry(void)
{
	return &shared->waiter[MyProcNumber];
}

/* Stop waiting, for whatever reason. */
static void
leave(void)
{
	Waiter	   *me = my_entry();

	/* The lock is not needed if we have been woken; nobody else sets this. */
	if (me->in_heap)
	{
		LWLockAcquire(lock, LW_EXCLUSIVE);
		if (me->in_heap)
		{
			pairingheap_remove(&shared->heap[me->mode], &me->node);
			me->in_heap = false;
			publish_least(me->mode);
		}
		LWLockRelease(lock);
	}
	me->pid = 0;
}

/* Exit callback of a backend that has waited. */
static void
leave_at_exit(int code, Datum arg)
{
	Waiter	   *me = my_entry();

	if (me->pid == 0)
		return;
	count_wait(me->mode, WAIT_OUTCOME_FAILED);
	leave();
}

/* Fill this backend's entry. */
static void
enter(WaitMode mode, XLogRecPtr target, TimestampTz now, TimestampTz deadline)
{
	static bool exit_registered = false;
	Waiter	   *me = my_entry();

	if (!exit_registered)
	{
		on_shmem_exit(leave_at_exit, 0);
		exit_registered = true;
	}

	LWLockAcquire(lock, LW_EXCLUSIVE);
	me->mode = mode;
	me->target = target;
	me->latch = MyLatch;
	me->started_at = now;
	me->deadline = deadline;
	me->pid = MyProcPid;
	LWLockRelease(lock);
}

/* Ask to be woken.  The position has to be looked at once more after that. */
static void
enter_heap(void)
{
	Waiter	   *me = my_entry();

	LWLockAcquire(lock, LW_EXCLUSIVE);
	pairingheap_add(&shared->heap[me->mode], &me->node);
	me->in_heap = true;
	publish_least(me->mode);
	LWLockRelease(lock);
	pg_memory_barrier();		/* pairs with waiters_record_applied() and
								 * waiters_wal_received() */
}

/*
 * Flush a primary's WAL up to 'target', or as far as there is any.
 *
 * When the last record ends with its page, the insert position is already
 * behind the next page's header, up to which there is nothing to flush yet.
 */
static void
flush_inserted(XLogRecPtr target)
{
	XLogRecPtr	end = GetXLogInsertRecPtr();
	uint32		page_offset = end % XLOG_BLCKSZ;
	uint32		header = XLogSegmentOffset(end, wal_segment_size) == page_offset ?
		SizeOfXLogLongPHD : SizeOfXLogShortPHD;

	if (page_offset == header)
		end -= header;
	if (target <= end)
		XLogFlush(target);
}

/* Is whoever waits for this sure to be woken? */
static bool
is_woken(WaitMode mode)
{
	switch (mode)
	{
		case WAIT_MODE_STANDBY_REPLAY:
			return true;
		case WAIT_MODE_STANDBY_WRITE:
			return pg_atomic_read_u32(&shared->receiver_tells) >= RECEIVER_TELLS_WRITTEN;
		case WAIT_MODE_STANDBY_FLUSH:
			return pg_atomic_read_u32(&shared->receiver_tells) >= RECEIVER_TELLS_FLUSHED;
		case WAIT_MODE_PRIMARY_FLUSH:
			return false;
	}
	pg_unreachable();
}

/* For how long to sleep at most, in milliseconds; -1: until woken. */
static long
longest_sleep(WaitMode mode, TimestampTz deadline, long flush_poll)
{
	long		ms = -1;

	if (mode == WAIT_MODE_PRIMARY_FLUSH)
		ms = flush_poll;
	else if (!is_woken(mode))
		ms = POLL_RECEIVED;
	else if (pg_atomic_read_u32(&shared->end_is_told) == 0)
		ms = POLL_END_OF_RECOVERY;

	if (deadline != 0)
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		ms = ms < 0 ? left : Min(ms, left);
	}
	return ms;
}

/* The wait event of a mode, the first time it is asked for. */
static uint32
wait_event(WaitMode mode)
{
	static uint32 events[WAIT_NMODES];

	if (events[mode] == 0)
		events[mode] = WaitEventExtensionNew(modes[mode].wait_event);
	return events[mode];
}

/* Wait; this backend's entry is filled. */
static WaitOutcome
wait_entered(void)
{
	Waiter	   *me = my_entry();
	bool		standby = me->mode != WAIT_MODE_PRIMARY_FLUSH;
	long		flush_poll = POLL_FLUSH_MIN;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();

		if (standby && !RecoveryInProgress())
		{
			/*
			 * Whether the server got there before it was promoted can still
			 * be told, but the end of a crash recovery means nothing.
			 */
			if (PromoteIsTriggered() && wait_mode_position(me->mode) >= me->target)
				return WAIT_OUTCOME_SUCCESS;
			return WAIT_OUTCOME_NOT_IN_RECOVERY;
		}
		if (!standby)
			flush_inserted(me->target);

		if (wait_mode_position(me->mode) >= me->target)
			return WAIT_OUTCOME_SUCCESS;
		if (me->deadline != 0 && GetCurrentTimestamp() >= me->deadline)
			return WAIT_OUTCOME_TIMEOUT;

		if (standby && pg_atomic_read_u64(&shared->applied.lsn) >= me->target)
		{
			/* applied, but not yet published by core */
			pg_usleep(PUBLISH_NAP_US);
			continue;
		}
		if (standby && !me->in_heap)
		{
			/* look once more after that, or a wakeup might have been missed */
			enter_heap();
			continue;
		}

		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 longest_sleep(me->mode, me->deadline, flush_poll),
						 wait_event(me->mode));
		ResetLatch(MyLatch);
		flush_poll = Min(flush_poll * 2, POLL_FLUSH_MAX);
	}
}

/*
 * Sleep until this server has reached 'target', or for 'timeout' milliseconds
 * if that is not zero.  The caller must not hold a snapshot, which might be
 * what replay waits for, and for WAIT_MODE_PRIMARY_FLUSH must have made sure
 * that this is a primary.
 *
 * After success, wait_mode_position() is at the target or past it, and what was
 * committed up to there is visible to a new snapshot.
 */
WaitOutcome
wait_until_reached(WaitMode mode, XLogRecPtr target, int timeout)
{
	TimestampTz now = GetCurrentTimestamp();
	WaitOutcome outcome = WAIT_OUTCOME_FAILED;

	INSTR_TIME_SET_CURRENT(wait_start);
	enter(mode, target, now, timeout > 0 ? TimestampTzPlusMilliseconds(now, timeout) : 0);
	PG_TRY();
	{
		outcome = wait_entered();
	}
	PG_CATCH();
	{
		leave();
		count_wait(mode, geterrcode() == ERRCODE_QUERY_CANCELED ?
				   WAIT_OUTCOME_CANCELED : WAIT_OUTCOME_FAILED);
		PG_RE_THROW();
	}
	PG_END_TRY();
	leave();
	count_wait(mode, outcome);
	return outcome;
}

/* Copy the entries of those that wait; returns their number. */
static int
copy_waiters(Waiter *copy)
{
	int			n = 0;

	LWLockAcquire(lock, LW_SHARED);
	for (int i = 0; i < MaxBackends; i++)
		if (shared->waiter[i].pid != 0)
			copy[n++] = shared->waiter[i];
	LWLockRelease(lock);
	return n;
}

/*
 * pg_get_prefetch_guard_waiters() returns setof record: the rows of the view
 * pg_prefetch_guard_waiters.  The documentation has the columns.
 */
Datum
pg_get_prefetch_guard_waiters(PG_FUNCTION_ARGS)
{
#define WAITERS_COLS	6
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Waiter	   *waiters;
	int			n;

	require_preloaded();
	InitMaterializedSRF(fcinfo, 0);

	waiters = palloc(MaxBackends * sizeof(Waiter));
	n = copy_waiters(waiters);
	for (int i = 0; i < n; i++)
	{
		const Waiter *w = &waiters[i];
		Datum		values[WAITERS_COLS];
		bool		nulls[WAITERS_COLS] = {0};
		int			col = 0;

		values[col++] = Int32GetDatum(w->pid);
		values[col++] = LSNGetDatum(w->target);
		values[col++] = CStringGetTextDatum(modes[w->mode].name);
		values[col++] = TimestampTzGetDatum(w->started_at);
		nulls[col] = w->deadline == 0;
		values[col++] = TimestampTzGetDatum(w->deadline);
		values[col++] = LSNGetDatum(wait_mode_position(w->mode));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* The histogram's upper bounds as float8[]. */
static Datum
histogram_bounds_array(void)
{
	Datum		elems[lengthof(histogram_bounds)];

	for (int i = 0; i < lengthof(histogram_bounds); i++)
		elems[i] = Float8GetDatum(histogram_bounds[i]);
	return PointerGetDatum(construct_array(elems, lengthof(histogram_bounds),
										   FLOAT8OID, sizeof(float8),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* The histogram's counters as int8[]. */
static Datum
histogram_array(WaitCounts *counts)
{
	Datum		elems[HISTOGRAM_NBUCKETS];

	for (int i = 0; i < HISTOGRAM_NBUCKETS; i++)
		elems[i] = Int64GetDatum(pg_atomic_read_u64(&counts->histogram[i]));
	return PointerGetDatum(construct_array(elems, HISTOGRAM_NBUCKETS,
										   INT8OID, sizeof(int64),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/*
 * pg_stat_get_prefetch_guard_waits() returns setof record: the rows of the
 * view pg_stat_prefetch_guard_waits.  The documentation has the columns.
 */
Datum
pg_stat_get_prefetch_guard_waits(PG_FUNCTION_ARGS)
{
#define WAITS_COLS	12
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	require_preloaded();
	InitMaterializedSRF(fcinfo, 0);

	for (int mode = 0; mode < WAIT_NMODES; mode++)
	{
		WaitCounts *c = &shared->counts[mode];
		Datum		values[WAITS_COLS];
		bool		nulls[WAITS_COLS] = {0};
		uint64		outcome[WAIT_NOUTCOMES];
		uint64		waits = 0;
		int			col = 0;

		for (int i = 0; i < WAIT_NOUTCOMES; i++)
			waits += outcome[i] = pg_atomic_read_u64(&c->outcome[i]);

		values[col++] = CStringGetTextDatum(modes[mode].name);
		values[col++] = CStringGetTextDatum(is_woken(mode) ? "event" : "polling");
		values[col++] = Int64GetDatum(waits);
		for (int i = 0; i < WAIT_NOUTCOMES; i++)
			values[col++] = Int64GetDatum(outcome[i]);
		values[col++] = Float8GetDatum(pg_atomic_read_u64(&c->total_us) / 1e3);
		values[col++] = Float8GetDatum(pg_atomic_read_u64(&c->max_us) / 1e3);
		values[col++] = histogram_bounds_array();
		values[col++] = histogram_array(c);
		Assert(col == WAITS_COLS);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
