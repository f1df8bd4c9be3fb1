# A standby whose walreceiver dies while it has much to replay: the primary's
# commits hang until all of it has been replayed, or with the setting only
# until the walreceiver is back.  And the same after the standby's restart.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use EarlyReceiver;

my $primary = early_primary('primary');
my $standby = early_standby('standby', $primary,
	conf => "pg_prefetch_guard.early_walreceiver = off\n");
make_sync($primary, $standby);

# the outage
hold_replay($primary, $standby);
write_backlog($primary, 8, $standby);
my $replayed = $standby->lsn('replay');
stop_walreceiver($standby);
my $commit = start_commit($primary, -1);
commit_hangs($commit, 'off: commit hangs while local WAL is replayed');
my $s = receiver_stats($standby);
is($s->{state}, 'disabled: pg_prefetch_guard.early_walreceiver is off', 'off: state');
is($s->{early_starts}, 0, 'off: no walreceiver was started');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_wal_receiver'), 0,
	'off: none runs');

# no outage
$standby->append_conf('postgresql.conf', "pg_prefetch_guard.early_walreceiver = on\n");
$standby->reload;
commit_returned($commit, 'on: the same commit returns');
is($standby->lsn('replay'), $replayed, 'on: nothing had to be replayed for it');
$s = runs_early($standby, 7, 'on');
is($s->{early_starts}, 1, 'on: one start');
is($s->{handovers}, 0, 'on: not handed over');
cmp_ok($s->{bytes_received_early}, '>', 0, 'on: WAL was received early');

# it stays up, and restarts when it dies while replay is held
commit_returned(start_commit($primary, -2), 'next commit returns');
stop_walreceiver($standby);
commit_returned(start_commit($primary, -3), 'commit returns after it died again');
$s = runs_early($standby, 7, 'after it died again');
is($s->{early_starts}, 2, 'after it died again: second start');

release_replay($standby);
caught_up($primary, $standby, 'replay goes on');
$s = receiver_stats($standby);
is($s->{early_starts}, $s->{handovers} + 1, 'replay goes on: handed over');

# while replay is going on: the walreceiver dies and records are being applied
hold_replay($primary, $standby);
write_backlog($primary, 30, $standby);
$standby->append_conf('postgresql.conf', "pg_prefetch_guard.early_walreceiver = off\n");
$standby->reload;
stop_walreceiver($standby);
$standby->append_conf('postgresql.conf', "pg_prefetch_guard.early_walreceiver = on\n");
$standby->reload;
release_replay($standby);
caught_up($primary, $standby, 'started at a record');
cmp_ok(receiver_stats($standby)->{early_starts}, '>', $s->{early_starts}, 'started at a record');

# after a restart, with recovery_min_apply_delay to hold replay
$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = 1h\n");
$standby->reload;
delayed_backlog($primary, 8, $standby);
$standby->restart;
starts_early($standby, 'restart');
commit_returned(start_commit($primary, -4), 'restart: commit returns');
runs_early($standby, 7, 'restart');
$s = receiver_stats($standby);
is($s->{early_starts}, 1, 'restart: one start');

# a second time: what was received early is local now
$standby->stop('immediate');
$standby->start;
starts_early($standby, 'crash');
commit_returned(start_commit($primary, -5), 'crash: commit returns');
runs_early($standby, 7, 'crash');

$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = 0\n");
$standby->reload;
caught_up($primary, $standby, 'no more delay');
is( $standby->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id < 0'), 5,
	'all commits are there');

is($primary->safe_psql('postgres', 'SELECT early_starts FROM pg_stat_prefetch_guard_receiver'),
	0, 'primary: nothing to start');
no_panic($primary, $standby);

done_testing();
