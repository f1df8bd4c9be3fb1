# An UPDATE of scattered rows right after a checkpoint: every page's first
# change carries an image of it, so that reading the page for the later ones is
# waste.  One backup and the WAL since are replayed again and again, each time
# with other settings, under strace.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $primary = new_primary('primary', pauses => 0, archive => 1, segment => 16);

make_pages($primary, 't', 3000);
$primary->backup('before');
burst($primary, 't');
archive_all($primary);

my $data = checksums($primary);
my $traced = can_trace();

# Replay with some settings, under strace unless that is not needed.  Returns
# the guard's row, the calls that strace saw, and what the guard says of the
# table.
sub replay
{
	my ($name, $conf, $trace) = @_;
	$trace &&= $traced;
	my $node = new_replay($name, $primary, backup => 'before', conf => $conf, trace => $trace);
	my $s = guard_stats($node);
	my $table = relation_stats($node, 't', 'requests, issued, covered_by_image');

	counted_once($s, $name);
	is(checksums($node), $data, "$name: data is the same");
	amcheck_clean($node, $name);
	$node->stop;
	return ($s, $trace ? willneed_calls($node) : undef, $table);
}

# Compare what strace saw with what it should have seen.
sub saw
{
	my ($calls, $expected, $what) = @_;

  SKIP:
	{
		skip "processes can't be traced here", 1 unless $traced;
		is($calls, $expected, $what);
	}
	return;
}

# The guard drops them: of the table, less than one in a thousand goes out.
my ($filter, $calls, $table) = replay('filter', '', 1);
my ($requests, $issued, $covered) = split /\|/, $table;

is($filter->{mode}, 'filter', 'the guard filters by default');
is($filter->{filter_status}, 'active', 'the filter is active');
cmp_ok($covered, '>', 2500, "requests for the table's pages were covered by images");
cmp_ok($issued, '<', $covered / 1000, 'less than one in a thousand was issued');
cmp_ok($filter->{issued}, '<', $filter->{requests} / 20, 'others were few');
saw($calls, $filter->{issued}, 'filter: the kernel saw those that count as issued');

# Audit lets all through and counts the same.
(my $audit, $calls, $table) = replay('audit', "pg_prefetch_guard.mode = audit\n", 1);

is($audit->{mode}, 'audit', 'mode is shown');
is_deeply(
	[ @$audit{qw(requests issued suppressed covered_by_image covered_by_init repeated sequential unattributed records wal_bytes fpi_bytes)} ],
	[ @$filter{qw(requests issued suppressed covered_by_image covered_by_init repeated sequential unattributed records wal_bytes fpi_bytes)} ],
	'audit counts what filter counts');
is($table, "$requests|$issued|$covered", '... for the table as well');
saw($calls, $audit->{requests}, 'audit: the kernel saw every request');

# Off does not even look.
(my $off, $calls, $table) = replay('off', "pg_prefetch_guard.mode = off\n", 1);

is($off->{mode}, 'off', 'mode is shown');
is($off->{requests}, $filter->{requests}, 'off: as many requests');
is($off->{suppressed}, 0, 'off: none suppressed');
is($table, '', 'off: relations are not counted');
saw($calls, $off->{requests}, 'off: the kernel saw every request');

# Whoever switches prefetch off gets none from us.
(my $none, $calls) = replay('no_prefetch', "recovery_prefetch = off\n", 1);
nothing_asked($none, 'recovery_prefetch = off');
saw($calls, 0, 'recovery_prefetch = off: the kernel saw no request');
($none) = replay('no_concurrency', "maintenance_io_concurrency = 0\n");
nothing_asked($none, 'maintenance_io_concurrency = 0');

# A long look ahead sees the images just as well.
(my $deep, $calls, $table) =
  replay('deep', "maintenance_io_concurrency = 1000\nwal_decode_buffer_size = 64MB\n");
($requests, $issued, $covered) = split /\|/, $table;
cmp_ok($covered, '>', 2500, 'concurrency 1000: requests were covered by images');
cmp_ok($issued, '<', $covered / 1000, 'concurrency 1000: less than one in a thousand was issued');

done_testing();
