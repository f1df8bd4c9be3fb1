/* What users call.  Views are for pg_monitor, resets for superusers. */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_prefetch_guard" to load this file. \quit


/*
 * The guard: what recovery asked to be prefetched, and what became of it.
 */
CREATE FUNCTION pg_stat_get_prefetch_guard(
	OUT mode text,
	OUT filter_status text,
	OUT stats_reset timestamptz,
	OUT requests bigint,
	OUT issued bigint,
	OUT suppressed bigint,
	OUT covered_by_image bigint,
	OUT covered_by_init bigint,
	OUT repeated bigint,
	OUT sequential bigint,
	OUT unattributed bigint,
	OUT suppressed_bytes bigint,
	OUT records bigint,
	OUT paused_records bigint,
	OUT wal_bytes bigint,
	OUT fpi_bytes bigint,
	OUT user_cpu_seconds float8,
	OUT system_cpu_seconds float8)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW pg_stat_prefetch_guard AS
	SELECT * FROM pg_stat_get_prefetch_guard();

CREATE FUNCTION pg_stat_get_prefetch_guard_relations(
	OUT datid oid,
	OUT spcid oid,
	OUT relfilenode oid,
	OUT requests bigint,
	OUT issued bigint,
	OUT covered_by_image bigint,
	OUT covered_by_init bigint,
	OUT repeated bigint,
	OUT sequential bigint,
	OUT unseen bigint,
	OUT last_lsn pg_lsn)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW pg_stat_prefetch_guard_relations AS
	SELECT s.datid,
		d.datname,
		s.spcid,
		t.spcname,
		s.relfilenode,
		CASE WHEN s.datid = 0 OR d.datname = current_database()
			THEN pg_filenode_relation(s.spcid, s.relfilenode)
		END AS relation,
		s.requests,
		s.issued,
		s.covered_by_image,
		s.covered_by_init,
		s.repeated,
		s.sequential,
		s.unseen,
		s.last_lsn
	FROM pg_stat_get_prefetch_guard_relations() s
		LEFT JOIN pg_database d ON d.oid = s.datid
		LEFT JOIN pg_tablespace t ON t.oid = s.spcid
	ORDER BY s.requests + s.unseen DESC;

CREATE FUNCTION pg_prefetch_guard_reset()
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

REVOKE ALL ON FUNCTION pg_stat_get_prefetch_guard() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_prefetch_guard_relations() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_prefetch_guard_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_prefetch_guard() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_prefetch_guard_relations() TO pg_monitor;
GRANT SELECT ON pg_stat_prefetch_guard TO pg_monitor;
GRANT SELECT ON pg_stat_prefetch_guard_relations TO pg_monitor;

COMMENT ON VIEW pg_stat_prefetch_guard IS
	'what recovery asked to be prefetched, and what became of it';
COMMENT ON VIEW pg_stat_prefetch_guard_relations IS
	'the relations that recovery asked most for';
COMMENT ON FUNCTION pg_stat_get_prefetch_guard() IS
	'row of the view pg_stat_prefetch_guard';
COMMENT ON FUNCTION pg_stat_get_prefetch_guard_relations() IS
	'rows of the view pg_stat_prefetch_guard_relations, without names';
COMMENT ON FUNCTION pg_prefetch_guard_reset() IS
	'set the counters of pg_prefetch_guard to zero';


/*
 * Waiting: PostgreSQL 19's WAIT FOR LSN, for everybody.
 *
 * A number does not match a parameter of type text, so there are variants with
 * the timeout as a number.  They need it to be given, and the one without a mode
 * is there because in the other one the mode, standing before the timeout, cannot
 * have a default.  Parameters stand where literals and parameters of unknown type
 * find but one procedure: no text where the others have no_throw.
 *
 * Where nothing is given the mode is standby_replay, the timeout zero, and
 * no_throw false.  NULL is the cheapest default for core to read; given in the
 * CALL it is an error.
 */
