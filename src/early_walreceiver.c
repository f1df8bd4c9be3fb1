/*-------------------------------------------------------------------------
 *
 * early_walreceiver.c
 *	  Replication is back while local WAL is still being replayed.
 *
 * A standby that lost its walreceiver, or that was restarted, first replays
 * all WAL that it has in pg_wal and only then connects to its primary.  With
 * synchronous replication every commit on the primary waits for that.  Here
 * the startup process starts core's walreceiver at the end of the local WAL as
 * soon as it sees that there is much to replay.
 *
 * Core's reading of WAL takes it for granted that no walreceiver runs while it
 * reads from pg_wal or from the archive: it asserts so each time it opens a
 * segment, it may replace files by archived ones, and it requests streaming
 * itself when it has come to the end or cannot read on.  So core does not read
 * any WAL as long as our walreceiver runs.  The page_read callback of the
 * startup process's WAL reader is wrapped, and we read the pages from pg_wal
 * ourselves, from the segments that were complete before and from what the
 * walreceiver has flushed since.  Core's state machine stands still where it
 * was.  The first time that we would have to wait for a page, or can't read
 * one, or the reader rejected what it got from us, we hand over: the
 * walreceiver is stopped, in the way core stops it and by the same process,
 * and the very same read goes to core, which finds the world as it expects it
 * and does what it always does.
 *
 *	stopped, much to replay --start--> running early --hand over--> stopped
 *
 * A start happens after a record was applied, or, since replay may be held up
 * for hours by recovery_min_apply_delay, a pause or a conflict, while the
 * startup process waits for something else than WAL: its epoll_wait() is
 * replaced for that.  A hand-over happens only between records or inside
 * page_read, never inside a wait.
 *
 * doc/early_walreceiver.md tells why each of these steps is safe.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include <sys/epoll.h>

#include "access/htup_details.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogreader.h"
#include "access/xlogrecovery.h"
#include "fmgr.h"
#include "funcapi.h"
#include "port/atomics.h"
#include "postmaster/startup.h"
#include "replication/walreceiver.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "early_walreceiver.h"
#include "libc_hook.h"
#include "local_wal.h"
#include "pg_prefetch_guard.h"
#include "redo_hook.h"

/* How often it is looked at while the startup process waits, in ms. */
#define WAIT_CHECK_INTERVAL	1000

/* page_read callback's result when it is up to core to read the page */
#define LEAVE_TO_CORE		(XLREAD_WOULDBLOCK - 1)

/* What the view's state column says. */
typedef enum EarlyState
{
	EARLY_NO_RECOVERY,
	EARLY_NO_STANDBY,
	EARLY_NO_CONNINFO,
	EARLY_RECOVERY_TARGET,
	EARLY_IDLE,
	EARLY_RUNNING
} EarlyState;

static const char *const state_names[] = {
	[EARLY_NO_RECOVERY] = "disabled: recovery is not in progress",
	[EARLY_NO_STANDBY] = "disabled: not in standby mode",
	[EARLY_NO_CONNINFO] = "disabled: primary_conninfo is not set",
	[EARLY_RECOVERY_TARGET] = "disabled: a recovery target is set",
	[EARLY_IDLE] = "idle",
	[EARLY_RUNNING] = "running early"
};

/* Written by the startup process alone. */
typedef struct EarlyShared
{
	pg_atomic_uint32 state;		/* EarlyState */
	pg_atomic_uint64 starts;	/* walreceivers started early */
	pg_atomic_uint64 handovers; /* and stopped again */
	pg_atomic_uint64 last_start_lsn;	/* where the last one began */
	pg_atomic_uint64 last_start_time;	/* TimestampTz */
	pg_atomic_uint64 bytes_received;	/* by those that were stopped */
	pg_atomic_uint64 run_flushed;	/* flushed when the running one started */
	pg_atomic_uint64 local_end; /* end of the WAL that was there before any
								 * walreceiver ran, if it was looked for */
} EarlyShared;

/* Settings */
static bool early_walreceiver = false;
static int	early_walreceiver_lag = 64;

static EarlyShared *shared = NULL;

/* Everything from here on is local to the startup process. */

