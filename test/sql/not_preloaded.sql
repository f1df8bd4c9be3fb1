-- On a server without the library the extension can be created (a standby gets
-- its objects from the primary all the same), and each of them says what is
-- missing.
SHOW shared_preload_libraries;
CREATE EXTENSION pg_prefetch_guard;

SELECT * FROM pg_stat_prefetch_guard;
SELECT * FROM pg_stat_prefetch_guard_relations;
SELECT pg_prefetch_guard_reset();

-- all others too
\set VERBOSITY sqlstate
SELECT format('SELECT * FROM %s', c.oid::regclass) FROM pg_class c
WHERE relname LIKE '%prefetch_guard%' AND relkind = 'v'
ORDER BY 1 \gexec
CALL pg_wait_for_lsn('0/1', 'primary_flush');
\set VERBOSITY default
CALL pg_wait_for_lsn('0/1', 'primary_flush');

-- loading it now does nothing
LOAD 'pg_prefetch_guard';
SELECT count(*) FROM pg_stat_prefetch_guard;
SELECT count(*) FROM pg_settings WHERE name LIKE 'pg_prefetch_guard.%';
SELECT count(*) FROM pg_shmem_allocations WHERE name LIKE 'pg\_prefetch\_guard%';

-- a setting is a word without meaning here
SET pg_prefetch_guard.mode = 'no matter what';
DROP EXTENSION pg_prefetch_guard;
