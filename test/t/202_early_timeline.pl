# The primary is another one, on a new timeline, when the standby with much to
# replay connects; and a standby below that one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use EarlyReceiver;

my $primary = early_primary('primary');
my $heir = new_standby('heir', $primary);
my $standby = early_standby('standby', $primary, conf => "recovery_min_apply_delay = 1h\n");
my $cascaded = early_standby('cascaded', $standby, conf => "recovery_min_apply_delay = 0\n");

# everybody has the same WAL; the one in the middle has not replayed it
$primary->wait_for_catchup($heir, 'replay', $primary->lsn('insert'));
delayed_backlog($primary, 8, $standby);
$primary->wait_for_catchup($heir, 'replay', $primary->lsn('insert'));

# a standby below gets what the walreceiver brings early
$standby->restart;
starts_early($standby, 'cascaded');
$primary->safe_psql('postgres', q{INSERT INTO t VALUES (-1, 'for the cascaded standby')});
ok( $cascaded->poll_query_until('postgres', 'SELECT count(*) = 1 FROM t WHERE id = -1'),
	'cascaded standby has what the one above has not replayed');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id = -1'), 0,
	'the one above has not replayed it');

# the primary is replaced, the standby follows
$primary->wait_for_catchup($heir, 'replay', $primary->lsn('insert'));
$primary->wait_for_catchup($standby, 'flush', $primary->lsn('insert'));
$primary->stop;
$heir->promote;
$heir->safe_psql('postgres', q{INSERT INTO t VALUES (-2, 'on the new timeline')});
my $log = -s $standby->logfile;
$standby->enable_streaming($heir);
$standby->restart;
ok( $standby->poll_query_until('postgres', q{
	SELECT r.state = 'running early' AND w.status = 'waiting'
	FROM pg_stat_prefetch_guard_receiver r, pg_stat_wal_receiver w}),
	'the new primary has no more of the old timeline');
$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = 0\n");
$standby->reload;
caught_up($heir, $standby, 'new timeline');
is(receiver_stats($standby)->{early_starts}, 1, 'new timeline: not tried again in vain');
like(slurp_file($standby->logfile, $log), qr/new target timeline is 2/, 'new timeline: followed');
$standby->wait_for_catchup($cascaded, 'replay', $heir->lsn('insert'));
is(checksums($cascaded), checksums($heir), 'new timeline: cascaded standby has the same data');

# again, on the new timeline
$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = 1h\n");
$standby->reload;
delayed_backlog($heir, 8, $standby);
$standby->restart;
starts_early($standby, 'on timeline 2');
$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = 0\n");
$standby->reload;
caught_up($heir, $standby, 'on timeline 2');

no_panic($primary, $heir, $standby, $cascaded);
done_testing();