/* The WAL reader, once a record has come from it, and its own page_read. */
static XLogReaderState *reader = NULL;
static XLogPageReadCB core_page_read = NULL;
static bool in_core_read = false;


/* Who reads WAL while the walreceiver that we started is running. */
typedef enum RunMode
{
	NOT_RUNNING,				/* we have not started any */
	WE_READ,					/* core does not know of it */
	CORE_READS					/* core takes it for its own */
} RunMode;

static RunMode running = NOT_RUNNING;
static TimeLineID run_tli;
static XLogRecPtr run_available;	/* WAL known to be complete up to here */
static char run_conninfo[MAXCONNINFO];
static char run_slotname[NAMEDATALEN];
static bool run_temp_slot;

/* Waiting for the walreceiver's end: no time to start another. */
static bool stopping = false;

/* See forget_receive_start(). */
static XLogRecPtr forgotten_start = InvalidXLogRecPtr;

/* Core is paused, and was streaming when that began. */
static bool paused_streaming = false;

/* No new attempt with the same connection settings before this. */
static TimestampTz next_attempt = 0;

/* The primary has no more WAL of this timeline. */
static TimeLineID ended_tli = 0;

/* Timeline whose local segments were searched for their end; see shared. */
static TimeLineID searched_tli = 0;

static int	(*next_epoll_wait) (int epfd, struct epoll_event *events, int maxevents, int timeout) = epoll_wait;

SQL_FUNCTION(pg_stat_get_prefetch_guard_receiver);

/* Tell the view. */
static void
publish_state(EarlyState state)
{
	if (pg_atomic_read_u32(&shared->state) != state)
		pg_atomic_write_u32(&shared->state, state);
}

/*
 * The walreceiver's state.  Unlike core's functions this has no side effect:
 * they may broadcast on a condition variable, which must not happen while the
 * startup process sleeps on another one.
 */
static WalRcvState
walreceiver_state(void)
{
	WalRcvState state;

	SpinLockAcquire(&WalRcv->mutex);
	state = WalRcv->walRcvState;
	SpinLockRelease(&WalRcv->mutex);
	return state;
}

/* Bytes that walreceivers have flushed while they ran early. */
static uint64
bytes_received(void)
{
	uint64		bytes = pg_atomic_read_u64(&shared->bytes_received);

	if (pg_atomic_read_u32(&shared->state) == EARLY_RUNNING)
	{
		XLogRecPtr	before = pg_atomic_read_u64(&shared->run_flushed);
		XLogRecPtr	flushed = GetWalRcvFlushRecPtr(NULL, NULL);

		if (flushed > before)
			bytes += flushed - before;
	}
	return bytes;
}

static XLogRecPtr
segment_start(XLogRecPtr lsn)
{
	return lsn - XLogSegmentOffset(lsn, wal_segment_size);
}

static bool
promotion_requested(void)
{
	return IsPromoteSignaled() || PromoteIsTriggered();
}

/*
 * Do the settings differ from those that the last walreceiver was started
 * with?  A longer conninfo was truncated then, as core does.
 */
static bool
connection_changed(void)
{
	return strncmp(run_conninfo, PrimaryConnInfo, sizeof(run_conninfo) - 1) != 0 ||
		strcmp(run_slotname, PrimarySlotName) != 0 ||
		(run_slotname[0] == '\0' && run_temp_slot != wal_receiver_create_temp_slot);
}

/* The walreceiver, if it still runs, is no longer ours. */
static void
note_handover(void)
{
	running = NOT_RUNNING;
	pg_atomic_write_u64(&shared->bytes_received, bytes_received());
	pg_atomic_write_u64(&shared->handovers, pg_atomic_read_u64(&shared->handovers) + 1);
	publish_state(EARLY_IDLE);
}

/*
 * Core is about to read local WAL below the flushed position, which is where
 * the walreceiver that we started has left it.  Should some of that WAL turn
 * out to be damaged, core will request streaming from there, and then take the
 * flushed position for a sign that the WAL has arrived already.  If there is
 * no start position the request sets the flushed position, too, as it does
 * after a server start.
 */
