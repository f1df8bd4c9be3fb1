# A synchronous pair whose standby starts its walreceiver early, and what the
# tests of that do again and again.  WAL segments are of 1 MB, so that a few MB
# are a large backlog.
package EarlyReceiver;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StandbyPair;
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT = qw(early_primary early_standby make_sync no_sync receiver_stats
  stop_walreceiver hold_replay release_replay write_backlog delayed_backlog start_commit
  commit_hangs commit_returned starts_early runs_early caught_up no_panic);

# A primary with a table t(id, pad) that is easily made to write WAL.  Options
# as new_primary's.
sub early_primary
{
	my ($name, %opt) = @_;
	my $node = new_primary($name, %opt);

	$node->safe_psql('postgres', q{CREATE TABLE t (id int, pad text)});
	return $node;
}

# A standby with the setting on.  Options as new_standby's.
sub early_standby
{
	my ($name, $upstream, %opt) = @_;

	$opt{conf} = <<EOT . ($opt{conf} // '');
pg_prefetch_guard.early_walreceiver = on
pg_prefetch_guard.early_walreceiver_lag = 2MB
wal_retrieve_retry_interval = 200ms
EOT
	return new_standby($name, $upstream, %opt);
}

# Let commits wait until a standby has flushed them.
sub make_sync
{
	my ($primary, $standby) = @_;

	$primary->wait_for_catchup($standby, 'replay');
	$primary->append_conf('postgresql.conf',
		"synchronous_standby_names = '" . $standby->name . "'\n");
	$primary->reload;
	$primary->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'})
	  or die 'no synchronous standby';
	return;
}

# Let them not wait any more.
sub no_sync
{
	my ($node) = @_;

	$node->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
	$node->reload;
	return;
}

# The row of pg_stat_prefetch_guard_receiver as a hash.
sub receiver_stats
{
	my ($node) = @_;
	my $row = $node->safe_psql('postgres', q{
		SELECT string_agg(key || '=' || coalesce(value, ''), E'\n')
		FROM pg_stat_prefetch_guard_receiver s, json_each_text(row_to_json(s))});

	return { map { split /=/, $_, 2 } split /\n/, $row };
}

# End the walreceiver as a broken connection would; returns its process id.
sub stop_walreceiver
{
	my ($node) = @_;
	my $pid = $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_wal_receiver');

	kill 'TERM', $pid;
	sleep 0.05 while kill 0, $pid;
	return $pid;
}

# Keep the standby from replaying, and let it go on.  A standby that waits for
# WAL heeds a pause when some arrives.
sub hold_replay
{
	my ($primary, $node) = @_;

	$node->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$primary->safe_psql('postgres',
		q{SET synchronous_commit = local; INSERT INTO t VALUES (0, 'wakes the standby')});
	wait_paused($node);
	return;
}

sub release_replay
{
	my ($node) = @_;

	$node->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	return;
}

# Write some MB of WAL and wait until the standby has flushed it, if there is
# one named.
sub write_backlog
{
	my ($primary, $megabytes, $standby) = @_;

	$primary->safe_psql('postgres', qq{
		SET synchronous_commit = local;
		INSERT INTO t SELECT i, repeat(md5(i::text), 20) FROM generate_series(1, 1400 * $megabytes) i});
	$primary->wait_for_catchup($standby, 'flush', $primary->lsn('insert'))
	  if defined $standby;
	return;
}

# The same with recovery_min_apply_delay: replay is held at the first commit.
sub delayed_backlog
{
	my ($primary, $megabytes, $standby) = @_;

	$primary->safe_psql('postgres',
		q{SET synchronous_commit = local; INSERT INTO t VALUES (0, 'delayed')});
	write_backlog($primary, $megabytes, $standby);
	return;
}

# Begin a commit in the background that waits for the standby.
sub start_commit
{
	my ($primary, $id) = @_;
	my $commit = { primary => $primary, id => $id, in => '', out => '', err => '' };

	$commit->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $primary->connstr('postgres'),
			'-c', "INSERT INTO t VALUES ($id, 'waits') RETURNING 'done'" ],
		'<', \$commit->{in}, '>', \$commit->{out}, '2>', \$commit->{err});
	return $commit;
}

# Is it still waiting for the standby after a while?
sub commit_hangs
{
	my ($commit, $what) = @_;
	my $waiting = q{SELECT count(*) = 1 FROM pg_stat_activity
		WHERE wait_event = 'SyncRep' AND query LIKE 'INSERT INTO t VALUES%'};

	$commit->{primary}->poll_query_until('postgres', $waiting);
	sleep 2;
	is($commit->{primary}->safe_psql('postgres', $waiting), 't', $what);
	return;
}

# Wait for it to come back.
sub commit_returned
{
	my ($commit, $what) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;

	sleep 0.05 while $commit->{run}->pumpable && time < $deadline && ($commit->{run}->pump_nb, 1);
	if (time >= $deadline)
	{
		$commit->{run}->kill_kill;
		fail("$what: timed out");
		return;
	}
	$commit->{run}->finish;
	is("$commit->{err}$commit->{out}", "done\n", $what);
	return;
}

# Wait until the early walreceiver is in a state, and a walreceiver connected.
sub streams_while
{
	my ($node, $state, $what) = @_;

	ok( $node->poll_query_until('postgres', qq{
		SELECT r.state = '$state' AND w.status = 'streaming'
		FROM pg_stat_prefetch_guard_receiver r, pg_stat_wal_receiver w}), $what);
	return;
}

# Wait until a walreceiver has been started early that is connected.
sub starts_early
{
	my ($node, $what) = @_;

	streams_while($node, 'running early', "$what: walreceiver runs early");
	return;
}

# Does it run early, with so much still to replay?
sub runs_early
{
	my ($node, $megabytes, $what) = @_;
	my $s = receiver_stats($node);

	is($s->{state}, 'running early', "$what: state");
	cmp_ok($s->{unreplayed_bytes}, '>', $megabytes * 1024 * 1024, "$what: backlog is still there");
	return $s;
}

# Wait until all is replayed and core streams again; compare data.
sub caught_up
{
	my ($primary, $standby, $what) = @_;

	same_data($primary, $standby, $what);
	streams_while($standby, 'idle', "$what: core's own walreceiver streams");
	return;
}

# Servers built with assertions: none failed, and nothing else was that grave.
sub no_panic
{
	my (@nodes) = @_;

	for my $node (@nodes)
	{
		unlike(slurp_file($node->logfile), qr/TRAP:|PANIC:/,
			$node->name . ': no assertion failed, no panic');
	}
	return;
}

1;
