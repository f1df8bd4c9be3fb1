# An UPDATE of scattered rows right after a checkpoint: every page's first
# change carries an image, so that reading any of them on the standby is waste.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $primary = new_primary('primary');

$primary->safe_psql('postgres',
	q{CREATE TABLE t AS SELECT i AS id, repeat('x', 100) AS pad FROM generate_series(1, 200000) i});
my $standby = new_standby('standby', $primary, conf => "shared_buffers = 1MB\n");

$primary->safe_psql('postgres', q{CHECKPOINT; UPDATE t SET pad = repeat('y', 100) WHERE id % 20 = 0});
same_data($primary, $standby, 'FPI burst');

my $s = guard_stats($standby);
diag join ' ', map { "$_=$s->{$_}" } sort keys %$s;
cmp_ok($s->{covered_by_image}, '>', 1000, 'requests were covered by images');
cmp_ok($s->{issued}, '<=', $s->{covered_by_image} / 1000 + 1, 'hardly any was issued');

done_testing();
