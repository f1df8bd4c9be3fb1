# With full_page_writes = off the WAL has no images, so that blocks are really
# read.  Scattered reads are what prefetch is for, and all but a few must go
# out.  Consecutive blocks are read faster in stretches than one by one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $primary = new_primary('primary', pauses => 0, archive => 1, segment => 16, conf => "full_page_writes = off\nwal_log_hints = off\n");

make_pages($primary, 'scattered', 3000, fillfactor => 90);
make_pages($primary, 'consecutive', 3000);
$primary->backup('before');

# Scattered: one standby in archive recovery stops right after it, at a target.
scattered_updates($primary, 'scattered');
my $middle = $primary->lsn('insert');
$primary->backup('middle');

# Consecutive: another one replays that only.
burst($primary, 'consecutive');
archive_all($primary);

my $node = new_replay('scattered', $primary, backup => 'before',
	conf => "recovery_target_lsn = '$middle'\nrecovery_target_action = promote\n");
my $s = guard_stats($node);
counted_once($s, 'scattered');
my ($requests, $issued) = split /\|/, relation_stats($node, 'scattered', 'requests, issued');
cmp_ok($requests, '>', 2500, 'scattered: prefetch was asked for');
cmp_ok($issued, '>=', 0.99 * $requests, 'scattered: at least 99 % were issued');
cmp_ok($s->{issued}, '>=', 0.99 * $s->{requests}, 'scattered: ... of all relations too');
is($s->{covered_by_image}, 0, 'scattered: no images');
is( $node->safe_psql('postgres', q{
		SELECT count(*) = pg_relation_size('scattered') / 8192 FROM scattered WHERE pad LIKE 'z%'}),
	't', 'scattered: all changes are there');
is( $node->safe_psql('postgres', q{SELECT count(*) FROM consecutive WHERE pad NOT LIKE 'x%'}),
	'0', 'scattered: nothing from after the target is there');
amcheck_clean($node, 'scattered');
$node->stop;

my $data = checksums($primary);
for my $mode ('filter', 'audit')
{
	$node = new_replay("consecutive_$mode", $primary, backup => 'middle',
		conf => "pg_prefetch_guard.mode = $mode\n");
	$s = guard_stats($node);
	counted_once($s, "consecutive, $mode");
	my $left;
	($requests, $left) = split /\|/, relation_stats($node, 'consecutive', 'requests, sequential');
	cmp_ok($requests, '>', 2500, "consecutive, $mode: prefetch was asked for");
	cmp_ok($s->{issued}, '<=', 0.05 * $s->{requests}, "consecutive, $mode: at most 5 % are issued");
	cmp_ok($left, '>=', 0.95 * $requests, "consecutive, $mode: the rest is in stretches");
	is(checksums($node), $data, "consecutive, $mode: data is the same");
	amcheck_clean($node, "consecutive, $mode");
	$node->stop;
}

# Who does not want that says so.
$node = new_replay('not_sequential', $primary, backup => 'middle',
	conf => "pg_prefetch_guard.sequential = off\n");
$s = guard_stats($node);
counted_once($s, 'sequential = off');
is($s->{sequential}, 0, 'sequential = off: no stretches');
cmp_ok($s->{issued}, '>=', 0.99 * $s->{requests}, 'sequential = off: at least 99 % are issued');
is(checksums($node), $data, 'sequential = off: data is the same');

done_testing();
