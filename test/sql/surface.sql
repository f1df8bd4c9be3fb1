-- Everything that CREATE EXTENSION makes, and that DROP EXTENSION takes away.
CREATE EXTENSION pg_prefetch_guard;

SELECT p.proname, prorettype::regtype AS result,
	proretset AS set, provolatile AS volatile, proparallel AS parallel, proisstrict AS strict,
	obj_description(p.oid, 'pg_proc') IS NOT NULL AS described
FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	JOIN pg_proc p ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
WHERE extname = 'pg_prefetch_guard' AND d.deptype = 'e' AND prokind = 'f'
ORDER BY 1;

SELECT relname, attname, format_type(atttypid, atttypmod) AS type
FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	JOIN pg_class c ON d.objid = c.oid AND d.classid = 'pg_class'::regclass
	JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
WHERE extname = 'pg_prefetch_guard' AND d.deptype = 'e'
ORDER BY relname, attnum;

-- each view says what it is
SELECT relname, obj_description(c.oid, 'pg_class')
FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	JOIN pg_class c ON d.objid = c.oid AND d.classid = 'pg_class'::regclass
WHERE extname = 'pg_prefetch_guard' AND d.deptype = 'e'
ORDER BY relname;

-- a server that was never recovering has nothing to tell
SELECT mode, filter_status, stats_reset <= now() AS started, requests, issued, suppressed,
	covered_by_image, covered_by_init, repeated, sequential, unattributed, suppressed_bytes,
	records, paused_records, wal_bytes, fpi_bytes, user_cpu_seconds, system_cpu_seconds
FROM pg_stat_prefetch_guard;
SELECT * FROM pg_stat_prefetch_guard_relations;

-- a reset shows at once, though nothing recovers here to carry it out
SELECT stats_reset AS before FROM pg_stat_prefetch_guard \gset
SELECT pg_prefetch_guard_reset();
SELECT stats_reset > :'before' AS reset, requests, records FROM pg_stat_prefetch_guard;

-- memory: what is shared, and what the startup process inherits from the postmaster
SELECT sum(allocated_size) < 1024 * 1024 AS shared_memory_below_1mb,
	count(*) > 1 AS found
FROM pg_shmem_allocations WHERE name LIKE 'pg\_prefetch\_guard%';
SELECT sum(total_bytes) < 1024 * 1024 AS private_memory_below_1mb,
	sum(total_bytes) > 100 * 1024 AS found
FROM pg_backend_memory_contexts WHERE name = 'pg_prefetch_guard';

-- in a schema of its own, out of the search path, and moved to another
DROP EXTENSION pg_prefetch_guard;
CREATE SCHEMA guard;
CREATE SCHEMA "other schema";
CREATE EXTENSION pg_prefetch_guard SCHEMA guard;
SELECT mode FROM guard.pg_stat_prefetch_guard;
SELECT count(*) FROM guard.pg_stat_prefetch_guard_relations;
SELECT guard.pg_prefetch_guard_reset();
SELECT mode FROM pg_stat_prefetch_guard;
ALTER EXTENSION pg_prefetch_guard SET SCHEMA "other schema";
SELECT mode FROM "other schema".pg_stat_prefetch_guard;
SELECT count(*) FROM "other schema".pg_stat_prefetch_guard_relations;

-- nothing is left
DROP EXTENSION pg_prefetch_guard;
DROP SCHEMA guard;
DROP SCHEMA "other schema";
SELECT proname FROM pg_proc WHERE probin LIKE '%pg_prefetch_guard%';
SELECT relname FROM pg_class WHERE relname LIKE '%prefetch_guard%';
SELECT count(*) FROM pg_description WHERE description LIKE '%prefetch_guard%'
	AND classoid IN ('pg_proc'::regclass, 'pg_class'::regclass);
CREATE EXTENSION pg_prefetch_guard;
