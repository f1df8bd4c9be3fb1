-- The guard's settings: what they are, and what they refuse.
SELECT name, vartype, setting, boot_val, unit, context, min_val, max_val, enumvals
FROM pg_settings
WHERE name IN ('pg_prefetch_guard.mode', 'pg_prefetch_guard.sequential',
	'pg_prefetch_guard.pause_lookahead', 'pg_prefetch_guard.max_relations')
ORDER BY name;
SELECT name, short_desc, extra_desc FROM pg_settings
WHERE name IN ('pg_prefetch_guard.mode', 'pg_prefetch_guard.sequential',
	'pg_prefetch_guard.pause_lookahead', 'pg_prefetch_guard.max_relations')
ORDER BY name;
SHOW pg_prefetch_guard.mode;
SHOW pg_prefetch_guard.sequential;
SHOW pg_prefetch_guard.pause_lookahead;
SHOW pg_prefetch_guard.max_relations;

-- they are the startup process's, not a session's
SET pg_prefetch_guard.mode = 'off';
SET pg_prefetch_guard.sequential = off;
SET pg_prefetch_guard.pause_lookahead = off;
SET pg_prefetch_guard.max_relations = 100;
ALTER DATABASE :"DBNAME" SET pg_prefetch_guard.mode = 'off';

-- what they refuse
ALTER SYSTEM SET pg_prefetch_guard.mode = 'on';
ALTER SYSTEM SET pg_prefetch_guard.mode = '';
ALTER SYSTEM SET pg_prefetch_guard.sequential = 'sometimes';
ALTER SYSTEM SET pg_prefetch_guard.pause_lookahead = '1s';
ALTER SYSTEM SET pg_prefetch_guard.max_relations = 9;
ALTER SYSTEM SET pg_prefetch_guard.max_relations = 100001;
ALTER SYSTEM SET pg_prefetch_guard.max_relations = '1MB';

-- there are no others
SET pg_prefetch_guard.nonsense = 1;
SHOW pg_prefetch_guard.nonsense;
