# Local WAL ahead of replay is damaged.  A standby whose walreceiver runs early
# has to do what one does that reads it without: fetch that WAL again if the
# primary has it, and stop there, saying why, if it has not.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use EarlyReceiver;

my $segment_size = 1024 * 1024;

# Overwrite bytes of the segment that comes so many segments after the one that
# is being replayed.
sub damage
{
	my ($node, $replayed, $segments, $offset) = @_;
	my ($high, $low) = map { hex } split m{/}, $replayed;
	my $file = sprintf '%s/pg_wal/%08X%08X%08X', $node->data_dir, 1, $high,
	  int($low / $segment_size) + $segments;

	open my $fh, '+<:raw', $file or die "$file: $!";
	seek $fh, $offset, 0;
	print $fh 'damaged' x 10;
	close $fh or die "$file: $!";
	return;
}

sub no_delay
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', "recovery_min_apply_delay = 0\n");
	$node->reload;
	return;
}

my $primary = early_primary('primary');
my $conf = "recovery_min_apply_delay = 1h\n";
my $standby = early_standby('standby', $primary, conf => $conf);
my $stock = early_standby('stock', $primary, conf => "$conf\npg_prefetch_guard.early_walreceiver = off\n");
$primary->wait_for_catchup($_, 'replay') for $standby, $stock;

# in a record, and after a restart
delayed_backlog($primary, 8, $standby);
my $replayed = $standby->lsn('replay');
$standby->stop;
damage($standby, $replayed, 3, 100_000);
my $log = -s $standby->logfile;
$standby->start;
starts_early($standby, 'after restart');
no_delay($standby);
caught_up($primary, $standby, 'after restart');
like(slurp_file($standby->logfile, $log), qr/incorrect resource manager data checksum|invalid record length|record with incorrect prev-link|invalid magic number|invalid resource manager ID/,
	'after restart: damage was reported');
cmp_ok(receiver_stats($standby)->{handovers}, '>=', 1, 'after restart: handed over');

# at the head of a segment, and the walreceiver dies while the server runs
$standby->append_conf('postgresql.conf', $conf);
$standby->reload;
delayed_backlog($primary, 8, $standby);
$replayed = $standby->lsn('replay');
damage($standby, $replayed, 3, 0);
my $starts = receiver_stats($standby)->{early_starts};
$log = -s $standby->logfile;
stop_walreceiver($standby);
starts_early($standby, 'running');
no_delay($standby);
caught_up($primary, $standby, 'running');
like(slurp_file($standby->logfile, $log), qr/invalid magic number/, 'running: damage was reported');
cmp_ok(receiver_stats($standby)->{early_starts}, '>', $starts, 'running: started early');

# the primary has removed that WAL: both standbys stop at the same place
for my $node ($standby, $stock)
{
	$node->append_conf('postgresql.conf', $conf);
	$node->reload;
}
$primary->wait_for_catchup($stock, 'flush', $primary->lsn('insert'));
delayed_backlog($primary, 8, $standby);
$primary->wait_for_catchup($stock, 'flush', $primary->lsn('insert'));
$replayed = $standby->lsn('replay');
$_->stop for $standby, $stock;
damage($_, $replayed, 3, 100_000) for $standby, $stock;
$primary->append_conf('postgresql.conf', "wal_keep_size = 0\nmin_wal_size = 2MB\n");
$primary->reload;
$primary->safe_psql('postgres', 'SELECT pg_switch_wal(); CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT');
my %log = map { $_->name => -s $_->logfile } $standby, $stock;
$_->start for $standby, $stock;
no_delay($_) for $standby, $stock;
$stock->wait_for_log(qr/requested WAL segment \S+ has already been removed/, $log{stock});
my ($said) = slurp_file($stock->logfile, $log{stock}) =~ /(requested WAL segment \S+ has already been removed)/;
$standby->wait_for_log(qr/\Q$said\E/, $log{standby});
is($standby->lsn('replay'), $stock->lsn('replay'), 'WAL removed: stops where a stock standby does');
cmp_ok(receiver_stats($standby)->{early_starts}, '>=', 1, 'WAL removed: started early');

no_panic($primary, $standby, $stock);
done_testing();
