/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  The decision on each block that recovery prefetch asks for.
 *
 * While the startup process applies WAL, core looks ahead and calls
 * posix_fadvise(POSIX_FADV_WILLNEED) for blocks that will be needed.  Those
 * calls come to guard_fadvise() first.  The record on behalf of which the call
 * is made is the one at the tail of the reader's decode queue, since core asks
 * for a record's blocks right after decoding it.  From the offset of the call
 * we learn which of the record's blocks it is for, and then whether reading it
 * is worth while: the lookahead index knows what the queued records before it
 * will do to the block, the streams know whether it continues a run, which is
 * read in stretches of many blocks at a time.
 *
 * A call that is not worth while is answered with success and not made.  That
 * is always safe: the block is then read when it is needed, if it is.  (An
 * error would make core raise one, which ends recovery.)
 *
 * The counters are in shared memory and have one writer, the startup process,
 * so neither it nor the readers take a lock.  A reset is a request to the
 * startup process, to be fulfilled when it next counts something; until then
 * readers show zeroes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>

#include "access/htup_details.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "guard.h"
#include "libc_hook.h"
#include "lookahead.h"
#include "pause.h"
#include "pg_prefetch_guard.h"
#include "redo_hook.h"
#include "relstats.h"
#include "streams.h"

/* After how many records the startup process looks at its own CPU usage. */
#define RECORDS_PER_CPU_CHECK	256

typedef enum GuardMode
{
	GUARD_MODE_FILTER,
	GUARD_MODE_AUDIT,
	GUARD_MODE_OFF
} GuardMode;

static const struct config_enum_entry mode_options[] = {
	{"filter", GUARD_MODE_FILTER, false},
	{"audit", GUARD_MODE_AUDIT, false},
	{"off", GUARD_MODE_OFF, false},
	{NULL, 0, false}
};

typedef struct GuardShared
{
	/*
	 * A reset increments resets_wanted.  The startup process zeroes the
	 * counters and then sets resets_done to the same value; as long as they
	 * differ the counters are still those from before.
	 */
	pg_atomic_uint64 resets_wanted;
	pg_atomic_uint64 resets_done;
	pg_atomic_uint64 reset_time;	/* TimestampTz of the last reset */

	/* Everything from here on is written by the startup process alone. */
	pg_atomic_uint64 verdict[GUARD_NVERDICTS];	/* requests, by verdict */
	pg_atomic_uint64 unattributed;	/* of the issued ones: block not known */
	pg_atomic_uint64 suppressed_bytes;
	pg_atomic_uint64 records;	/* records applied */
	pg_atomic_uint64 paused_records;	/* ... while look-ahead paused */
	pg_atomic_uint64 wal_bytes; /* their length */
	pg_atomic_uint64 fpi_bytes; /* the images in them */
	pg_atomic_uint64 user_cpu;	/* microseconds */
	pg_atomic_uint64 system_cpu;	/* microseconds */
} GuardShared;

/* Settings */
static int	guard_mode = GUARD_MODE_FILTER;
static bool guard_sequential = true;
static bool guard_pause = true;

static GuardShared *shared = NULL;

/* Why nothing is filtered, or NULL.  Set in the postmaster. */
static const char *unavailable = NULL;

static int	(*next_fadvise) (int fd, off_t offset, off_t len, int advice) = posix_fadvise;

/*
 * Used in the startup process only, but allocated in the postmaster, so that
 * the startup process never has to allocate anything.
 */
static Lookahead *lookahead;
static int	lookahead_concurrency = 0;	/* maintenance_io_concurrency that it is
										 * prepared for */
static Streams streams;

/* CPU usage at the last reset, in microseconds. */
static uint64 user_cpu_base = 0;
static uint64 system_cpu_base = 0;

/* How far records are in the counters, and when to look at CPU usage again. */
static RedoProgress counted;
static uint64 next_cpu_check = 0;

SQL_FUNCTION(pg_stat_get_prefetch_guard);

/* A counter with one writer needs no atomic increment. */
static inline void
count(pg_atomic_uint64 *counter, uint64 n)
{
	pg_atomic_write_u64(counter, pg_atomic_read_u64(counter) + n);
}

static uint64
microseconds(const struct timeval *tv)
{
	return (uint64) tv->tv_sec * USECS_PER_SEC + tv->tv_usec;
}

