# wal_consistency_checking puts images into the WAL that are compared with the
# page after the change and not put over it.  The page has to be read for that,
# so that they must not count as cover.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $primary = new_primary('primary', archive => 1,
	conf => "wal_consistency_checking = heap\nfull_page_writes = off\nwal_log_hints = off\n");
make_pages($primary, 't', 500);
$primary->backup('before');

# Each page gets two changes: one whose record has such an image, for which
# recovery does not prefetch, and then one by VACUUM, of another kind, without.
$primary->safe_psql('postgres', 'DELETE FROM t WHERE id % 20 = 0; VACUUM t');
archive_all($primary);

my $node = new_replay('heap', $primary, backup => 'before',
	conf => "pg_prefetch_guard.sequential = off\n");
my $s = guard_stats($node);
counted_once($s, 'images of the heap');
my ($requests, $issued, $covered) = split /\|/,
  relation_stats($node, 't', 'requests, issued, covered_by_image');
cmp_ok($s->{fpi_bytes}, '>', 500 * 1000, 'images of the heap: there are many');
cmp_ok($requests, '>', 450, 'images of the heap: prefetch was asked for');
is($covered, 0, 'images of the heap: none counts as cover');
cmp_ok($issued, '>=', 0.99 * $requests, 'images of the heap: at least 99 % are issued');
is(checksums($node), checksums($primary), 'images of the heap: data is the same');
amcheck_clean($node, 'images of the heap');
$node->stop;

# All kinds, a bit of everything: recovery itself compares each page.
$primary->append_conf('postgresql.conf', "wal_consistency_checking = all\nfull_page_writes = on\n");
$primary->reload;
my $standby = new_standby('standby', $primary);
$primary->safe_psql('postgres', q{
	CHECKPOINT;
	CREATE TABLE everything (id int PRIMARY KEY, h text, g tsvector, b int4range, s point, big text);
	CREATE INDEX ON everything USING hash (h);
	CREATE INDEX ON everything USING gin (g);
	CREATE INDEX ON everything USING gist (b);
	CREATE INDEX ON everything USING spgist (s);
	CREATE INDEX ON everything USING brin (id);
	CREATE SEQUENCE numbers;
	INSERT INTO everything
		SELECT nextval('numbers'), i::text, to_tsvector('simple', 'w' || i % 50), int4range(i, i + 9),
			point(i, i % 7), CASE WHEN i % 300 = 0 THEN (SELECT string_agg(md5((i + j)::text), '') FROM generate_series(1, 200) j) END
		FROM generate_series(1, 3000) i;
	UPDATE everything SET h = h || 'x' WHERE id % 3 = 0;
	DELETE FROM everything WHERE id % 5 = 0;
	VACUUM everything;
	UPDATE t SET pad = 'v' WHERE id % 30 = 1});
wait_replayed($primary, $standby);
counted_once(guard_stats($standby), 'all images');
same_data($primary, $standby, 'all images');
unlike(slurp_file($standby->logfile), qr/inconsistent page|FATAL|PANIC/, 'all images: replayed clean');

done_testing();
