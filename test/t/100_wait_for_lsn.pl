# CALL pg_wait_for_lsn(): what it answers, what it refuses, and that a session
# sees what was committed up to the LSN.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use Waiters;

my ($primary, $standby) = new_pair();

$primary->safe_psql('postgres', q{
	CREATE FUNCTION wait_in_function() RETURNS pg_lsn LANGUAGE plpgsql AS $$
		BEGIN
			EXECUTE 'CALL pg_wait_for_lsn(''0/1'')';
			RETURN '0/1';
		END $$;
	CREATE PROCEDURE wait_in_procedure() LANGUAGE plpgsql AS $$
		DECLARE s text;
		BEGIN
			CALL pg_wait_for_lsn('0/1', status => s);
		END $$;
});

# Read your writes.
for my $i (1 .. 5)
{
	my $lsn = commit_lsn($primary, $i);

	is($standby->safe_psql('postgres', "CALL pg_wait_for_lsn('$lsn');
			SELECT pg_last_wal_replay_lsn() >= '$lsn', count(*) FROM t WHERE i = $i"),
		"success\nt|1", "row $i is there");
}

# The other modes.
my $lsn = commit_lsn($primary);
is($standby->safe_psql('postgres', "CALL pg_wait_for_lsn('$lsn', 'standby_write');
		SELECT written_lsn >= '$lsn' FROM pg_stat_wal_receiver"),
	"success\nt", 'standby_write');
is($standby->safe_psql('postgres', "CALL pg_wait_for_lsn('$lsn', mode => 'Standby_Flush');
		SELECT pg_last_wal_receive_lsn() >= '$lsn'"),
	"success\nt", 'standby_flush, and case does not matter');

# primary_flush flushes what has been inserted, with whatever synchronous_commit.
is($primary->safe_psql('postgres', q{
		SET synchronous_commit = off;
		INSERT INTO t VALUES (10);
		SELECT pg_current_wal_insert_lsn() AS lsn \gset
		CALL pg_wait_for_lsn(:'lsn', 'primary_flush', '20s');
		SELECT pg_current_wal_flush_lsn() >= :'lsn'}),
	"success\nt", 'primary_flush');

# The insert position may be behind a page header that nothing has been written
# after; a few hundred rounds see every place that a record can end at.
is($primary->safe_psql('postgres', q{
		SET synchronous_commit = off;
		SELECT format('INSERT INTO t VALUES (%s); CALL pg_wait_for_lsn(pg_current_wal_insert_lsn(), ''primary_flush'', 200, true);', g)
		FROM generate_series(1, 300) g \gexec
	}) =~ s/success\n|timeout\n|success$|timeout$//gr, '', 'primary_flush at page boundaries');

# Wait for something that comes later.
my $session = start_session($primary, q{CALL pg_wait_for_lsn(pg_current_wal_insert_lsn() + 20000::numeric, 'primary_flush')});
wait_for_waiters($primary, 1);
$primary->safe_psql('postgres', 'INSERT INTO t SELECT 0 FROM generate_series(1, 500)');
is(finish_session($session), 'success', 'primary_flush of what is written later');

# Timeouts, in all ways to write them.
my $far = 'FFFFFFFF/FFFFFFFF';
for my $args ("'$far', timeout => '50ms', no_throw => true",
	"'$far', timeout => '0.05s', no_throw => true",
	"'$far', timeout => '50', no_throw => true",
	"'$far', timeout => 50, no_throw => true",
	"'$far', timeout => 50::bigint, no_throw => true",
	"'$far', timeout => 49.6, no_throw => true",
	"'$far', mode => 'standby_flush', timeout => 50, no_throw => true",
	"'$far', 'standby_write', 50::smallint, true",
	"'$far', 'standby_replay', '50 ms', true",
	"'$far', 'standby_replay', '50', 'on'")
{
	is(status_of($standby, $args), 'timeout', "times out: $args");
}
is(status_of($standby, "'$lsn', timeout => '1d'"), 'success', 'a long timeout');
is(status_of($standby, "'$lsn', timeout => $_"), 'success', "timeout $_") for "'0'", 0;

# What it refuses, with 19's messages and SQLSTATEs.
my @refused = (
	[ $standby, "'$far', timeout => '50ms'",
		qr/^57014: timed out while waiting for target LSN FFFFFFFF\/FFFFFFFF to be replayed; current standby_replay LSN [0-9A-F]+\/[0-9A-F]{8}$/ ],
	[ $standby, "'$far', 50", qr/^57014: .* to be replayed; current standby_replay LSN/ ],
	[ $standby, "'$far', 'standby_write', 50", qr/^57014: .* to be written; current standby_write LSN/ ],
	[ $standby, "'$far', 'standby_flush', 50", qr/^57014: .* to be flushed; current standby_flush LSN/ ],
	[ $primary, "'$far', 'primary_flush', 50", qr/^57014: .* to be flushed; current primary_flush LSN/ ],
	[ $standby, "'$lsn', 'primary_flush'",
		qr/^55000: recovery is in progress HINT: Waiting for primary_flush can only be done on a primary server\. Use standby_flush mode on a standby server\./ ],
	[ $primary, "'$lsn'",
		qr/^55000: recovery is not in progress HINT: Waiting for the standby_replay LSN can only be executed during recovery\./ ],
	[ $primary, "'$lsn', 'standby_write'", qr/^55000: .* Waiting for the standby_write LSN/ ],
	[ $primary, "'$lsn', 'standby_flush'", qr/^55000: .* Waiting for the standby_flush LSN/ ],
);
like(error_of($_->[0], "CALL pg_wait_for_lsn($_->[1])"), $_->[2], "refused: $_->[1]") for @refused;
is(status_of($primary, "'$lsn', no_throw => true"), 'not in recovery', 'on a primary, no_throw');

# Only as a statement of its own: elsewhere there are snapshots that are not
# ours, and taking them away would crash the server.
my $toplevel = qr/^0A000: pg_wait_for_lsn can only be executed as a top-level statement DETAIL: pg_wait_for_lsn cannot be used within a function, procedure, or DO block\./;
for my $sql ('SELECT wait_in_function()',
	'CALL wait_in_procedure()',
	q{DO $$ BEGIN EXECUTE 'CALL pg_wait_for_lsn(''0/1'')'; END $$},
	q{DO $$ DECLARE s text; BEGIN CALL pg_wait_for_lsn('0/1', status => s); END $$},
	'CALL pg_wait_for_lsn(wait_in_function())',
	'BEGIN; CALL pg_wait_for_lsn(wait_in_function())',
	'CALL pg_wait_for_lsn(mode => wait_in_function()::text, target => \'0/1\')')
{
	like(error_of($standby, $sql), $toplevel, "refused: $sql");
}

my $snapshot = qr/^55000: pg_wait_for_lsn must be called without an active or registered snapshot DETAIL: /;
like(error_of($standby, "BEGIN ISOLATION LEVEL REPEATABLE READ;\nCALL pg_wait_for_lsn('0/1')"),
	qr/${snapshot}pg_wait_for_lsn cannot be executed within a transaction with an isolation level higher than READ COMMITTED/,
	'refused: REPEATABLE READ');
like(error_of($primary, "BEGIN ISOLATION LEVEL SERIALIZABLE;\nCALL pg_wait_for_lsn('0/1', 'primary_flush')"),
	$snapshot, 'refused: SERIALIZABLE');
like(error_of($standby, "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM t;\nFETCH c;\nCALL pg_wait_for_lsn('0/1')"),
	qr/${snapshot}.*open cursor/, 'refused: with an open cursor');

# In a transaction block it works, and so does everything after it.
is($standby->safe_psql('postgres', "
		BEGIN;
		SELECT count(*) > 0 FROM t;
		SAVEPOINT a;
		CALL pg_wait_for_lsn('$lsn');
		SELECT count(*) > 0 FROM t;
		RELEASE a;
		CALL pg_wait_for_lsn('$lsn');
		COMMIT"),
	"t\nsuccess\nt\nsuccess", 'in a transaction block');
is($standby->safe_psql('postgres', "SELECT 1\\; CALL pg_wait_for_lsn('$lsn')\\; SELECT 2;"),
	"1\nsuccess\n2", 'among other statements of one query string');

# With parameters, in every protocol that pgbench speaks.
my $script = $standby->basedir . '/wait.sql';
append_to_file($script, <<'EOT');
\set timeout 1000
CALL pg_wait_for_lsn(:lsn, 'standby_replay', :timeout);
CALL pg_wait_for_lsn(:lsn, :mode, :duration, :no_throw);
BEGIN;
CALL pg_wait_for_lsn(target => :lsn, mode => :mode, timeout => :duration);
SELECT count(*) FROM t;
COMMIT;
EOT
for my $protocol ('simple', 'extended', 'prepared')
{
	# pgbench does not quote in the simple protocol
	my $q = $protocol eq 'simple' ? "'" : '';

	$standby->command_ok(
		[ 'pgbench', '-n', '-t', '5', '-M', $protocol, '-f', $script,
			'-D', "lsn=$q$lsn$q", '-D', "mode=${q}standby_flush$q",
			'-D', "duration=${q}5s$q", '-D', "no_throw=${q}true$q",
			$standby->connstr('postgres') ],
		"$protocol protocol");
}

# Anybody may wait, but not look at others.
$primary->safe_psql('postgres', 'CREATE ROLE nobody LOGIN; CREATE ROLE watcher IN ROLE pg_monitor');
commit_lsn($primary);
$primary->wait_for_catchup($standby);
is($standby->safe_psql('postgres', "SET ROLE nobody; CALL pg_wait_for_lsn('$lsn')"), 'success', 'waiting needs no privilege');
for my $view ('pg_prefetch_guard_waiters', 'pg_stat_prefetch_guard_waits')
{
	like(error_of($standby, "SET ROLE nobody;\nSELECT * FROM $view"), qr/^42501: /, "$view is not for everybody");
	$standby->safe_psql('postgres', "SET ROLE watcher; SELECT * FROM $view");
}

ok_alive($primary, 'primary');
ok_alive($standby, 'standby');
done_testing();
