/*-------------------------------------------------------------------------
 *
 * wait_lsn.c
 *	  CALL pg_wait_for_lsn(): what PostgreSQL 19's WAIT FOR LSN does.
 *
 * A snapshot held by a session of a standby can be what stops replay, so a wait
 * that holds one may wait for itself.  That is why 19 has a statement for it.
 * A procedure is called with a snapshot, but not because it needs one: the
 * portal that runs CALL sets one up, as for most utility statements, and is
 * prepared to find it gone (VACUUM, or a procedure that commits).  A CALL that
 * returns a row holds it twice, as the active snapshot and, registered, as what
 * its stored result might need.  Our result needs nothing, so we let go of both;
 * the portal takes a new one to send the row with.
 *
 * This is sound only if these snapshots are all there are, and ours: there must
 * be nobody between the portal and us who counts on his being there.  So first
 * of all we make sure that the active portal executes the CALL of this very
 * procedure and that the active snapshot is the portal's own.  It is not when we
 * are reached through a function, be it one that computes an argument of that
 * CALL.
 *
 * Messages and SQLSTATEs are those of 19, so that a client need not care which
 * of the two it talks to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#include "storage/proc.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "pg_prefetch_guard.h"
#include "waiters.h"

SQL_FUNCTION(pg_wait_for_lsn);
SQL_FUNCTION(pg_wait_for_lsn_ms);
SQL_FUNCTION(pg_wait_for_lsn_replay_ms);

/* The CALL that the active portal executes, or NULL. */
static const CallStmt *
portal_call(void)
{
	const PlannedStmt *pstmt;

	if (ActivePortal == NULL || ActivePortal->strategy != PORTAL_UTIL_SELECT ||
		ActivePortal->stmts == NIL)
		return NULL;
	pstmt = linitial_node(PlannedStmt, ActivePortal->stmts);
	if (pstmt->utilityStmt == NULL || !IsA(pstmt->utilityStmt, CallStmt))
		return NULL;
	return (const CallStmt *) pstmt->utilityStmt;
}

/* Is the portal's snapshot the active one? */
static bool
portal_snapshot_is_active(void)
{
	return ActivePortal->portalSnapshot != NULL && ActiveSnapshotSet() &&
		GetActiveSnapshot() == ActivePortal->portalSnapshot;
}

/* Raise an error unless called as a statement of its own, which is returned. */
static const CallStmt *
require_toplevel(FunctionCallInfo fcinfo)
{
	const CallStmt *call = portal_call();

	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		call == NULL || call->funcexpr->funcid != fcinfo->flinfo->fn_oid ||
		!portal_snapshot_is_active())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s can only be executed as a top-level statement",
						"pg_wait_for_lsn"),
				 errdetail("pg_wait_for_lsn cannot be used within a function, procedure, or DO block.")));
	return call;
}

/*
 * Let go of the portal's snapshots, and raise an error if there are more.
 * require_toplevel() has been called.
 */
static void
release_snapshots(void)
{
	Portal		portal = ActivePortal;

	PopActiveSnapshot();
	portal->portalSnapshot = NULL;
	if (portal->holdSnapshot)
	{
		UnregisterSnapshotFromOwner(portal->holdSnapshot, portal->resowner);
		portal->holdSnapshot = NULL;
	}
	InvalidateCatalogSnapshot();

	if (HaveRegisteredOrActiveSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pg_wait_for_lsn must be called without an active or registered snapshot"),
				 IsolationUsesXactSnapshot() ?
				 errdetail("pg_wait_for_lsn cannot be executed within a transaction with an isolation level higher than READ COMMITTED.") :
				 errdetail("The transaction holds another snapshot, for example that of an open cursor.")));
	Assert(MyProc->xmin == InvalidTransactionId);
}