static void
forget_receive_start(void)
{
	SpinLockAcquire(&WalRcv->mutex);
	forgotten_start = WalRcv->receiveStart;
	WalRcv->receiveStart = InvalidXLogRecPtr;
	SpinLockRelease(&WalRcv->mutex);
}

/*
 * Undo that, unless streaming has been requested since.  Else the flushed
 * position would go back to the beginning of a segment for no reason.
 */
static void
restore_receive_start(void)
{
	SpinLockAcquire(&WalRcv->mutex);
	if (WalRcv->receiveStart == InvalidXLogRecPtr)
		WalRcv->receiveStart = forgotten_start;
	SpinLockRelease(&WalRcv->mutex);
	forgotten_start = InvalidXLogRecPtr;
}

/*
 * Stop our walreceiver; from here on core reads WAL again.
 *
 * This waits until the walreceiver is gone, as core does in this process
 * whenever it stops one: the walreceiver answers the signal where it waits for
 * the network, and after what it does with the disk else.
 *
 * 'why' goes to the log; NULL if the walreceiver has said it itself.
 */
static void
hand_over(const char *why)
{
	if (why != NULL)
		ereport(LOG,
				(errmsg("stopping WAL receiver that was started early"),
				 errdetail_internal("%s", why)));
	stopping = true;
	XLogShutdownWalRcv();
	stopping = false;
	local_wal_close();
	note_handover();
	forget_receive_start();
}

/* Hand over because local WAL is not what it should be. */
static int
hand_over_for_refetch(void)
{
	hand_over("Local WAL is damaged or missing.");
	forgotten_start = InvalidXLogRecPtr;	/* for good */
	return LEAVE_TO_CORE;
}

/*
 * Take a page from pg_wal while our walreceiver runs.  Parameters and result
 * are those of a page_read callback; or LEAVE_TO_CORE, and then the
 * walreceiver has been stopped.
 */
static int
read_page_early(XLogReaderState *state, XLogRecPtr pageptr, int reqlen, char *buf)
{
	int			available;

	/*
	 * The reader forgets its segment when it finds that what it was given is
	 * no valid record.  It is looking for it again now.
	 */
	if (state->seg.ws_segno == 0 && !state->nonblocking)
		return hand_over_for_refetch();

	if (pageptr + XLOG_BLCKSZ > run_available)
		run_available = Max(run_available, GetWalRcvFlushRecPtr(NULL, NULL));
	if (pageptr + reqlen > run_available)
	{
		if (state->nonblocking)
			return XLREAD_WOULDBLOCK;
		hand_over("Replay has caught up with it.");
		restore_receive_start();
		return LEAVE_TO_CORE;
	}
	available = Min(XLOG_BLCKSZ, run_available - pageptr);

	/*
	 * As core does, make sure that a segment's first page is right before the
	 * reader sees it, for if a record continues there it is this page that
	 * has to come from somewhere else, not the record's beginning.
	 */
	if (!local_wal_read_page(run_tli, pageptr, buf) ||
		(XLogSegmentOffset(pageptr, wal_segment_size) == 0 &&
		 !XLogReaderValidatePageHeader(state, pageptr, buf)))
	{
		XLogReaderResetError(state);
		return state->nonblocking ? XLREAD_WOULDBLOCK : hand_over_for_refetch();
	}

	state->seg.ws_tli = run_tli;
	return available;
}

/* Takes the place of the WAL reader's page_read. */
static int
early_page_read(XLogReaderState *state, XLogRecPtr pageptr, int reqlen,
				XLogRecPtr recptr, char *buf)
{
	int			result = LEAVE_TO_CORE;

	if (running != NOT_RUNNING)
		result = read_page_early(state, pageptr, reqlen, buf);
	if (result != LEAVE_TO_CORE)
		return result;

	if (unlikely(forgotten_start != InvalidXLogRecPtr) &&
		pageptr >= segment_start(GetWalRcvFlushRecPtr(NULL, NULL)))
		restore_receive_start();

	in_core_read = true;
	paused_streaming = false;
	result = core_page_read(state, pageptr, reqlen, recptr, buf);
	in_core_read = false;
	if (running != NOT_RUNNING)
		note_handover();		/* core goes on with it, or has stopped it */
	return result;
}

