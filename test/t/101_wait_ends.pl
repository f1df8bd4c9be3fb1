# However a wait ends, it leaves nothing behind: neither in shared memory nor in
# the session.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use Waiters;

my ($primary, $standby) = new_pair(conf => "restart_after_crash = on\n");
my $far = 'FFFFFFFF/FFFFFFFF';
my $far_call = "CALL pg_wait_for_lsn('$far')";

# What happens to a waiter, in every mode; afterwards it waits once more.
for my $mode ('standby_replay', 'standby_write', 'standby_flush', 'primary_flush')
{
	my $node = $mode eq 'primary_flush' ? $primary : $standby;
	my $call = "CALL pg_wait_for_lsn('$far', '$mode')";
	my $again = "CALL pg_wait_for_lsn('$far', '$mode', 10, true);";
	my $session;

	$session = start_session($node, "SET application_name = 'victim';\n$call;\n$again\nSELECT 'alive'");
	wait_for_waiters($node, 1);
	is($node->safe_psql('postgres', q{
			SELECT state, backend_xmin IS NULL, wait_event_type, wait_event ~ '^(Extension|WaitForLsn)'
			FROM pg_stat_activity WHERE application_name = 'victim'}),
		'active|t|Extension|t', "$mode: waits without a snapshot");
	is($node->safe_psql('postgres', qq{
			SELECT a.pid = w.pid, target, mode, w.started_at >= query_start, deadline, bytes_to_go > 0
			FROM pg_prefetch_guard_waiters w, pg_stat_activity a WHERE application_name = 'victim'}),
		"t|$far|$mode|t||t", "$mode: and is shown");
	$node->safe_psql('postgres', q{SELECT pg_cancel_backend(pid) FROM pg_prefetch_guard_waiters});
	my ($out, $err) = finish_session($session);
	like($err, qr/canceling statement due to user request/, "$mode: canceled");
	is($out, "timeout\nalive", "$mode: waits again after that");

	like(error_of($node, "SET statement_timeout = 50;\n$call"), qr/^57014: canceling statement due to statement timeout/,
		"$mode: statement_timeout");

	$session = start_session($node, "BEGIN;\nSAVEPOINT a;\nSET LOCAL statement_timeout = 50;\n$call;\nROLLBACK TO a;\n$again\nCOMMIT");
	is(finish_session($session), 'timeout', "$mode: waits again after a subtransaction's rollback");

	$session = start_session($node, $call);
	wait_for_waiters($node, 1);
	$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_prefetch_guard_waiters});
	($out, $err) = finish_session($session);
	like($err, qr/terminating connection due to administrator command/, "$mode: terminated");

	wait_for_waiters($node, 0);
	is(waits($node, $mode, 'waits, successes, timeouts, not_in_recovery, cancels, errors'), '6|0|2|0|3|1',
		"$mode: all were counted");
	is(waits($node, $mode, q{(SELECT sum(n) FROM unnest(histogram) n), cardinality(histogram) = cardinality(histogram_bounds) + 1,
		max_wait_time > 0, total_wait_time >= max_wait_time}),
		'6|t|t|t', "$mode: with their times");
}

# A wait with a deadline shows it.
my $session = start_session($standby, "CALL pg_wait_for_lsn('$far', timeout => '1h')");
wait_for_waiters($standby, 1);
is($standby->safe_psql('postgres', 'SELECT deadline - started_at FROM pg_prefetch_guard_waiters'), '01:00:00', 'deadline');
$standby->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) FROM pg_prefetch_guard_waiters');
finish_session($session);

$standby->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset()');
is(waits($standby, 'standby_replay', 'waits, total_wait_time, max_wait_time, (SELECT sum(n) FROM unnest(histogram) n)'),
	'0|0|0|0', 'reset');

# A process that is killed takes shared memory with it; the server recovers.
sub survives_kill
{
	my ($node, $what, $pid) = @_;
	my $waiter = start_session($node, "CALL pg_wait_for_lsn('$far', 'standby_flush')");
	my $waiter2 = start_session($node, $far_call);

	wait_for_waiters($node, 2);
	$pid //= $node->safe_psql('postgres', 'SELECT min(pid) FROM pg_prefetch_guard_waiters');
	kill 'KILL', $pid;
	finish_session($waiter);
	finish_session($waiter2);
	$node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prefetch_guard_waiters', 't')
	  or die 'server did not come back';
	my $lsn = commit_lsn($primary);
	is($node->safe_psql('postgres', "CALL pg_wait_for_lsn('$lsn');\nCALL pg_wait_for_lsn('$lsn', 'standby_flush');"),
		"success\nsuccess", "$what killed: waits work");
	return;
}

survives_kill($standby, 'a waiting backend');
survives_kill($standby, 'walreceiver', $standby->safe_psql('postgres', 'SELECT pid FROM pg_stat_wal_receiver'));
survives_kill($standby, 'checkpointer', process_pid($standby, 'checkpointer'));

# The startup process or the postmaster killed is the end of the server.
for my $victim ('startup process', 'postmaster')
{
	my $postmaster = (split /\n/, slurp_file($standby->data_dir . '/postmaster.pid'))[0];
	my $waiter = start_session($standby, $far_call);

	wait_for_waiters($standby, 1);
	my $backend = $standby->safe_psql('postgres', 'SELECT pid FROM pg_prefetch_guard_waiters');
	kill 'KILL', startup_pid($standby) if $victim eq 'startup process';
	$standby->kill9 if $victim eq 'postmaster';
	finish_session($waiter);
	ok(poll_until_gone($backend), "$victim killed: the waiting backend is gone");
	ok(poll_until_gone($postmaster), "$victim killed: the server is down");

	# Tell the module, and remove what would stop a start if nobody has reaped
	# the postmaster, as in a container without an init process.
	$standby->kill9;
	unlink $standby->data_dir . '/postmaster.pid',
	  $standby->host . '/.s.PGSQL.' . $standby->port . '.lock';
	$standby->start;
	is(status_of($standby, "'" . commit_lsn($primary) . "'"), 'success', "$victim killed: waits work after a start");
}

# A restart sends waiters away; the next ones come.
my $waiter = start_session($standby, $far_call);
wait_for_waiters($standby, 1);
$standby->restart;
my ($out, $err) = finish_session($waiter);
like($err, qr/terminating connection due to administrator command/, 'restart: the waiter is told');
is(status_of($standby, "'" . commit_lsn($primary) . "'"), 'success', 'restart: waits work');

done_testing();

# Wait for a process to end.
sub poll_until_gone
{
	my ($pid) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if !kill(0, $pid) || slurp_file("/proc/$pid/stat") =~ /\) Z /;
		select(undef, undef, undef, 0.1);
	}
	return 0;
}
