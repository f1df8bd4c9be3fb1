/*-------------------------------------------------------------------------
 *
 * pause.c
 *	  Rest core's look-ahead while replay does well without it.
 *
 * Look-ahead is there so that replay need not wait for the disk.  Where it would
 * not wait anyway, because images come first, because all blocks are in the
 * kernel's page cache, or because the kernel's readahead brings in a run of them
 * in time, look-ahead only costs CPU time: replay without it is some 10 % faster,
 * however cheap its requests are made.  So we turn it off, in this process, as
 * recovery_prefetch = off would, and watch: as soon as replay waits for more
 * than a small share of its time, look-ahead goes on.
 *
 * A pause that was in vain costs some reads that are waited for one after the
 * other.  Hence one is tried only after a long row of requests none of which
 * had to read a single block, which is what look-ahead does best; and each one
 * that was in vain doubles the length of that row, until one is not.
 *
 * All that is looked at are the kernel's figures of this process: how often it
 * gave up the CPU to wait, how much CPU time it had, what it read from disk.
 * While it reads WAL, and may wait for it to come in, they are left out.
 *
 * Look-ahead is turned off by setting maintenance_io_concurrency, in this
 * process, to a value that it can't be set to otherwise.  So if it has another
 * one later, a reload has set it, and what the user wants stays as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include <sys/resource.h>

#include "access/xlogprefetcher.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"

#include "pause.h"
#include "redo_hook.h"

/* maintenance_io_concurrency in a pause */
#define CONCURRENCY_PAUSED	(-1)

/* After how many requests a pause is tried: at first, and at most. */
#define MIN_REQUESTS	512
#define MAX_REQUESTS	65536

/* A pause that lasted for so many records was not in vain. */
#define WORTHWHILE_RECORDS	4096

/* How often to look at what the kernel says, in records. */
#define RECORDS_PER_LOOK	128 /* while look-ahead is on */
#define RECORDS_PER_CHECK	64	/* in a pause */

/*
 * How long replay may wait in a pause, in microseconds: so long at its
 * beginning, and one in so many of CPU time, of which so many can be saved up.
 * Look-ahead costs about as much, and leaves little to wait for, but where the
 * kernel reads ahead, which can be told by the 512-byte blocks read per wait:
 * there such a part of the wait is counted.
 */
#define FIRST_WAIT_CREDIT	1000
#define CPU_PER_WAIT		10
#define MAX_WAIT_CREDIT		20000
#define READAHEAD_BLOCKS	64
#define READAHEAD_WAIT_PART	5

/* What the kernel says of this process. */
typedef struct Usage
{
	int64		time;			/* microseconds, of some clock */
	int64		cpu;			/* microseconds */
	long		waits;
	long		blocks_read;
} Usage;

/* While look-ahead is on: */
static uint32 requests = 0;		/* since one may have read a single block */
static uint32 alone_requests = 0;	/* for single blocks, since the last look */
static uint32 requests_wanted = MIN_REQUESTS;
static uint64 next_look = 0;
static long blocks_read = 0;	/* at the last look */

/* In a pause: */
static int	paused_concurrency = 0; /* the setting to go back to; 0: no pause */
static uint64 pause_began;
static uint64 next_check;
static Usage last_usage;		/* at the last check */
static instr_time wal_read_began;
static instr_time wal_read_time;	/* since the last check */
static int64 wait_credit;		/* microseconds */
static bool reads_ahead;		/* the kernel did when it last read something */

/* Is look-ahead paused? */
bool
pause_is_on(void)
{
	return paused_concurrency > 0;
}

/* Note a request: for a single block that was not asked for before, or not. */
void
pause_note_request(bool alone)
{
	requests++;
	if (alone)
		alone_requests++;
}

/* WAL is about to be read, ... */
void
pause_reading(void)
{
	if (pause_is_on())
		INSTR_TIME_SET_CURRENT(wal_read_began);
}

/* ... and was. */
void
pause_read(void)
{
	instr_time	now;

	if (!pause_is_on())
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_ACCUM_DIFF(wal_read_time, now, wal_read_began);
}

