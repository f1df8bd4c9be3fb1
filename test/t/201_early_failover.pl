# Failover to a standby whose walreceiver runs early: what the primary
# acknowledged is there, whether the primary is gone or still writing.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use EarlyReceiver;

sub ids
{
	my ($node) = @_;
	return $node->safe_psql('postgres', 'SELECT string_agg(id::text, \',\' ORDER BY id DESC) FROM t WHERE id < 0');
}

# replay is held by a delay, the primary dies, the standby is promoted
my $primary = early_primary('primary');
my $standby = early_standby('standby', $primary, conf => "recovery_min_apply_delay = 1h\n");
make_sync($primary, $standby);
delayed_backlog($primary, 8, $standby);
$standby->restart;
starts_early($standby, 'failover');
commit_returned(start_commit($primary, -$_), "commit $_ in the early phase returns") for 1 .. 3;
runs_early($standby, 7, 'failover');
my $bulk = $primary->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id >= 0');
$primary->stop('immediate');
$standby->promote;
is(ids($standby), '-1,-2,-3', 'failover: acknowledged commits are there');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id >= 0'), $bulk,
	'failover: so is everything before them');
is(receiver_stats($standby)->{state}, 'disabled: recovery is not in progress', 'failover: state');
is(receiver_stats($standby)->{handovers}, 1, 'failover: handed over');

# replay is paused inside core's wait for WAL, the primary goes on writing
my $second = early_standby('second', $standby);
make_sync($standby, $second);
hold_replay($standby, $second);
write_backlog($standby, 8, $second);
stop_walreceiver($second);
commit_returned(start_commit($standby, -4), 'paused: commit returns');
runs_early($second, 7, 'paused');
my $load = start_commit($standby, -5);
commit_returned($load, 'paused: next commit returns');
$second->promote;
is(ids($second), '-1,-2,-3,-4,-5', 'paused: acknowledged commits are there');
is($second->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id >= 0'),
	$standby->safe_psql('postgres', 'SELECT count(*) FROM t WHERE id >= 0'),
	'paused: so is everything before them');

no_panic($primary, $standby, $second);
done_testing();
