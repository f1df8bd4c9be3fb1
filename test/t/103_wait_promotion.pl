# Promotion during a wait: "success" if the target was replayed before, "not in
# recovery" if not, in every mode.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use Waiters;

my ($primary, $standby) = new_pair();
my $far = 'FFFFFFFF/FFFFFFFF';
my @modes = ('standby_replay', 'standby_write', 'standby_flush');
my %participle = (standby_replay => 'replayed', standby_write => 'written', standby_flush => 'flushed');

my $reached = commit_lsn($primary);
is(status_of($standby, "'$reached'"), 'success', 'replayed');

# Replay is paused when the row comes; promotion ends the pause.
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
my $late = commit_lsn($primary, 1);
is(status_of($standby, "'$late', 'standby_flush'"), 'success', 'received');

my %throws = map { $_ => start_session($standby, "\\set VERBOSITY verbose\nCALL pg_wait_for_lsn('$far', '$_')") } @modes;
my %no_throw = map { $_ => start_session($standby, "CALL pg_wait_for_lsn('$far', '$_', no_throw => true);\nCALL pg_wait_for_lsn('$reached', '$_')") } @modes;
my $replays = start_session($standby, "CALL pg_wait_for_lsn('$late');\nSELECT count(*) FROM t WHERE i = 1");
wait_for_waiters($standby, 7);
$standby->promote;

for my $mode (@modes)
{
	my ($out, $err) = finish_session($throws{$mode});
	like($err, qr/ERROR: +55000: recovery is not in progress\nDETAIL: +Recovery ended before target LSN $far was $participle{$mode}; last $mode LSN [0-9A-F]+\/[0-9A-F]{8}\./,
		"$mode: error");
	is(finish_session($no_throw{$mode}), "not in recovery\nsuccess", "$mode: no_throw; and what was reached before still is");
}
is(finish_session($replays), "success\n1", 'what is replayed on the way to promotion is a success');
wait_for_waiters($standby, 0);
is(status_of($standby, "'$far', no_throw => true"), 'not in recovery', 'a wait that comes later');
is(status_of($standby, "pg_current_wal_insert_lsn(), 'primary_flush', '10s'"), 'success', 'and is a primary now');
is(waits($standby, 'standby_replay', 'waits, successes, timeouts, not_in_recovery, cancels, errors'), '6|3|0|3|0|0', 'counted');

# A standby that has replayed nothing when it is promoted never tells us that
# redo has begun; nor, therefore, that it has ended.
$primary->backup('idle');
my $idle = new_standby('idle', $primary, backup => 'idle', start => 0);
$primary->stop('fast');
$idle->start;
$idle->restart;			# starts at a restart point with nothing after it
my $waiter = start_session($idle, "CALL pg_wait_for_lsn('$far', no_throw => true)");
wait_for_waiters($idle, 1);
$idle->promote;
is(finish_session($waiter), 'not in recovery', 'promoted before anything was replayed');
ok_alive($_, $_->name) for $primary, $standby, $idle;
done_testing();