/*
 * The end of the local WAL of timeline 'tli', as far as it is known to be
 * complete.  After a walreceiver has run, that is what it flushed; else the
 * beginning of the last segment in use, since nobody knows how much of that is
 * filled.  InvalidXLogRecPtr if that is behind the decoding position.
 */
static XLogRecPtr
find_local_end(TimeLineID tli)
{
	TimeLineID	received_tli;
	XLogRecPtr	end = GetWalRcvFlushRecPtr(NULL, &received_tli);

	if (received_tli == tli && end > reader->NextRecPtr)
		return end;

	if (searched_tli != tli)
	{
		searched_tli = tli;
		pg_atomic_write_u64(&shared->local_end,
							local_wal_last_segment(tli, reader->NextRecPtr,
												   reader->system_identifier));
	}
	end = pg_atomic_read_u64(&shared->local_end);
	return end > reader->NextRecPtr ? end : InvalidXLogRecPtr;
}

/*
 * Start core's walreceiver at the end of the local WAL.  From here on core
 * does not read WAL, until we hand over.
 */
static void
start_walreceiver(TimeLineID tli, XLogRecPtr end, TimestampTz now)
{
	next_attempt = TimestampTzPlusMilliseconds(now, wal_retrieve_retry_interval);
	strlcpy(run_conninfo, PrimaryConnInfo, sizeof(run_conninfo));
	strlcpy(run_slotname, PrimarySlotName, sizeof(run_slotname));
	run_temp_slot = wal_receiver_create_temp_slot;
	run_tli = tli;
	running = in_core_read ? CORE_READS : WE_READ;

	/* those of one that died while replay was held up */
	pg_atomic_write_u64(&shared->bytes_received, bytes_received());

	if (forgotten_start != InvalidXLogRecPtr)
		restore_receive_start();
	SetInstallXLogFileSegmentActive();
	RequestXLogStreaming(tli, end, PrimaryConnInfo, PrimarySlotName,
						 wal_receiver_create_temp_slot);
	run_available = Max(segment_start(end), GetWalRcvFlushRecPtr(NULL, NULL));

	pg_atomic_write_u64(&shared->run_flushed, run_available);
	pg_atomic_write_u64(&shared->last_start_lsn, segment_start(end));
	pg_atomic_write_u64(&shared->last_start_time, now);
	pg_atomic_write_u64(&shared->starts, pg_atomic_read_u64(&shared->starts) + 1);
	publish_state(EARLY_RUNNING);
	ereport(LOG,
			(errmsg("starting WAL receiver early at %X/%X on timeline %u",
					LSN_FORMAT_ARGS(segment_start(end)), tli),
			 errdetail("Local WAL is still to be replayed from %X/%X on.",
					   LSN_FORMAT_ARGS(reader->ReadRecPtr))));
}

/* What keeps this server from ever starting one?  EARLY_IDLE if nothing. */
static EarlyState
obstacle(void)
{
	if (!StandbyMode)
		return EARLY_NO_STANDBY;
	if (PrimaryConnInfo == NULL || PrimaryConnInfo[0] == '\0')
		return EARLY_NO_CONNINFO;
	if (recoveryTarget != RECOVERY_TARGET_UNSET)
		return EARLY_RECOVERY_TARGET;
	return EARLY_IDLE;
}

/*
 * Start a walreceiver if there is none and much to replay.  If one that we
 * started has died while replay is held up, this starts the next one.
 *
 * Only on a timeline that is both the one being replayed and the one that
 * recovery is heading for.  If another one comes first, replay it.
 */
static void
consider_start(void)
{
	EarlyState	state = obstacle();
	TimeLineID	tli;
	XLogRecPtr	end;
	TimestampTz now;

	if (running == NOT_RUNNING)
		publish_state(state);
	if (state != EARLY_IDLE || walreceiver_state() != WALRCV_STOPPED ||
		promotion_requested())
		return;

	/* with another primary, perhaps, no reason to wait, or to give up */
	now = GetCurrentTimestamp();
	(void) GetXLogReplayRecPtr(&tli);
	if ((now < next_attempt || tli == ended_tli) && !connection_changed())
		return;
	if (tli != recoveryTargetTLI || tli != reader->seg.ws_tli)
		return;

	end = find_local_end(tli);
	if (end < reader->ReadRecPtr + (uint64) early_walreceiver_lag * 1024 * 1024 ||
		segment_start(end) <= reader->NextRecPtr)
		return;

	start_walreceiver(tli, end, now);
}

