# A thousand partitions are each read a little after one table was read a lot:
# the view has room for ten, and the one table is still at its top.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $primary = new_primary('primary', pauses => 0, conf => <<EOT);
full_page_writes = off
wal_log_hints = off
max_locks_per_transaction = 300
shared_buffers = 32MB
EOT
make_pages($primary, 'worst', 1000);
$primary->safe_psql('postgres', q{
	CREATE TABLE many (id int, pad text) PARTITION BY RANGE (id);
	DO $$
	BEGIN
		FOR i IN 0 .. 999 LOOP
			EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s) WITH (fillfactor = 50, autovacuum_enabled = off)',
				i, i * 60, (i + 1) * 60);
		END LOOP;
	END $$;
	INSERT INTO many SELECT i, repeat('x', 100) FROM generate_series(0, 59999) i});
my $standby = new_standby('standby', $primary, conf => <<EOT);
shared_buffers = 1MB
pg_prefetch_guard.max_relations = 10
pg_prefetch_guard.sequential = off
EOT

# Twice as many requests for the partitions together, in the end.
$standby->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset(); SELECT pg_wal_replay_pause()');
burst($primary, 'worst');
$primary->safe_psql('postgres', "CHECKPOINT; UPDATE many SET pad = 'y' WHERE id % 28 = 0");
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
wait_replayed($primary, $standby);
my $s = guard_stats($standby);
counted_once($s, 'many partitions');

my ($requests, $unseen, $lsn) = split /\|/,
  relation_stats($standby, 'worst', 'requests, unseen, last_lsn IS NOT NULL');
cmp_ok($requests, '>=', 900, 'many partitions: the worst relation is there with its requests');
is($unseen, '0', 'many partitions: ... all of them');
is($lsn, 't', 'many partitions: ... and where it had the last one');
cmp_ok($s->{requests} - $requests, '>', 1000, 'many partitions: others had more together');
is( $standby->safe_psql('postgres', 'SELECT relation FROM pg_stat_prefetch_guard_relations LIMIT 1'),
	'worst', 'many partitions: it is at the top');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_prefetch_guard_relations'),
	'10', 'many partitions: ten are shown');
is( $standby->safe_psql('postgres', q{
		SELECT sum(requests) + max(unseen) >= max(requests + unseen),
			sum(requests + unseen) = (SELECT requests - unattributed FROM pg_stat_prefetch_guard)
		FROM pg_stat_prefetch_guard_relations}),
	't|t', 'many partitions: no request is lost from the sum');

# The other way round: the worst one comes last, and in between.
$standby->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset(); SELECT pg_wal_replay_pause()');
$primary->safe_psql('postgres', "UPDATE many SET pad = 'z' WHERE id % 28 = 1 AND id < 30000");
burst($primary, 'worst');
$primary->safe_psql('postgres', "UPDATE many SET pad = 'z' WHERE id % 28 = 1 AND id >= 30000");
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
wait_replayed($primary, $standby);
is( $standby->safe_psql('postgres', 'SELECT relation FROM pg_stat_prefetch_guard_relations LIMIT 1'),
	'worst', 'worst relation in between: it is at the top');
same_data($primary, $standby, 'many partitions');

done_testing();