/* Publish this process's CPU usage. */
static void
publish_cpu_usage(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return;
	pg_atomic_write_u64(&shared->user_cpu, microseconds(&usage.ru_utime) - user_cpu_base);
	pg_atomic_write_u64(&shared->system_cpu, microseconds(&usage.ru_stime) - system_cpu_base);
}

/* Start counting from zero. */
static void
zero_counters(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
	{
		user_cpu_base = microseconds(&usage.ru_utime);
		system_cpu_base = microseconds(&usage.ru_stime);
	}
	for (int i = 0; i < GUARD_NVERDICTS; i++)
		pg_atomic_write_u64(&shared->verdict[i], 0);
	pg_atomic_write_u64(&shared->unattributed, 0);
	pg_atomic_write_u64(&shared->suppressed_bytes, 0);
	pg_atomic_write_u64(&shared->records, 0);
	pg_atomic_write_u64(&shared->paused_records, 0);
	pg_atomic_write_u64(&shared->wal_bytes, 0);
	pg_atomic_write_u64(&shared->fpi_bytes, 0);
	pg_atomic_write_u64(&shared->user_cpu, 0);
	pg_atomic_write_u64(&shared->system_cpu, 0);
	relstats_clear();
	pause_reset();
}

/* Carry out a reset that was asked for; called before anything is counted. */
static inline void
heed_reset(void)
{
	uint64		wanted = pg_atomic_read_u64(&shared->resets_wanted);

	if (likely(wanted == pg_atomic_read_u64(&shared->resets_done)))
		return;
	zero_counters();
	pg_write_barrier();			/* pairs with guard_counters_are_current() */
	pg_atomic_write_u64(&shared->resets_done, wanted);
}

/*
 * For readers: are the counters, and those of the relations, what was counted
 * since the last reset?  If not, show nothing.
 */
bool
guard_counters_are_current(void)
{
	uint64		done = pg_atomic_read_u64(&shared->resets_done);

	pg_read_barrier();			/* pairs with heed_reset() */
	return done == pg_atomic_read_u64(&shared->resets_wanted);
}

/* Empty the lookahead index and fit it to how far core looks ahead. */
static void
prepare_lookahead(void)
{
	lookahead_concurrency = maintenance_io_concurrency;
	lookahead_reset(lookahead, LOOKAHEAD_MULTIPLIER * lookahead_concurrency);
}

/*
 * Decide on a request for *len bytes at *offset of some relation's file.
 * *block is set to the block it is for, or NULL if that can't be told.  If it
 * is to be issued, *offset and *len are set to what to ask for instead.
 */
static GuardVerdict
decide(off_t *offset, off_t *len, const DecodedBkpBlock **block)
{
	const XLogReaderState *reader = redo_hook_reader();
	BlockNumber first;
	BlockNumber count;

	*block = NULL;
	if (reader == NULL || reader->decode_queue_tail == NULL || pause_is_on())
		return GUARD_ISSUED;
	*block = lookahead_match(reader->decode_queue_tail, *offset, *len);
	if (*block == NULL)
		return GUARD_ISSUED;

	if (unlikely(lookahead_concurrency != maintenance_io_concurrency))
		prepare_lookahead();
	lookahead_advance(lookahead, reader->decode_queue_head, reader->decode_queue_tail);
	switch (lookahead_block(lookahead, &(*block)->rlocator, (*block)->blkno))
	{
		case LOOKAHEAD_IMAGE:
			return GUARD_COVERED_BY_IMAGE;
		case LOOKAHEAD_INIT:
			return GUARD_COVERED_BY_INIT;
		case LOOKAHEAD_REPEATED:
			return GUARD_REPEATED;
		case LOOKAHEAD_UNKNOWN:
			break;
	}
	if (!guard_sequential)
		return GUARD_ISSUED;
	switch (streams_note(&streams, &(*block)->rlocator, (*block)->blkno, &first, &count))
	{
		case STREAMS_ALONE:
			break;
		case STREAMS_ASK:
			*offset += (off_t) (first - (*block)->blkno) * BLCKSZ;
			*len = (off_t) count * BLCKSZ;
			break;
		case STREAMS_ASKED:
			return GUARD_SEQUENTIAL;
	}
	return GUARD_ISSUED;
}

/* Decide on a request, count it, and say what becomes of it. */
static GuardVerdict
judge_request(off_t *offset, off_t *len)
{
	const DecodedBkpBlock *block;
	GuardVerdict verdict = decide(offset, len, &block);

	if (block == NULL)
		count(&shared->unattributed, 1);
	else
		relstats_count(&block->rlocator, verdict,
					   redo_hook_reader()->decode_queue_tail->lsn);
	if (verdict != GUARD_ISSUED)
		count(&shared->suppressed_bytes, *len);
	return verdict;
}

