# Relations, tablespaces and databases come and go while a standby replays; it
# looks ahead to blocks of files that do not exist yet, or no more.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $primary = new_primary('primary', pauses => 0, conf => "allow_in_place_tablespaces = on\n");
$primary->safe_psql('postgres', "CREATE TABLESPACE old_space LOCATION ''");
make_pages($primary, $_, 300) for qw(kept dropped truncated rewritten moved);
my $standby = new_standby('standby', $primary);

# All of it is replayed at one go, as far ahead as recovery can look.
$standby->append_conf('postgresql.conf', 'maintenance_io_concurrency = 1000');
$standby->reload;
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');

# Each relation is changed, before and after.
burst($primary, $_) for qw(kept dropped truncated rewritten moved);
$primary->safe_psql('postgres', $_)
  for "CREATE TABLESPACE new_space LOCATION ''",
  'DROP TABLE dropped',
  'TRUNCATE truncated',
  'ALTER TABLE moved SET TABLESPACE new_space',
  'ALTER TABLE kept SET TABLESPACE old_space',
  'VACUUM FULL rewritten',
  'CREATE INDEX ON rewritten (id)';
make_pages($primary, 'dropped', 200);
$primary->safe_psql('postgres',
	q{INSERT INTO truncated SELECT i, repeat('n', 100) FROM generate_series(1, 10000) i});
burst($primary, $_) for qw(kept dropped truncated rewritten moved);

# VACUUM cuts off the end of a table, which is then used again.
$primary->safe_psql('postgres', q{
	DELETE FROM kept WHERE id > 5000; VACUUM kept;
	INSERT INTO kept SELECT i, repeat('n', 100) FROM generate_series(5001, 12000) i});
burst($primary, 'kept');

# Databases, made in both ways, one of them for a moment only.
$primary->safe_psql('postgres', 'CREATE DATABASE pattern');
$primary->safe_psql('pattern', 'CREATE EXTENSION pg_prefetch_guard');
make_pages($primary, 'p', 300, db => 'pattern');
burst($primary, 'p', db => 'pattern');
for my $strategy ('wal_log', 'file_copy')
{
	$primary->safe_psql('postgres', "CREATE DATABASE by_$strategy TEMPLATE pattern STRATEGY $strategy");
	burst($primary, 'p', db => "by_$strategy");
	make_pages($primary, 'q', 200, db => "by_$strategy");
	burst($primary, $_, db => "by_$strategy") for qw(p q);
}
$primary->safe_psql('postgres', 'DROP DATABASE pattern');
$primary->safe_psql('postgres',
	'CREATE DATABASE pattern TEMPLATE by_wal_log TABLESPACE new_space STRATEGY file_copy');
burst($primary, 'p', db => 'pattern');
$primary->safe_psql('postgres', 'ALTER DATABASE by_file_copy SET TABLESPACE old_space');
burst($primary, 'p', db => 'by_file_copy');
$primary->safe_psql('postgres', 'CREATE DATABASE passing STRATEGY wal_log');
make_pages($primary, 'r', 100, db => 'passing');
$primary->safe_psql('postgres', 'DROP DATABASE passing');

$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
wait_replayed($primary, $standby);
my $s = guard_stats($standby);
counted_once($s, 'all together');
cmp_ok($s->{covered_by_image}, '>', 1000, 'all together: requests are covered');

# Names: whatever still exists has its own.
is(relation_stats($standby, 'moved', 'datname, spcname'), 'postgres|new_space',
	'relation, database and tablespace have their names');
is(relation_stats($standby, 'p', 'datname, spcname', 'pattern'), 'pattern|new_space',
	'... in another database as well');
is( $standby->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_prefetch_guard_relations WHERE datname <> 'postgres' AND relation IS NOT NULL"),
	'0', '... and no names of relations in other databases');
is( $standby->safe_psql('postgres', q{
		SELECT count(*) > 0 FROM pg_stat_prefetch_guard_relations s
		WHERE datname = 'postgres' AND relation IS NULL AND NOT EXISTS
			(SELECT FROM pg_class WHERE pg_relation_filenode(oid) = s.relfilenode)}),
	't', '... and none for files that are gone');

same_data($primary, $standby, 'all together');

# Once more from a backup with tablespaces, dropped during replay.
my $other = new_standby('other', $primary);
$other->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$primary->safe_psql('postgres', "CREATE TABLESPACE passing LOCATION ''");
make_pages($primary, 's', 200);
$primary->safe_psql('postgres', 'ALTER TABLE s SET TABLESPACE passing');
burst($primary, 's');
burst($primary, 'p', db => 'by_file_copy');
$primary->safe_psql('postgres', 'ALTER TABLE s SET TABLESPACE pg_default');
$primary->safe_psql('postgres', 'DROP TABLESPACE passing');
$primary->safe_psql('postgres', 'ALTER DATABASE pattern SET TABLESPACE pg_default');
burst($primary, 's');
$other->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
wait_replayed($primary, $other);
counted_once(guard_stats($other), 'backup with tablespaces');
same_data($primary, $other, 'backup with tablespaces');
same_data($primary, $standby, 'the first one');

done_testing();
