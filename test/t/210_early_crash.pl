# Kill -9 of the walreceiver, the startup process, or either postmaster, at a
# random moment, under load, then failover.  Whatever the primary acknowledged
# must be on the standby, whose WAL must be without a gap and readable from end
# to end.
#
# PPG_KILL_ROUNDS sets the number of rounds, PPG_KILL_SEED the random numbers.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use StandbyPair;
use EarlyReceiver;

my $rounds = $ENV{PPG_KILL_ROUNDS} || 2;
my $seed = $ENV{PPG_KILL_SEED} // time;
my @victims = ('walreceiver', 'startup', 'standby', 'primary');
my $crash_conf = "restart_after_crash = on\npg_prefetch_guard.early_walreceiver_lag = 1MB\n";
my $early_starts = 0;

srand $seed;
note "PPG_KILL_SEED=$seed";

# Sessions that insert rows, one commit each, and print the ids of those that
# came back.
sub start_load
{
	my ($node, $round) = @_;
	my @load;

	for my $session (1 .. 3)
	{
		my $base = 1_000_000 * $round + 100_000 * $session;
		my $load = { out => '', err => '',
			in => join('', map { "INSERT INTO acked VALUES ($_, repeat('x', 500)) RETURNING id;\n" } $base + 1 .. $base + 20_000) };

		$load->{run} = IPC::Run::start(
			[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', '-' ],
			'<', \$load->{in}, '>', \$load->{out}, '2>', \$load->{err});
		push @load, $load;
	}
	return \@load;
}

# Let them run for so many seconds.
sub run_load
{
	my ($load, $seconds) = @_;
	my $end = Time::HiRes::time() + $seconds;

	while (Time::HiRes::time() < $end)
	{
		$_->{run}->pump_nb for grep { $_->{run}->pumpable } @$load;
		sleep 0.02;
	}
	return;
}

# Wait for their end, and return the ids that were acknowledged.
sub end_load
{
	my ($load) = @_;
	my @ids;

	for my $l (@$load)
	{
		eval { $l->{run}->finish };
		push @ids, grep { /^\d+$/ } split /\n/, $l->{out};
	}
	return @ids;
}

sub postmaster_pid
{
	my ($node) = @_;
	return (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
}

# Kill a server outright, or its startup process, which the server does not
# survive either, and wait until all processes have noticed.
sub kill_server
{
	my ($node, $victim) = @_;
	my $pid = postmaster_pid($node);
	my @all = ($pid, split /\n/, `ps --no-headers -o pid --ppid $pid`);

	kill 'KILL', $victim // $pid;
	sleep 0.1 while grep { kill 0, $_ } @all;
	$node->{_pid} = undef;
	unlink $node->data_dir . '/postmaster.pid';
	return;
}

# Wait for connections to be accepted.
sub comes_back
{
	my ($node) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0;
		sleep 0.1;
	}
	return 0;
}

# The standby's WAL from its restartpoint to the end of what it received: no
# segment is missing, and pg_waldump reads all of it.
sub check_wal
{
	my ($node, $what) = @_;
	my ($redo, $end, $missing) = split /\|/, $node->safe_psql('postgres', q{
		WITH r AS (SELECT redo_lsn, greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) AS end_lsn, timeline_id
			FROM pg_control_checkpoint())
		SELECT redo_lsn, end_lsn,
			(SELECT count(*) FROM generate_series(0, (end_lsn - 1 - redo_lsn)::bigint >> 20) n
			 WHERE NOT EXISTS (SELECT 1 FROM pg_ls_waldir() WHERE name = format('%s%s%s',
				lpad(upper(to_hex(timeline_id)), 8, '0'),
				lpad(upper(to_hex((redo_lsn - '0/0'::pg_lsn)::bigint >> 32)), 8, '0'),
				lpad(upper(to_hex((((redo_lsn - '0/0'::pg_lsn)::bigint & 4294967295) >> 20) + n)), 8, '0'))))
		FROM r});
	my $tli = $node->safe_psql('postgres', 'SELECT timeline_id FROM pg_control_checkpoint()');
	my ($out, $err);

	is($missing, 0, "$what: no segment between $redo and $end is missing");
	IPC::Run::run([ 'pg_waldump', '-q', '-t', $tli, '-p', $node->data_dir . '/pg_wal', '-s', $redo, '-e', $end ],
		'>', \$out, '2>', \$err);

	# what was received may end within a record
	is($err =~ s/^pg_waldump: error: error in WAL record at ([0-9A-F\/]+): (invalid|could not|record|incorrect|there is no).*\n//mr, '',
		"$what: pg_waldump reads it");
	if ($err =~ /error in WAL record at ([0-9A-F\/]+)/)
	{
		is($node->safe_psql('postgres', "SELECT '$end'::pg_lsn - '$1'::pg_lsn < 300000"), 't',
			"$what: to the end");
	}
	return;
}

my $primary = early_primary('node0', conf => $crash_conf);
$primary->safe_psql('postgres', 'CREATE TABLE acked (id int PRIMARY KEY, pad text)');

for my $round (1 .. $rounds)
{
	my $victim = $victims[ $rounds < @victims ? rand @victims : ($round - 1) % @victims ];
	my $hold = rand() < 0.7;
	my $quiesce = rand() < 0.3;
	my $what = "round $round, $victim" . ($hold ? ', replay held' : '');
	my $standby = early_standby("node$round", $primary, conf => $crash_conf . ($hold ? "recovery_min_apply_delay = 1h\n" : ''));
	my @acked;

	$primary->append_conf('postgresql.conf', "synchronous_standby_names = 'node$round'\n");
	$primary->reload;
	$primary->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'})
	  or die 'no synchronous standby';

	my $load = start_load($primary, $round);
	run_load($load, 0.3 + rand 1);
	write_backlog($primary, 3);
	run_load($load, rand 0.5);

	if ($victim eq 'primary')
	{
		kill_server($primary);
		@acked = end_load($load);
		if (rand() < 0.5)
		{
			$primary->start;
			$load = start_load($primary, $round + 500);
			run_load($load, 1);
			$primary->stop('immediate');
			push @acked, end_load($load);
		}
	}
	else
	{
		if ($victim eq 'walreceiver')
		{
			kill 'KILL', process_pid($standby, $victim);
		}
		else
		{
			kill_server($standby, $victim eq 'startup' ? process_pid($standby, $victim) : undef);
			run_load($load, rand 0.3);
			$standby->start;
		}
		ok(comes_back($standby), "$what: standby recovers");
		$primary->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'})
		  or die 'standby did not come back';
		run_load($load, 0.5 + rand 1);

		if ($quiesce)
		{
			kill 'TERM', $_->{run}->{KIDS}[0]{PID} for @$load;
			@acked = end_load($load);
			$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = 0\n");
			$standby->reload;
			same_data($primary, $standby, $what);
			$primary->stop('immediate');
		}
		else
		{
			kill_server($primary);
			@acked = end_load($load);
		}
	}

	$early_starts += receiver_stats($standby)->{early_starts};
	$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver');
	check_wal($standby, $what);
	$standby->promote;
	cmp_ok(scalar @acked, '>', 0, "$what: commits were acknowledged: " . @acked);
	is($standby->safe_psql('postgres', 'SELECT count(*) FROM unnest(ARRAY[' . join(',', @acked) . ']) id WHERE id NOT IN (SELECT id FROM acked)'),
		0, "$what: all of them are there");
	no_panic($standby);
	$primary->clean_node;
	$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = 0\nsynchronous_standby_names = ''\n");
	$standby->reload;
	$primary = $standby;
}
note "early starts: $early_starts";

done_testing();