/*
 * Is this process the one that recovers?  Without a postmaster, in single-user
 * mode, there is no startup process.
 */
static inline bool
in_recovery(void)
{
	return (AmStartupProcess() || !IsUnderPostmaster) && RecoveryInProgress();
}

/* Takes the place of posix_fadvise() in the server's own calls. */
static int
guard_fadvise(int fd, off_t offset, off_t len, int advice)
{
	GuardVerdict verdict = GUARD_ISSUED;
	off_t		wanted_offset = offset;
	off_t		wanted_len = len;

	if (advice != POSIX_FADV_WILLNEED || !in_recovery())
		return next_fadvise(fd, offset, len, advice);

	heed_reset();
	if (guard_mode != GUARD_MODE_OFF)
		verdict = judge_request(&wanted_offset, &wanted_len);
	count(&shared->verdict[verdict], 1);

	if (guard_mode != GUARD_MODE_FILTER)
		return next_fadvise(fd, offset, len, advice);
	pause_note_request(verdict == GUARD_ISSUED && wanted_len == len);
	if (verdict != GUARD_ISSUED)
		return 0;
	return next_fadvise(fd, wanted_offset, wanted_len, advice);
}

/* Count what was applied. */
static void
count_progress(void)
{
	const RedoProgress *now = redo_hook_progress();
	uint64		records = now->records - counted.records;

	heed_reset();
	count(&shared->records, records);
	if (pause_is_on())
		count(&shared->paused_records, records);
	count(&shared->wal_bytes, now->bytes - counted.bytes);
	count(&shared->fpi_bytes, now->image_bytes - counted.image_bytes);
	counted = *now;
	if (now->records >= next_cpu_check)
	{
		publish_cpu_usage();
		next_cpu_check = now->records + RECORDS_PER_CPU_CHECK;
	}
}

/* Redo callback: WAL is about to be read. */
static void
guard_redo_reading(void)
{
	count_progress();
	pause_reading();
}

/* Redo callback: records were applied. */
static void
guard_redo_progress(XLogReaderState *reader)
{
	count_progress();
	pause_progress(redo_hook_progress()->records,
				   guard_mode == GUARD_MODE_FILTER && guard_pause);
}

/* Redo callback: over. */
static void
guard_redo_ends(void)
{
	pause_reset();
	publish_cpu_usage();
}

static const RedoCallbacks guard_callbacks = {
	.progress = guard_redo_progress,
	.reading = guard_redo_reading,
	.read = pause_read,
	.end = guard_redo_ends
};

