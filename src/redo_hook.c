/*-------------------------------------------------------------------------
 *
 * redo_hook.c
 *	  Callbacks in the startup process, for every WAL record applied.
 *
 * RmgrTable is an exported, writable array: each resource manager's rm_redo
 * applies the records of its kind.  All of them are replaced by one function
 * that calls the original and then whoever registered here.  The table also
 * has functions to be called when redo starts and when it ends; the "XLOG"
 * resource manager, which every server has, leaves both free, and we chain to
 * them if some future server does not.
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

#include "redo_hook.h"

#define MAX_CALLBACKS 8

typedef void (*RedoFunction) (XLogReaderState *record);

static RedoFunction original_redo[RM_MAX_ID + 1];
static void (*original_startup) (void) = NULL;
static void (*original_cleanup) (void) = NULL;

static const RedoCallbacks *callbacks[MAX_CALLBACKS];
static int	ncallbacks = 0;

/* Local to the startup process. */
static XLogReaderState *redo_reader = NULL;

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

/* Takes the place of every rm_redo. */
static void
redo_trampoline(XLogReaderState *record)
{
	redo_reader = record;
	original_redo[XLogRecGetRmid(record)] (record);

	for (int i = 0; i < ncallbacks; i++)
		if (callbacks[i]->applied)
			callbacks[i]->applied(record);
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

	for (int i = 0; i < ncallbacks; i++)
		if (callbacks[i]->end)
			callbacks[i]->end();
	redo_reader = NULL;
}

/* Replace the table's functions.  For shmem_startup_hook. */
void
redo_hook_install(void)
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