/* Hand over if there is a reason outside the reading of WAL. */
static void
consider_handover(void)
{
	if (!WalRcvRunning())
		hand_over(NULL);
	else if (walreceiver_state() == WALRCV_WAITING)
	{
		ended_tli = run_tli;	/* trying again would be of no use */
		hand_over("The primary has no more WAL of this timeline.");
	}
	else if (promotion_requested())
		hand_over("Promotion was requested.");
	else if (!early_walreceiver || obstacle() != EARLY_IDLE)
		hand_over("The server's settings do not allow it any more.");
	else if (connection_changed())
		hand_over("Connection settings have changed.");
}

/*
 * May a walreceiver be started while the startup process waits?
 *
 * Outside page_read always, unless the wait is for one to stop.  Inside it, core
 * waits for WAL: that is core's business.  But core also heeds a pause there, and
 * if a walreceiver was running when the pause began, core is streaming: it runs
 * none in any other state.  As long as the pause lasts it stays in that state,
 * and it will not notice that another walreceiver has taken the place of the
 * first.
 */
static bool
may_start_in_wait(void)
{
	if (reader == NULL || stopping)
		return false;
	if (!in_core_read)
		return true;
	if (*my_wait_event_info != WAIT_EVENT_RECOVERY_PAUSE)
		paused_streaming = false;
	else if (walreceiver_state() == WALRCV_STREAMING)
		paused_streaming = true;
	return paused_streaming;
}

/*
 * Takes the place of epoll_wait() in the startup process: see whether there is
 * something to start, and go on waiting.
 *
 * Only starting is allowed here.  It takes no lock that a waiting startup
 * process could hold, and leaves the condition variable alone that it may be
 * sleeping on.
 */
static int
early_epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	int			nready;

	while (timeout != 0 && may_start_in_wait() && early_walreceiver)
	{
		int			nap = WAIT_CHECK_INTERVAL;

		if (timeout >= 0 && timeout < nap)
			nap = timeout;
		consider_start();
		nready = next_epoll_wait(epfd, events, maxevents, nap);
		if (nready != 0)
			return nready;
		if (timeout >= 0)
			timeout -= nap;
	}
	return next_epoll_wait(epfd, events, maxevents, timeout);
}

/*
 * Get between the reader and core, and between waits and libc.  Once per life
 * of the startup process, whatever the setting is: a reload may turn it on at
 * any time, and while replay is held up no record comes by to do it then.
 */
static void
attach(XLogReaderState *record)
{
	const char *reason;
	void	   *original = NULL;

	reader = record;
	core_page_read = reader->routine.page_read;
	reader->routine.page_read = early_page_read;

	if (!libc_hook_install("epoll_wait", early_epoll_wait, &original, &reason))
		ereport(LOG,
				(errmsg("pg_prefetch_guard cannot start a WAL receiver early while replay is held up"),
				 errdetail("epoll_wait() could not be intercepted: %s.", reason)));
	if (original)
		next_epoll_wait = (int (*) (int, struct epoll_event *, int, int)) original;
}

/* Redo callback: about to start. */
static void
early_redo_begins(void)
{
	publish_state(obstacle());
}

/* Redo callback: records were applied. */
static void
early_redo_progress(XLogReaderState *redo_reader)
{
	if (unlikely(reader == NULL))
		attach(redo_reader);
	if (likely(!early_walreceiver && running == NOT_RUNNING))
		return;

	if (running != NOT_RUNNING)
		consider_handover();
	else
		consider_start();
}

/* Redo callback: over. */
static void
early_redo_ends(void)
{
	if (running != NOT_RUNNING)
		hand_over("Recovery has ended.");
	reader = NULL;
	publish_state(EARLY_NO_RECOVERY);
}

static const RedoCallbacks early_callbacks = {
	.begin = early_redo_begins,
	.progress = early_redo_progress,
	.end = early_redo_ends
};