/* Define the settings and get between the server and libc. */
void
guard_init(void)
{
	void	   *original = NULL;
	const char *unavailable64;

	DefineCustomEnumVariable("pg_prefetch_guard.mode",
							 "Selects what is done with useless prefetch requests of recovery.",
							 "\"filter\" drops them, \"audit\" counts what \"filter\" would drop, \"off\" does neither.",
							 &guard_mode,
							 GUARD_MODE_FILTER,
							 mode_options,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("pg_prefetch_guard.sequential",
							 "Reads runs of neighbouring blocks in large stretches.",
							 "Otherwise each of their blocks is asked for alone.",
							 &guard_sequential,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_prefetch_guard.pause_lookahead",
							 "Pauses the look-ahead of recovery while replay does well without it.",
							 "Only in mode \"filter\".",
							 &guard_pause,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);

	lookahead = MemoryContextAlloc(room_memory(), lookahead_size());
	streams_reset(&streams);
	redo_hook_register(&guard_callbacks);

	/* 32-bit servers with large files call it by its other name */
	if (libc_hook_install("posix_fadvise", guard_fadvise, &original, &unavailable) ||
		libc_hook_install("posix_fadvise64", guard_fadvise, &original, &unavailable64))
		unavailable = NULL;
	else
		ereport(WARNING,
				(errmsg("pg_prefetch_guard cannot filter recovery prefetch on this server"),
				 errdetail("posix_fadvise() could not be intercepted: %s.", unavailable)));
	if (original)
		next_fadvise = (int (*) (int, off_t, off_t, int)) original;
}

/* Shared memory needed, in bytes. */
Size
guard_shmem_size(void)
{
	return sizeof(GuardShared);
}

void
guard_shmem_startup(void)
{
	bool		found;

	shared = ShmemInitStruct("pg_prefetch_guard", sizeof(GuardShared), &found);
	if (found)
		return;
	for (int i = 0; i < GUARD_NVERDICTS; i++)
		pg_atomic_init_u64(&shared->verdict[i], 0);
	pg_atomic_init_u64(&shared->resets_wanted, 0);
	pg_atomic_init_u64(&shared->resets_done, 0);
	pg_atomic_init_u64(&shared->reset_time, GetCurrentTimestamp());
	pg_atomic_init_u64(&shared->unattributed, 0);
	pg_atomic_init_u64(&shared->suppressed_bytes, 0);
	pg_atomic_init_u64(&shared->records, 0);
	pg_atomic_init_u64(&shared->paused_records, 0);
	pg_atomic_init_u64(&shared->wal_bytes, 0);
	pg_atomic_init_u64(&shared->fpi_bytes, 0);
	pg_atomic_init_u64(&shared->user_cpu, 0);
	pg_atomic_init_u64(&shared->system_cpu, 0);
}

/* The setting's value as a word. */
static const char *
mode_name(void)
{
	for (const struct config_enum_entry *e = mode_options; e->name; e++)
		if (e->val == guard_mode)
			return e->name;
	return NULL;
}

/* The filter_status column: is the server's prefetch under our control? */
static text *
filter_status(void)
{
	if (unavailable)
		return cstring_to_text(psprintf("unavailable: %s", unavailable));
	return cstring_to_text("active");
}

/*
 * pg_stat_get_prefetch_guard() returns record: the row of the view
 * pg_stat_prefetch_guard.  The documentation has the columns.
 */
Datum
pg_stat_get_prefetch_guard(PG_FUNCTION_ARGS)
{
#define STAT_COLS	18
	TupleDesc	tupdesc;
	Datum		values[STAT_COLS];
	bool		nulls[STAT_COLS] = {0};
	GuardShared zero = {0};
	GuardShared *s;
	uint64		v[GUARD_NVERDICTS];
	uint64		suppressed = 0;
	int			col = 0;

	require_preloaded();
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	s = guard_counters_are_current() ? shared : &zero;
	for (int i = 0; i < GUARD_NVERDICTS; i++)
		v[i] = pg_atomic_read_u64(&s->verdict[i]);
	for (int i = GUARD_ISSUED + 1; i < GUARD_NVERDICTS; i++)
		suppressed += v[i];

	values[col++] = CStringGetTextDatum(mode_name());
	values[col++] = PointerGetDatum(filter_status());
	values[col++] = TimestampTzGetDatum(pg_atomic_read_u64(&shared->reset_time));
	values[col++] = Int64GetDatum(v[GUARD_ISSUED] + suppressed);
	values[col++] = Int64GetDatum(v[GUARD_ISSUED]);
	values[col++] = Int64GetDatum(suppressed);
	values[col++] = Int64GetDatum(v[GUARD_COVERED_BY_IMAGE]);
	values[col++] = Int64GetDatum(v[GUARD_COVERED_BY_INIT]);
	values[col++] = Int64GetDatum(v[GUARD_REPEATED]);
	values[col++] = Int64GetDatum(v[GUARD_SEQUENTIAL]);
	values[col++] = Int64GetDatum(pg_atomic_read_u64(&s->unattributed));
	values[col++] = Int64GetDatum(pg_atomic_read_u64(&s->suppressed_bytes));
	values[col++] = Int64GetDatum(pg_atomic_read_u64(&s->records));
	values[col++] = Int64GetDatum(pg_atomic_read_u64(&s->paused_records));
	values[col++] = Int64GetDatum(pg_atomic_read_u64(&s->wal_bytes));
	values[col++] = Int64GetDatum(pg_atomic_read_u64(&s->fpi_bytes));
	values[col++] = Float8GetDatum(pg_atomic_read_u64(&s->user_cpu) / 1e6);
	values[col++] = Float8GetDatum(pg_atomic_read_u64(&s->system_cpu) / 1e6);
	Assert(col == tupdesc->natts);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}

/* Ask the startup process to set all counters, also the relations', to zero. */
void
guard_reset(void)
{
	pg_atomic_write_u64(&shared->reset_time, GetCurrentTimestamp());
	pg_atomic_fetch_add_u64(&shared->resets_wanted, 1);
}