/* Is the n'th parameter, of that name, given a value in the CALL? */
static bool
is_given(const CallStmt *call, int n, const char *name)
{
	ListCell   *lc;

	foreach(lc, call->funccall->args)
	{
		const Node *arg = lfirst(lc);

		if (IsA(arg, NamedArgExpr) ?
			strcmp(((const NamedArgExpr *) arg)->name, name) == 0 :
			foreach_current_index(lc) == n)
			return true;
	}
	return false;
}

/*
 * Is there an argument?  It must not be NULL, but that is the default, too: core
 * reads the text of a procedure's defaults each time it is called without, and
 * that of a NULL is the shortest.
 */
static bool
has_argument(FunctionCallInfo fcinfo, const CallStmt *call, int n, const char *name)
{
	if (!PG_ARGISNULL(n))
		return true;
	if (is_given(call, n, name))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", name)));
	return false;
}

static WaitMode
parse_mode(const char *name)
{
	for (int mode = 0; mode < WAIT_NMODES; mode++)
		if (pg_strcasecmp(name, wait_mode_name(mode)) == 0)
			return mode;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized value for %s option \"%s\": \"%s\"",
					"WAIT", "mode", name)));
}

/*
 * Check and round a timeout in milliseconds.  Zero means none at all, so a
 * short one must not become that by rounding, nor a negative one.
 */
static int
check_timeout(double ms)
{
	double		rounded = rint(ms);

	if (isnan(rounded) || !FLOAT8_FITS_IN_INT32(rounded))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("timeout value is out of range")));
	if (ms < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("timeout cannot be negative")));
	return ms > 0 ? Max((int) rounded, 1) : 0;
}

/* A timeout as settings have it, with or without a unit, in milliseconds. */
static int
parse_timeout(const char *value)
{
	const char *hint = NULL;
	double		ms;

	if (!parse_real(value, &ms, GUC_UNIT_MS, &hint))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid timeout value: \"%s\"", value),
				 hint ? errhint("%s", _(hint)) : 0));
	return check_timeout(ms);
}

/* What is done to WAL, as messages have it. */
static const char *
mode_participle(WaitMode mode)
{
	switch (mode)
	{
		case WAIT_MODE_STANDBY_REPLAY:
			return "replayed";
		case WAIT_MODE_STANDBY_WRITE:
			return "written";
		case WAIT_MODE_STANDBY_FLUSH:
		case WAIT_MODE_PRIMARY_FLUSH:
			return "flushed";
	}
	pg_unreachable();
}

static void
report_timeout(WaitMode mode, XLogRecPtr target)
{
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("timed out while waiting for target LSN %X/%08X to be %s; current %s LSN %X/%08X",
					LSN_FORMAT_ARGS(target), mode_participle(mode),
					wait_mode_name(mode), LSN_FORMAT_ARGS(wait_mode_position(mode)))));
}

static void
report_not_in_recovery(WaitMode mode, XLogRecPtr target)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("recovery is not in progress"),
			 PromoteIsTriggered() ?
			 errdetail("Recovery ended before target LSN %X/%08X was %s; last %s LSN %X/%08X.",
					   LSN_FORMAT_ARGS(target), mode_participle(mode),
					   wait_mode_name(mode), LSN_FORMAT_ARGS(wait_mode_position(mode))) :
			 errhint("Waiting for the %s LSN can only be executed during recovery.",
					 wait_mode_name(mode))));
}

/*
 * What the row that CALL returns looks like.  Asking the catalog each time what
 * our one column is called would be a good part of what a short wait costs.
 */
static TupleDesc
status_row_type(void)
{
	static TupleDesc type = NULL;

	if (type == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
		TupleDesc	desc = CreateTemplateTupleDesc(1);

		TupleDescInitEntry(desc, 1, "status", TEXTOID, -1, 0);
		type = BlessTupleDesc(desc);
		MemoryContextSwitchTo(old);
	}
	return type;
}

