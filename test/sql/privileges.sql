-- pg_monitor reads, superusers reset, others get nothing unless they are given it.
CREATE ROLE regress_guard_nobody;
CREATE ROLE regress_guard_monitor IN ROLE pg_monitor;

SET ROLE regress_guard_nobody;
SELECT * FROM pg_stat_prefetch_guard;
SELECT * FROM pg_stat_prefetch_guard_relations;
SELECT * FROM pg_stat_get_prefetch_guard();
SELECT * FROM pg_stat_get_prefetch_guard_relations();
SELECT pg_prefetch_guard_reset();
RESET ROLE;

SET ROLE regress_guard_monitor;
SELECT count(*) FROM pg_stat_prefetch_guard;
SELECT count(*) FROM pg_stat_prefetch_guard_relations;
SELECT requests FROM pg_stat_get_prefetch_guard();
SELECT count(*) FROM pg_stat_get_prefetch_guard_relations();
SELECT pg_prefetch_guard_reset();
RESET ROLE;

SELECT pg_prefetch_guard_reset();

-- both can be granted
GRANT EXECUTE ON FUNCTION pg_prefetch_guard_reset() TO regress_guard_monitor;
GRANT EXECUTE ON FUNCTION pg_stat_get_prefetch_guard() TO regress_guard_nobody;
GRANT SELECT ON pg_stat_prefetch_guard TO regress_guard_nobody;
SET ROLE regress_guard_monitor;
SELECT pg_prefetch_guard_reset();
SET ROLE regress_guard_nobody;
SELECT requests FROM pg_stat_prefetch_guard;
SELECT pg_prefetch_guard_reset();
RESET ROLE;

-- the same holds for everything that reads: for PUBLIC nothing, for pg_monitor all
SELECT proname,
	has_function_privilege('regress_guard_monitor', p.oid, 'EXECUTE') AS monitor,
	EXISTS (SELECT FROM aclexplode(proacl) WHERE grantee = 0) AS public
FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	JOIN pg_proc p ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
WHERE extname = 'pg_prefetch_guard' AND prokind = 'f' AND proname <> 'pg_prefetch_guard_reset'
ORDER BY 1;
SELECT relname,
	has_table_privilege('regress_guard_monitor', c.oid, 'SELECT') AS monitor,
	EXISTS (SELECT FROM aclexplode(relacl) WHERE grantee = 0) AS public
FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND d.refclassid = 'pg_extension'::regclass
	JOIN pg_class c ON d.objid = c.oid AND d.classid = 'pg_class'::regclass
WHERE extname = 'pg_prefetch_guard'
ORDER BY 1;

REVOKE ALL ON FUNCTION pg_prefetch_guard_reset() FROM regress_guard_monitor;
REVOKE ALL ON FUNCTION pg_stat_get_prefetch_guard() FROM regress_guard_nobody;
REVOKE ALL ON pg_stat_prefetch_guard FROM regress_guard_nobody;
DROP ROLE regress_guard_nobody;
DROP ROLE regress_guard_monitor;