CREATE PROCEDURE pg_wait_for_lsn(
	target pg_lsn,
	mode text DEFAULT NULL,
	timeout text DEFAULT NULL,
	no_throw boolean DEFAULT NULL,
	INOUT status text DEFAULT NULL)
AS 'MODULE_PATHNAME'
LANGUAGE C;

CREATE PROCEDURE pg_wait_for_lsn(
	target pg_lsn,
	mode text,
	timeout double precision,
	no_throw boolean DEFAULT NULL,
	INOUT status text DEFAULT NULL)
AS 'MODULE_PATHNAME', 'pg_wait_for_lsn_ms'
LANGUAGE C;

CREATE PROCEDURE pg_wait_for_lsn(
	target pg_lsn,
	timeout double precision,
	INOUT status text DEFAULT NULL,
	no_throw boolean DEFAULT NULL)
AS 'MODULE_PATHNAME', 'pg_wait_for_lsn_replay_ms'
LANGUAGE C;

CREATE FUNCTION pg_get_prefetch_guard_waiters(
	OUT pid integer,
	OUT target pg_lsn,
	OUT mode text,
	OUT started_at timestamptz,
	OUT deadline timestamptz,
	OUT current_lsn pg_lsn)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW pg_prefetch_guard_waiters AS
	SELECT pid,
		target,
		mode,
		started_at,
		deadline,
		current_lsn,
		greatest(target - current_lsn, 0) AS bytes_to_go
	FROM pg_get_prefetch_guard_waiters();

CREATE FUNCTION pg_stat_get_prefetch_guard_waits(
	OUT mode text,
	OUT wakeup text,
	OUT waits bigint,
	OUT successes bigint,
	OUT timeouts bigint,
	OUT not_in_recovery bigint,
	OUT cancels bigint,
	OUT errors bigint,
	OUT total_wait_time double precision,
	OUT max_wait_time double precision,
	OUT histogram_bounds double precision[],
	OUT histogram bigint[])
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW pg_stat_prefetch_guard_waits AS
	SELECT * FROM pg_stat_get_prefetch_guard_waits();

REVOKE ALL ON FUNCTION pg_get_prefetch_guard_waiters() FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_get_prefetch_guard_waits() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_get_prefetch_guard_waiters() TO pg_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_prefetch_guard_waits() TO pg_monitor;
GRANT SELECT ON pg_prefetch_guard_waiters TO pg_monitor;
GRANT SELECT ON pg_stat_prefetch_guard_waits TO pg_monitor;

COMMENT ON VIEW pg_prefetch_guard_waiters IS
	'who waits for an LSN';
COMMENT ON VIEW pg_stat_prefetch_guard_waits IS
	'waits for an LSN that have ended, by mode';
COMMENT ON FUNCTION pg_get_prefetch_guard_waiters() IS
	'rows of the view pg_prefetch_guard_waiters';
COMMENT ON FUNCTION pg_stat_get_prefetch_guard_waits() IS
	'rows of the view pg_stat_prefetch_guard_waits';


/*
 * The walreceiver that is started while local WAL is still being replayed.
 */
CREATE FUNCTION pg_stat_get_prefetch_guard_receiver(
	OUT enabled boolean,
	OUT state text,
	OUT early_starts bigint,
	OUT handovers bigint,
	OUT last_start_lsn pg_lsn,
	OUT last_start_time timestamptz,
	OUT bytes_received_early bigint,
	OUT unreplayed_bytes bigint)
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

CREATE VIEW pg_stat_prefetch_guard_receiver AS
	SELECT * FROM pg_stat_get_prefetch_guard_receiver();

REVOKE ALL ON FUNCTION pg_stat_get_prefetch_guard_receiver() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_stat_get_prefetch_guard_receiver() TO pg_monitor;
GRANT SELECT ON pg_stat_prefetch_guard_receiver TO pg_monitor;

COMMENT ON VIEW pg_stat_prefetch_guard_receiver IS
	'WAL receivers that were started while local WAL was being replayed';
COMMENT ON FUNCTION pg_stat_get_prefetch_guard_receiver() IS
	'row of the view pg_stat_prefetch_guard_receiver';