/* The row that CALL returns. */
static Datum
status_row(const char *status)
{
	Datum		value = CStringGetTextDatum(status);
	bool		isnull = false;

	return HeapTupleGetDatum(heap_form_tuple(status_row_type(), &value, &isnull));
}

/*
 * Wait, and return the status.  Arguments have been checked, the most general
 * condition, that the call is a statement of its own, before them.
 */
static Datum
wait_for_lsn(XLogRecPtr target, WaitMode mode, int timeout, bool no_throw)
{
	release_snapshots();
	if (mode == WAIT_MODE_PRIMARY_FLUSH && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("Waiting for primary_flush can only be done on a primary server. "
						 "Use standby_flush mode on a standby server.")));

	switch (wait_until_reached(mode, target, timeout))
	{
		case WAIT_OUTCOME_SUCCESS:
			return status_row("success");
		case WAIT_OUTCOME_TIMEOUT:
			if (!no_throw)
				report_timeout(mode, target);
			return status_row("timeout");
		case WAIT_OUTCOME_NOT_IN_RECOVERY:
			if (!no_throw)
				report_not_in_recovery(mode, target);
			return status_row("not in recovery");
		case WAIT_OUTCOME_CANCELED:
		case WAIT_OUTCOME_FAILED:
			break;				/* not returned, but raised */
	}
	pg_unreachable();
}

static int
timeout_from_text(Datum timeout)
{
	return parse_timeout(TextDatumGetCString(timeout));
}

static int
timeout_from_float8(Datum timeout)
{
	return check_timeout(DatumGetFloat8(timeout));
}

/*
 * Check a procedure's arguments and wait.  They are the target, the mode if
 * there is one, the timeout, and as number 3 no_throw.
 */
static Datum
check_and_wait(FunctionCallInfo fcinfo, bool has_mode, int (*get_timeout) (Datum))
{
	int			n = 0;
	const CallStmt *call;
	XLogRecPtr	target = InvalidXLogRecPtr;
	WaitMode	mode = WAIT_MODE_STANDBY_REPLAY;
	int			timeout = 0;
	bool		no_throw = false;

	require_preloaded();
	call = require_toplevel(fcinfo);
	if (has_argument(fcinfo, call, n, "target"))
		target = PG_GETARG_LSN(n);
	if (has_mode && has_argument(fcinfo, call, ++n, "mode"))
		mode = parse_mode(text_to_cstring(PG_GETARG_TEXT_PP(n)));
	if (has_argument(fcinfo, call, ++n, "timeout"))
		timeout = get_timeout(PG_GETARG_DATUM(n));
	if (has_argument(fcinfo, call, 3, "no_throw"))
		no_throw = PG_GETARG_BOOL(3);

	return wait_for_lsn(target, mode, timeout, no_throw);
}

/*
 * pg_wait_for_lsn(target pg_lsn, mode text, timeout text, no_throw boolean,
 * INOUT status text): wait until this server has reached 'target'.  The timeout
 * is a number with or without a unit, milliseconds if without; zero waits for
 * ever.  Sets status to "success", or if no_throw is true also to "timeout" or
 * "not in recovery", which are errors (57014, 55000) if not.
 */
Datum
pg_wait_for_lsn(PG_FUNCTION_ARGS)
{
	return check_and_wait(fcinfo, true, timeout_from_text);
}

/*
 * pg_wait_for_lsn(target pg_lsn, mode text, timeout float8, no_throw boolean,
 * INOUT status text): the same with a timeout in milliseconds.
 */
Datum
pg_wait_for_lsn_ms(PG_FUNCTION_ARGS)
{
	return check_and_wait(fcinfo, true, timeout_from_float8);
}

/*
 * pg_wait_for_lsn(target pg_lsn, timeout float8, INOUT status text,
 * no_throw boolean): the same for mode standby_replay.
 */
Datum
pg_wait_for_lsn_replay_ms(PG_FUNCTION_ARGS)
{
	return check_and_wait(fcinfo, false, timeout_from_float8);
}
