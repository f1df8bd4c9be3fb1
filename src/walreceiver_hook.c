/*-------------------------------------------------------------------------
 *
 * walreceiver_hook.c
 *	  A callback in the walreceiver, for WAL written and flushed.
 *
 * The walreceiver talks to its primary through WalReceiverFunctions, a pointer
 * to a struct of functions that libpqwalreceiver sets when it is loaded.  We
 * load that library into the postmaster, so that the walreceiver inherits it,
 * and put a struct of our own in its place.  After each write the walreceiver
 * comes back to receive more, and after each flush it sends a reply, so those
 * two calls see each new position: walrcv_receive the one written, walrcv_send
 * the one flushed.  A walreceiver that ends flushes what it has, and then
 * disconnects.
 *
 * Replies are not sent while wal_receiver_status_interval is zero; then the
 * flushed position is seen only when the next WAL is received.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "replication/walreceiver.h"

#include "walreceiver_hook.h"

static const WalReceiverFunctionsType *original = NULL;
static WalReceiverFunctionsType replacement;
static void (*progress_callback) (void) = NULL;

/*
 * The parentheses around original's members keep walreceiver.h's macros of the
 * same names from being expanded.
 */

/* Subscription workers use the same functions, but write no WAL. */
static inline void
report_progress(void)
{
	if (AmWalReceiverProcess())
		progress_callback();
}

static int
hooked_receive(WalReceiverConn *conn, char **buffer, pgsocket *wait_fd)
{
	report_progress();
	return (original->walrcv_receive) (conn, buffer, wait_fd);
}

static void
hooked_send(WalReceiverConn *conn, const char *buffer, int nbytes)
{
	report_progress();
	(original->walrcv_send) (conn, buffer, nbytes);
}

static void
hooked_endstreaming(WalReceiverConn *conn, TimeLineID *next_tli)
{
	report_progress();
	(original->walrcv_endstreaming) (conn, next_tli);
}

static void
hooked_disconnect(WalReceiverConn *conn)
{
	report_progress();
	(original->walrcv_disconnect) (conn);
}

/* Load libpqwalreceiver; false, with a line in the log, if that fails. */
static bool
load_libpqwalreceiver(void)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool loaded = false;

	PG_TRY();
	{
		load_file("libpqwalreceiver", false);
		loaded = (WalReceiverFunctions != NULL);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		ereport(LOG,
				(errmsg("pg_prefetch_guard cannot follow the WAL receiver"),
				 errdetail_internal("%s", error->message)));
		FreeErrorData(error);
	}
	PG_END_TRY();
	return loaded;
}

/*
 * Have 'progressed' called in the walreceiver whenever it may have written or
 * flushed WAL.  It must not wait or raise errors, and can be called while the
 * process exits.  For _PG_init(), once.
 */
void
walreceiver_hook_install(void (*progressed) (void))
{
	Assert(original == NULL);
	if (!load_libpqwalreceiver())
		return;

	progress_callback = progressed;
	original = WalReceiverFunctions;
	replacement = *original;
	replacement.walrcv_receive = hooked_receive;
	replacement.walrcv_send = hooked_send;
	replacement.walrcv_endstreaming = hooked_endstreaming;
	replacement.walrcv_disconnect = hooked_disconnect;
	WalReceiverFunctions = &replacement;
}
