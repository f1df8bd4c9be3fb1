# Who wakes a waiter, and when: replay held up, a walreceiver that comes and
# goes, one that sends no replies, archives, cascades; and never too early.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use Waiters;

my ($primary, $standby) = new_pair(conf => "archive_mode = on\narchive_command = 'true'\n");

# Change settings of a node and wait until its startup process has them.
sub reconfigure
{
	my ($node, $conf) = @_;

	$node->append_conf('postgresql.conf', "$conf\n");
	$node->reload;
	return;
}

# With a position that does not move: one byte below and at it are reached, one
# above is not.  A primary may write something of its own accord, so try again if
# it has moved.
sub fencepost
{
	my ($node, $mode, $position) = @_;
	my ($lsn, $statuses);

	for (1 .. 5)
	{
		$lsn = $node->safe_psql('postgres', "SELECT $position");
		$statuses = join(' ', map { status_of($node, "'$lsn'::pg_lsn + ($_)::numeric, '$mode', 200, true") } -1, 0, 1);
		last if $node->safe_psql('postgres', "SELECT $position") eq $lsn;
	}
	is($statuses, 'success success timeout', "fencepost: $mode");
	return;
}

# Waiters are given targets far enough for what a primary may write of its own
# accord.

# Replay is paused, so that replayed < written, flushed; what has been received
# is waited for meanwhile, and replay is waited through the pause.
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
my $lsn = commit_lsn($primary, 1);
my @paused = map { start_session($standby, "CALL pg_wait_for_lsn('$lsn');\nSELECT count(*) FROM t WHERE i = 1") } 1 .. 3;
wait_for_waiters($standby, 3);
is(status_of($standby, "'$lsn', '$_'"), 'success', "$_ while replay is paused") for 'standby_write', 'standby_flush';
is(status_of($standby, "'$lsn', timeout => 50, no_throw => true"), 'timeout', 'standby_replay while replay is paused');

$primary->stop('fast');
$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver');
fencepost($standby, 'standby_replay', 'pg_last_wal_replay_lsn()');
fencepost($standby, 'standby_flush', 'pg_last_wal_receive_lsn()');
fencepost($standby, 'standby_write', 'pg_last_wal_receive_lsn()');	# the same by now
$primary->start;
$primary->safe_psql('postgres', 'CHECKPOINT');
fencepost($primary, 'primary_flush', 'pg_current_wal_flush_lsn()');

$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
is(finish_session($_), "success\n1", 'waited through the pause') for @paused;
$standby->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_stat_wal_receiver');

# A delay is waited through, too.
reconfigure($standby, "recovery_min_apply_delay = '700ms'");
$lsn = commit_lsn($primary, 2);
is(status_of($standby, "'$lsn', 'standby_flush', '10s'"), 'success', 'standby_flush does not wait for the delay');
is($standby->safe_psql('postgres', "CALL pg_wait_for_lsn('$lsn'); SELECT count(*) FROM t WHERE i = 2"),
	"success\n1", 'standby_replay waits for it');
reconfigure($standby, 'recovery_min_apply_delay = 0');

# A waiter does not hold up replay: here it would wait for itself for ever, since
# the rows it has seen are vacuumed away before its target.
reconfigure($standby, 'max_standby_streaming_delay = -1');
my $session = start_session($standby, "BEGIN;\nSELECT count(*) > 0 FROM t;\nCALL pg_wait_for_lsn(pg_last_wal_replay_lsn() + 20000::numeric);\nCOMMIT");
wait_for_waiters($standby, 1);
$primary->safe_psql('postgres', $_) for 'DELETE FROM t', 'VACUUM t', 'INSERT INTO t SELECT 1 FROM generate_series(1, 500)';
is(finish_session($session), "t\nsuccess", 'does not hold up replay');

# No walreceiver for a while; then a new one wakes, each mode by itself, since
# replay is paused.
$primary->stop('fast');
$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver');
my @down = map { start_session($standby, "CALL pg_wait_for_lsn(pg_last_wal_receive_lsn() + 200::numeric, '$_')") }
  ('standby_write', 'standby_flush', 'standby_replay');
wait_for_waiters($standby, 3);
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$primary->start;
$primary->safe_psql('postgres', 'INSERT INTO t SELECT 3 FROM generate_series(1, 20)');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
is(finish_session($_), 'success', 'woken after the walreceiver came back') for @down;

