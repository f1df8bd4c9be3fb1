-- Arguments and errors of pg_wait_for_lsn(), on a primary.
\set SHOW_CONTEXT never
\set VERBOSITY default

-- what is flushed is a success, with the timeout as text, as a number, or not there
CALL pg_wait_for_lsn('0/1', 'primary_flush');
CALL pg_wait_for_lsn('0/1', 'PRIMARY_flush', '1d');
CALL pg_wait_for_lsn('0/1', 'primary_flush', '0');
CALL pg_wait_for_lsn('0/1', 'primary_flush', 0);
CALL pg_wait_for_lsn(target => '0/1', mode => 'primary_flush', timeout => 100, no_throw => true);
CALL pg_wait_for_lsn(no_throw => false, timeout => '100ms', mode => 'primary_flush', target => '0/1');
CALL pg_wait_for_lsn(pg_current_wal_flush_lsn(), 'primary_flush', 1.5);
CALL pg_wait_for_lsn(pg_current_wal_insert_lsn() - 1::numeric, mode => 'primary_flush', timeout => 1000::bigint);

-- what is not there yet times out
CALL pg_wait_for_lsn('FFFFFFFF/FFFFFFFF', 'primary_flush', 10, true);
CALL pg_wait_for_lsn('FFFFFFFF/FFFFFFFF', 'primary_flush', '0.01s', true);
CALL pg_wait_for_lsn('FFFFFFFF/FFFFFFFF', 'primary_flush', '10', 'on');
-- a short timeout is not none
CALL pg_wait_for_lsn('FFFFFFFF/FFFFFFFF', 'primary_flush', '1us', true);
CALL pg_wait_for_lsn('FFFFFFFF/FFFFFFFF', 'primary_flush', 0.4, true);
DO $$
DECLARE
	s text;
BEGIN
	CALL pg_wait_for_lsn('FFFFFFFF/FFFFFFFF', 'primary_flush', 10, true, s);
END $$;

-- the other modes are for standbys
CALL pg_wait_for_lsn('0/1');
CALL pg_wait_for_lsn('0/1', 'standby_write');
CALL pg_wait_for_lsn('0/1', 'standby_flush');
CALL pg_wait_for_lsn('0/1', 100);
CALL pg_wait_for_lsn('0/1', timeout => 100, no_throw => true);

-- bad LSNs and modes
CALL pg_wait_for_lsn('not-a-lsn');
CALL pg_wait_for_lsn('');
CALL pg_wait_for_lsn('0/1', 'bogus_mode');
CALL pg_wait_for_lsn('0/1', '');

-- bad timeouts
CALL pg_wait_for_lsn('0/1', 'primary_flush', '-1');
CALL pg_wait_for_lsn('0/1', 'primary_flush', '-1s');
CALL pg_wait_for_lsn('0/1', 'primary_flush', '-0.4');
CALL pg_wait_for_lsn('0/1', 'primary_flush', -0.4);
CALL pg_wait_for_lsn('0/1', 'primary_flush', -1);
CALL pg_wait_for_lsn('0/1', timeout => -0.6);
CALL pg_wait_for_lsn('0/1', timeout => '');
CALL pg_wait_for_lsn('0/1', timeout => 'soon');
CALL pg_wait_for_lsn('0/1', timeout => '5 parsecs');
CALL pg_wait_for_lsn('0/1', timeout => '5MB');
CALL pg_wait_for_lsn('0/1', timeout => '1e400');
CALL pg_wait_for_lsn('0/1', timeout => '100d');
CALL pg_wait_for_lsn('0/1', timeout => 2147483648);
CALL pg_wait_for_lsn('0/1', timeout => 'NaN'::float8);
CALL pg_wait_for_lsn('0/1', timeout => '-Infinity'::float8);
CALL pg_wait_for_lsn('0/1', 'primary_flush', 2147483647);

-- NULLs
CALL pg_wait_for_lsn(NULL);
CALL pg_wait_for_lsn('0/1', NULL);
CALL pg_wait_for_lsn('0/1', timeout => NULL);
CALL pg_wait_for_lsn('0/1', timeout => NULL::integer);
CALL pg_wait_for_lsn('0/1', 'primary_flush', NULL::float8);
CALL pg_wait_for_lsn('0/1', no_throw => NULL);

-- not a function
SELECT pg_wait_for_lsn('0/1');

-- the errors' SQLSTATEs, which clients look at
\set ON_ERROR_STOP 0
\set VERBOSITY sqlstate
CALL pg_wait_for_lsn('FFFFFFFF/FFFFFFFF', 'primary_flush', 10);
CALL pg_wait_for_lsn('0/1');
CALL pg_wait_for_lsn('not-a-lsn');
CALL pg_wait_for_lsn('0/1', 'bogus_mode');
CALL pg_wait_for_lsn('0/1', timeout => -1);
CALL pg_wait_for_lsn('0/1', timeout => 'soon');
CALL pg_wait_for_lsn('0/1', timeout => 1e12);
CALL pg_wait_for_lsn(NULL);
\set VERBOSITY default

-- nothing of this is left
SELECT * FROM pg_prefetch_guard_waiters;
SELECT mode, wakeup, not_in_recovery, cancels, errors, array_length(histogram, 1)
FROM pg_stat_prefetch_guard_waits;
SELECT waits = successes + timeouts, timeouts FROM pg_stat_prefetch_guard_waits
WHERE mode = 'primary_flush';
SELECT histogram_bounds FROM pg_stat_prefetch_guard_waits LIMIT 1;