/* Define the settings. */
void
early_walreceiver_init(void)
{
	DefineCustomBoolVariable("pg_prefetch_guard.early_walreceiver",
							 "Starts the WAL receiver while local WAL is still being replayed.",
							 NULL,
							 &early_walreceiver,
							 false,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("pg_prefetch_guard.early_walreceiver_lag",
							"Sets the amount of local WAL to be replayed above which the WAL receiver is started early.",
							NULL,
							&early_walreceiver_lag,
							64,
							1,
							MAX_KILOBYTES,
							PGC_SIGHUP,
							GUC_UNIT_MB,
							NULL, NULL, NULL);
	redo_hook_register(&early_callbacks);
}

/* Shared memory needed, in bytes. */
Size
early_walreceiver_shmem_size(void)
{
	return sizeof(EarlyShared);
}

void
early_walreceiver_shmem_startup(void)
{
	bool		found;

	shared = ShmemInitStruct("pg_prefetch_guard early walreceiver", sizeof(EarlyShared), &found);
	if (found)
		return;
	pg_atomic_init_u32(&shared->state, EARLY_NO_RECOVERY);
	pg_atomic_init_u64(&shared->starts, 0);
	pg_atomic_init_u64(&shared->handovers, 0);
	pg_atomic_init_u64(&shared->last_start_lsn, InvalidXLogRecPtr);
	pg_atomic_init_u64(&shared->last_start_time, 0);
	pg_atomic_init_u64(&shared->bytes_received, 0);
	pg_atomic_init_u64(&shared->run_flushed, InvalidXLogRecPtr);
	pg_atomic_init_u64(&shared->local_end, InvalidXLogRecPtr);
}

/* Bytes of WAL that are in pg_wal, as far as is known, and not replayed. */
static uint64
unreplayed_bytes(void)
{
	TimeLineID	replayed_tli;
	TimeLineID	received_tli;
	XLogRecPtr	received = GetWalRcvFlushRecPtr(NULL, &received_tli);
	XLogRecPtr	end = pg_atomic_read_u64(&shared->local_end);
	XLogRecPtr	replayed = GetXLogReplayRecPtr(&replayed_tli);

	if (received_tli == replayed_tli && received > end)
		end = received;
	return end > replayed ? end - replayed : 0;
}

/*
 * pg_stat_get_prefetch_guard_receiver() returns record: the row of the view
 * pg_stat_prefetch_guard_receiver.  The documentation has the columns.
 */
Datum
pg_stat_get_prefetch_guard_receiver(PG_FUNCTION_ARGS)
{
#define RECEIVER_COLS	8
	TupleDesc	tupdesc;
	Datum		values[RECEIVER_COLS];
	bool		nulls[RECEIVER_COLS] = {0};
	EarlyState	state;
	int			col = 0;

	require_preloaded();
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	state = pg_atomic_read_u32(&shared->state);
	values[col++] = BoolGetDatum(early_walreceiver);
	if (!early_walreceiver && state != EARLY_RUNNING)
		values[col++] = CStringGetTextDatum("disabled: pg_prefetch_guard.early_walreceiver is off");
	else if (state == EARLY_RUNNING && walreceiver_state() == WALRCV_STOPPED)
		values[col++] = CStringGetTextDatum("retrying");
	else
		values[col++] = CStringGetTextDatum(state_names[state]);
	values[col++] = Int64GetDatum(pg_atomic_read_u64(&shared->starts));
	values[col++] = Int64GetDatum(pg_atomic_read_u64(&shared->handovers));
	nulls[col] = pg_atomic_read_u64(&shared->starts) == 0;
	values[col++] = LSNGetDatum(pg_atomic_read_u64(&shared->last_start_lsn));
	nulls[col] = pg_atomic_read_u64(&shared->starts) == 0;
	values[col++] = TimestampTzGetDatum(pg_atomic_read_u64(&shared->last_start_time));
	values[col++] = Int64GetDatum(bytes_received());
	nulls[col] = !RecoveryInProgress();
	values[col] = Int64GetDatum(nulls[col] ? 0 : unreplayed_bytes());
	col++;
	Assert(col == tupdesc->natts);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}