static void
get_usage(Usage *usage)
{
	struct rusage ru;
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	usage->time = INSTR_TIME_GET_MICROSEC(now);
	getrusage(RUSAGE_SELF, &ru);
	usage->cpu = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * INT64CONST(1000000) +
		ru.ru_utime.tv_usec + ru.ru_stime.tv_usec;
	usage->waits = ru.ru_nvcsw;
	usage->blocks_read = ru.ru_inblock;
}

static void
begin_pause(uint64 records, const Usage *usage)
{
	paused_concurrency = maintenance_io_concurrency;
	maintenance_io_concurrency = CONCURRENCY_PAUSED;
	XLogPrefetchReconfigure();
	pause_began = next_check = records;
	last_usage = *usage;
	INSTR_TIME_SET_ZERO(wal_read_time);
	wait_credit = FIRST_WAIT_CREDIT;
	reads_ahead = false;
}

static void
end_pause(void)
{
	if (maintenance_io_concurrency == CONCURRENCY_PAUSED)
	{
		maintenance_io_concurrency = paused_concurrency;
		XLogPrefetchReconfigure();
	}
	paused_concurrency = 0;
	requests = 0;
}

/* Has replay waited for too long, counting from the last check? */
static bool
replay_waits(void)
{
	Usage		now;
	int64		cpu;
	long		waits;
	long		blocks;

	get_usage(&now);
	cpu = now.cpu - last_usage.cpu;
	waits = now.waits - last_usage.waits;
	blocks = now.blocks_read - last_usage.blocks_read;

	if (blocks > 0)
		reads_ahead = blocks >= READAHEAD_BLOCKS * waits;
	wait_credit = Min(wait_credit + cpu / CPU_PER_WAIT, MAX_WAIT_CREDIT);
	if (waits > 0)
	{
		int64		waited = now.time - last_usage.time - cpu -
			INSTR_TIME_GET_MICROSEC(wal_read_time);

		wait_credit -= Max(waited, 0) / (reads_ahead ? READAHEAD_WAIT_PART : 1);
	}
	INSTR_TIME_SET_ZERO(wal_read_time);
	last_usage = now;
	return wait_credit < 0;
}

/*
 * In a pause: see whether it should end.  At its beginning, look after each
 * record.
 */
static void
check_pause(uint64 records)
{
	uint64		lasted = records - pause_began;

	if (maintenance_io_concurrency != CONCURRENCY_PAUSED)
	{
		end_pause();
		return;
	}
	if (lasted < RECORDS_PER_CHECK)
		redo_hook_next_record();
	else if (records < next_check)
		return;
	if (replay_waits())
	{
		requests_wanted = lasted < WORTHWHILE_RECORDS ?
			Min(2 * requests_wanted, MAX_REQUESTS) : MIN_REQUESTS;
		end_pause();
	}
	next_check = records + RECORDS_PER_CHECK;
}

/* Not in a pause: see whether it is time for one. */
static void
consider_pause(uint64 records)
{
	Usage		usage;

	if (records < next_look)
		return;
	next_look = records + RECORDS_PER_LOOK;
	get_usage(&usage);
	if (usage.blocks_read != blocks_read && alone_requests > 0)
		requests = 0;
	blocks_read = usage.blocks_read;
	alone_requests = 0;
	if (requests >= requests_wanted && maintenance_io_concurrency > 0)
		begin_pause(records, &usage);
}

/*
 * So many records have been applied: begin or end a pause if it is time to.  If
 * pauses are not 'wanted', end the one that we are in.
 */
void
pause_progress(uint64 records, bool wanted)
{
	if (!wanted)
		pause_reset();
	else if (pause_is_on())
		check_pause(records);
	else
		consider_pause(records);
}

/* Start afresh: end the pause if there is one, and forget what was learned. */
void
pause_reset(void)
{
	if (pause_is_on())
		end_pause();
	requests = 0;
	requests_wanted = MIN_REQUESTS;
}