# Positions pass targets while walreceivers come and go.
$standby->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_stat_wal_receiver');
my @sessions = map { start_session($standby, "CALL pg_wait_for_lsn(pg_last_wal_replay_lsn() + (20000 + $_ * 3000)::numeric, '" .
	('standby_write', 'standby_flush', 'standby_replay')[ $_ % 3 ] . "')") } 1 .. 9;
wait_for_waiters($standby, 9);
for (1 .. 5)
{
	my $pid = $standby->safe_psql('postgres', 'SELECT pid FROM pg_stat_wal_receiver');
	kill 'TERM', $pid if $pid ne '';
	$primary->safe_psql('postgres', 'INSERT INTO t SELECT 4 FROM generate_series(1, 200)');
}
is(join(' ', map { scalar finish_session($_) } @sessions), join(' ', ('success') x 9), 'across walreceiver restarts');

# A walreceiver that sends no replies does not tell of what it has flushed, from
# one moment to the next.
is(waits($standby, 'standby_flush', 'wakeup'), 'event', 'standby_flush is woken');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$session = start_session($standby, "CALL pg_wait_for_lsn(pg_last_wal_receive_lsn() + 20000::numeric, 'standby_flush')");
my $session2 = start_session($standby, "CALL pg_wait_for_lsn(pg_last_wal_receive_lsn() + 20000::numeric, 'standby_write')");
wait_for_waiters($standby, 2);
reconfigure($standby, 'wal_receiver_status_interval = 0');
$standby->poll_query_until('postgres',
	q{SELECT wakeup = 'polling' FROM pg_stat_prefetch_guard_waits WHERE mode = 'standby_flush'}) or die;
is(waits($standby, 'standby_write', 'wakeup'), 'event', 'standby_write still is');
$primary->safe_psql('postgres', 'INSERT INTO t SELECT 0 FROM generate_series(1, 500)');
$lsn = commit_lsn($primary);
is(finish_session($_), 'success', 'without replies: reached while asleep') for $session, $session2;
is(status_of($standby, "'$lsn', '$_'"), 'success', "without replies: $_") for 'standby_write', 'standby_flush';
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
is(status_of($standby, "'$lsn'"), 'success', 'without replies: standby_replay');
reconfigure($standby, 'wal_receiver_status_interval = 10');
$standby->poll_query_until('postgres',
	q{SELECT wakeup = 'event' FROM pg_stat_prefetch_guard_waits WHERE mode = 'standby_flush'}) or die;

# A cascaded standby.
my $cascade = new_standby('cascade', $standby);
$session = start_session($cascade, "CALL pg_wait_for_lsn(pg_last_wal_replay_lsn() + 20000::numeric)");
wait_for_waiters($cascade, 1);
$primary->safe_psql('postgres', 'INSERT INTO t SELECT 5 FROM generate_series(1, 500)');
is(finish_session($session), 'success', 'cascade: woken');
$lsn = commit_lsn($primary, 6);
is(status_of($cascade, "'$lsn', '$_'"), 'success', "cascade: $_") for 'standby_write', 'standby_flush';
is($cascade->safe_psql('postgres', "CALL pg_wait_for_lsn('$lsn'); SELECT count(*) FROM t WHERE i = 6"),
	"success\n1", 'cascade: standby_replay');
$cascade->stop;

# A standby that has no walreceiver at all: what has been replayed has also been
# written and flushed.
my $archive = PostgreSQL::Test::Cluster->new('archive');
my $pg_wal = $primary->data_dir . '/pg_wal';
$primary->backup('for_archive');
$archive->init_from_backup($primary, 'for_archive');
$archive->append_conf('postgresql.conf', "restore_command = 'cp \"$pg_wal/%f\" \"%p\"'\nwal_retrieve_retry_interval = 100ms\n");
$archive->set_standby_mode;
$archive->start;
$archive->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$lsn = commit_lsn($primary, 7);
@sessions = map { start_session($archive, "CALL pg_wait_for_lsn('$lsn', '$_')") } 'standby_write', 'standby_flush', 'standby_replay';
wait_for_waiters($archive, 3);
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
$archive->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
is(join(' ', map { scalar finish_session($_) } @sessions), 'success success success', 'from an archive');
is($archive->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_wal_receiver'), '0', 'from an archive: no walreceiver');

ok_alive($_, $_->name) for $primary, $standby, $cascade, $archive;
done_testing();
