/*-------------------------------------------------------------------------
 *
 * pg_prefetch_guard.c
 *	  Module load: the only file that knows all parts of the extension.
 *
 * The library has to be in shared_preload_libraries, since the startup process
 * applies WAL before any session could load it.  The extension's SQL objects
 * reach a standby from its primary, though, where the library may well not be
 * loaded; loading it on demand there does nothing, and each SQL function says
 * what is missing (require_preloaded()).
 *
 * Data flows one way:
 *
 *	WAL record decoded -> core asks for a block -> libc hook -> guard
 *		(lookahead, streams, relstats) -> kernel or nothing
 *	record applied -> redo hook -> the parts that follow replay
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "early_walreceiver.h"
#include "guard.h"
#include "pg_prefetch_guard.h"
#include "redo_hook.h"
#include "relstats.h"
#include "waiters.h"

PG_MODULE_MAGIC;

/* One part of the extension. */
typedef struct Room
{
	void		(*init) (void); /* define settings, register callbacks; may be
								 * NULL */
	Size		(*shmem_size) (void);
	void		(*shmem_startup) (void);	/* attach, or initialise if new */
	void		(*reset) (void);	/* pg_prefetch_guard_reset(); may be NULL */
	void		(*shmem_request) (void);	/* ask for locks; may be NULL */
} Room;

static const Room rooms[] = {
	{
		.shmem_size = redo_hook_shmem_size,
		.shmem_startup = redo_hook_shmem_startup
	},
	{
		.init = guard_init,
		.shmem_size = guard_shmem_size,
		.shmem_startup = guard_shmem_startup,
		.reset = guard_reset
	},
	{
		.init = relstats_init,
		.shmem_size = relstats_shmem_size,
		.shmem_startup = relstats_shmem_startup
	},
	{
		.init = waiters_init,
		.shmem_size = waiters_shmem_size,
		.shmem_startup = waiters_shmem_startup,
		.reset = waiters_reset,
		.shmem_request = waiters_shmem_request
	},
	{
		.init = early_walreceiver_init,
		.shmem_size = early_walreceiver_shmem_size,
		.shmem_startup = early_walreceiver_shmem_startup
	},
};

SQL_FUNCTION(pg_prefetch_guard_reset);

static bool preloaded = false;
static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

/*
 * Where rooms keep what the startup process needs.  They allocate it in the
 * postmaster, so that the startup process never has to.  The context has the
 * library's name, so that pg_backend_memory_contexts, in any backend, tells how
 * much that is.
 */
MemoryContext
room_memory(void)
{
	static MemoryContext context = NULL;

	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "pg_prefetch_guard",
										ALLOCSET_SMALL_SIZES);
	return context;
}

/* Ask for shared memory, once per server start. */
static void
request_shmem(void)
{
	Size		size = 0;

	if (prev_shmem_request_hook)
		prev_shmem_request_hook();

	for (int i = 0; i < lengthof(rooms); i++)
	{
		size = add_size(size, MAXALIGN(rooms[i].shmem_size()));
		if (rooms[i].shmem_request)
			rooms[i].shmem_request();
	}
	RequestAddinShmemSpace(size);
}

/* Set up shared memory; again after a crash restart. */
static void
startup_shmem(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (int i = 0; i < lengthof(rooms); i++)
		rooms[i].shmem_startup();
	LWLockRelease(AddinShmemInitLock);
}

/*
 * Raise an error if the library was not preloaded.  Each SQL function calls
 * this first.
 */
void
require_preloaded(void)
{
	if (!preloaded)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pg_prefetch_guard must be loaded via \"shared_preload_libraries\""),
				 errhint("Add \"pg_prefetch_guard\" to the \"shared_preload_libraries\" setting of this server and restart it.")));
}

/*
 * pg_prefetch_guard_reset() returns void: set the counters of all rooms to zero
 * that have a reset function.  Superusers may call it and grant it to others.
 */
Datum
pg_prefetch_guard_reset(PG_FUNCTION_ARGS)
{
	require_preloaded();
	for (int i = 0; i < lengthof(rooms); i++)
		if (rooms[i].reset)
			rooms[i].reset();
	PG_RETURN_VOID();
}

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	void	  **loaded;

	if (!process_shared_preload_libraries_in_progress)
		return;

	/* A second copy of the library, under another name, must stay inert. */
	loaded = find_rendezvous_variable("pg_prefetch_guard");
	if (*loaded)
	{
		ereport(WARNING,
				(errmsg("pg_prefetch_guard is loaded already, ignoring another copy of its library")));
		return;
	}
	*loaded = (void *) rooms;
	preloaded = true;

	for (int i = 0; i < lengthof(rooms); i++)
		if (rooms[i].init)
			rooms[i].init();
	MarkGUCPrefixReserved("pg_prefetch_guard");

	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shmem;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_shmem;
}
