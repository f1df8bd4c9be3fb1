# Processes are killed, of a standby and of a primary.  Recovery from that is
# guarded as well.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IPC::Run qw(run start);
use StandbyPair;

my $primary = new_primary('primary', conf => "restart_after_crash = on\n");
make_pages($primary, 't', 1000);
my $standby = new_standby('standby', $primary);

# After each crash the standby replays again what it replays.
sub guarded
{
	my ($what) = @_;

	wait_replayed($primary, $standby);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	burst($primary, 't');
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	wait_replayed($primary, $standby);
	my $s = guard_stats($standby);
	counted_once($s, $what);
	is($s->{filter_status}, 'active', "$what: the filter is active");
	burst_guarded($s, $what);
	cmp_ok($s->{issued}, '<', $s->{requests} / 50, "$what: they are dropped");
	same_data($primary, $standby, $what);
	return;
}

# Kill a process in the middle of a burst; with the postmaster or the startup
# process the whole standby goes down.
sub kill_while_replaying
{
	my ($process) = @_;
	my @pids = child_pids($standby);
	my $pid = $process eq 'postmaster' ? $pids[0] : process_pid($standby, $process);

	burst($primary, 't');
	is(kill('KILL', $pid), 1, "killed $process");
	wait_gone(@pids);
	$standby->_update_pid(-1);
	$standby->start;
	return;
}

kill_while_replaying('startup');
guarded('startup process killed');

kill_while_replaying('postmaster');
guarded('postmaster killed');

# A backend: the postmaster stays, throws shared memory away, and starts over.
sub kill_backend
{
	my ($node) = @_;
	my $log = -s $node->logfile;
	my $session = start [ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-c',
		"SELECT 'to be killed', pg_sleep(3600)" ], '<', \undef, '>&', \my $out;
	my $query = q{SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%to be killed%'};

	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM ($query) p");
	is(kill('KILL', $node->safe_psql('postgres', $query)), 1, 'killed a backend');
	$session->finish;
	$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
	wait_ready($node);
	return;
}

burst($primary, 't');
kill_backend($standby);
guarded('backend killed');
kill_backend($standby);
guarded('backend killed again');

# The primary's own recovery.  What it counted can be seen afterwards.
sub guarded_recovery
{
	my ($what, $s) = @_;

	counted_once($s, $what);
	burst_guarded($s, $what);
	cmp_ok($s->{issued}, '<', 100, "$what: they were dropped");
	return;
}

burst($primary, 't');
kill_backend($primary);
guarded_recovery('crash of a primary', guard_stats($primary));
same_data($primary, $standby, 'crash of a primary');

burst($primary, 't');
my @pids = child_pids($primary);
$primary->kill9;
wait_gone(@pids);
$primary->start;
guarded_recovery('kill of a primary', guard_stats($primary));
same_data($primary, $standby, 'kill of a primary');
is( $primary->safe_psql('postgres', q{
		SELECT pg_prefetch_guard_reset();
		SELECT requests + records FROM pg_stat_prefetch_guard}) =~ s/^\n//r,
	'0', 'a primary forgets about its recovery when told to');

# Recovery looks at the record where it will begin before it begins, be that the
# checkpoint of a clean shutdown, or what happened while a checkpoint was made.
sub all_counted
{
	my ($what) = @_;

	@pids = child_pids($primary);
	$primary->kill9;
	wait_gone(@pids);
	start_server($primary, trace => 1);
	my $s = guard_stats($primary);
	counted_once($s, $what);
	same_data($primary, $standby, $what);
	$primary->stop;
	is(willneed_calls($primary), $s->{issued}, "$what: the kernel saw those that count as issued");
	return $s;
}

SKIP:
{
	skip "processes can't be traced here", 14 unless can_trace();
	$primary->restart;
	$primary->safe_psql('postgres', burst_command('t'));
	my $s = all_counted('recovery from a clean start');
	burst_guarded($s, 'recovery from a clean start');

	$primary->append_conf('postgresql.conf', "full_page_writes = off\nwal_log_hints = off\n");
	$primary->start;
	my $busy = start [ 'psql', '-X', '-q', '-d', $primary->connstr('postgres'),
		map { ('-c', burst_command('t')) } 1 .. 6 ], '<', \undef, '>&', \my $out;
	$primary->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'UPDATE%'");
	$primary->safe_psql('postgres', 'CHECKPOINT') for 1 .. 2;
	$s = all_counted('recovery from a busy checkpoint');
	$busy->finish;
	$primary->append_conf('postgresql.conf', "full_page_writes = on\nwal_log_hints = on\n");
	$primary->start;
}

# In single-user mode there is no startup process, and recovery is guarded all
# the same.
burst($primary, 't');
$primary->stop('immediate');
my $query = 'SELECT requests, issued, covered_by_image, paused_records, filter_status FROM pg_stat_prefetch_guard';
run [ 'postgres', '--single', '-D', $primary->data_dir, 'postgres' ],
  '<', \"$query\n", '>', \my $out, '2>', \my $err;
like($err, qr/redo done/, 'single-user mode: recovery was needed');
my %s = $out =~ /(\w+) = "(\w+)"/g;
is($s{filter_status}, 'active', 'single-user mode: the filter is active');
burst_guarded(\%s, 'single-user mode');
cmp_ok($s{issued} // 1000, '<', 100, 'single-user mode: they were dropped');
$primary->start;
same_data($primary, $standby, 'single-user mode');

done_testing();
