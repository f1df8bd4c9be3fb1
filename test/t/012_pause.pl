# Look-ahead pauses while it is of no use, and only then.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $primary = new_primary('primary', archive => 1, segment => 16, conf => "wal_log_hints = off\n");
make_pages($primary, 'images', 9000);
make_pages($primary, 'scattered', 9000, fillfactor => 90);
$primary->backup('before images');
burst($primary, 'images');
$primary->backup('before scattered');
$primary->append_conf('postgresql.conf', 'full_page_writes = off');
$primary->reload;
scattered_updates($primary, 'scattered');
archive_all($primary);
my $data = checksums($primary);

# Does reading what was dropped from the page cache need a disk here, and does
# the kernel say so?
sub disk_is_seen
{
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $read = sub { slurp_file('/proc/self/io') =~ /^read_bytes: (\d+)/m ? $1 : 0 };

	append_to_file("$folder/file", 'x' x 1_000_000);
	drop_cached($folder);
	my $before = $read->();
	slurp_file("$folder/file");
	return $read->() >= $before + 1_000_000;
}

# Replay from a backup and return the counters.
sub replay
{
	my ($name, %opt) = @_;
	my $node = new_replay($name, $primary, %opt);
	my $s = guard_stats($node);

	counted_once($s, $name);
	is(checksums($node), $data, "$name: data is the same");
	amcheck_clean($node, $name);
	$node->stop;
	is(willneed_calls($node), $s->{issued}, "$name: the kernel saw those that count as issued")
	  if $opt{trace};
	return $s;
}

# Images: without pauses every block is asked for.
my $s = replay('audit', backup => 'before images', conf => "pg_prefetch_guard.mode = audit\n");
cmp_ok($s->{covered_by_image}, '>', 8500, 'audit: all blocks are asked for');
is($s->{paused_records}, 0, 'audit: no pause');
my $all = $s->{records};

$s = replay('images', backup => 'before images');
cmp_ok($s->{covered_by_image}, '>=', 400, 'images: a pause comes after some requests');
cmp_ok($s->{covered_by_image}, '<', 8500, 'images: in a pause none is made');
cmp_ok($s->{paused_records}, '>', 1000, 'images: records are replayed in pauses');
is($s->{records}, $all, 'images: all records are counted');

$s = replay('never', backup => 'before images', conf => "pg_prefetch_guard.pause_lookahead = off\n");
cmp_ok($s->{covered_by_image}, '>', 8500, 'pause_lookahead = off: all blocks are asked for');
is($s->{paused_records}, 0, 'pause_lookahead = off: no pause');

# No images: it matters whether the blocks are in the page cache.
$s = replay('cached', backup => 'before scattered');
cmp_ok($s->{issued}, '>=', 500, 'cached: a pause comes after some requests');
cmp_ok($s->{issued}, '<', 8500, 'cached: in a pause none is made');
cmp_ok($s->{paused_records}, '>', 1000, 'cached: records are replayed in pauses');

SKIP:
{
	skip 'reads from disk are not seen here', 8 unless disk_is_seen();

	$s = replay('not_cached', backup => 'before scattered', cold => 1);
	cmp_ok($s->{issued}, '>', 8500, 'not_cached: all blocks are asked for');
	is($s->{paused_records}, 0, 'not_cached: no pause');
}

# Who is traced waits for the tracer, so that there are other pauses or none.
replay('traced', backup => 'before scattered', trace => 1) if can_trace();

# Settings that are changed in a pause.  It is one as long as a standby has
# nothing to replay.
my $standby = new_standby('standby', $primary);
$primary->append_conf('postgresql.conf', 'full_page_writes = on');
$primary->reload;
make_pages($primary, 'more', 5000);
wait_replayed($primary, $standby);

# Replay a burst; returns requests and records replayed in pauses of it.
sub requests
{
	my (@settings) = @_;
	my $before = guard_stats($standby);
	my $log = -s $standby->logfile;

	if (@settings)
	{
		$standby->append_conf('postgresql.conf', join("\n", @settings, ''));
		$standby->reload;
		$standby->wait_for_log(qr/received SIGHUP, reloading configuration files/, $log);
	}
	$primary->safe_psql('postgres', 'CHECKPOINT');
	burst($primary, 'more');
	wait_replayed($primary, $standby);
	my $after = guard_stats($standby);
	return ($after->{requests} - $before->{requests},
		$after->{paused_records} - $before->{paused_records});
}

sub pause
{
	my ($requests, $paused) = requests('pg_prefetch_guard.mode = filter', 'pg_prefetch_guard.pause_lookahead = on', 'recovery_prefetch = try',
		'maintenance_io_concurrency = 10');
	cmp_ok($paused, '>', 0, 'there are pauses');
	return;
}

pause();
my ($requests, $paused) = requests('pg_prefetch_guard.mode = audit');
cmp_ok($requests, '>', 4500, 'mode = audit in a pause: all blocks are asked for');
cmp_ok($paused, '<', 10, '... and the pause is over');

pause();
($requests, $paused) = requests('pg_prefetch_guard.pause_lookahead = off');
cmp_ok($requests, '>', 4500, 'pause_lookahead = off in a pause: all blocks are asked for');
cmp_ok($paused, '<', 10, '... and the pause is over');

pause();
($requests, $paused) = requests('recovery_prefetch = off');
is($requests, 0, 'recovery_prefetch = off in a pause: nothing is asked for');
($requests, $paused) = requests('pg_prefetch_guard.mode = audit', 'recovery_prefetch = try');
cmp_ok($requests, '>', 4500, '... until it is on again');

pause();
($requests, $paused) = requests('maintenance_io_concurrency = 0');
is($requests, 0, 'maintenance_io_concurrency = 0 in a pause: nothing is asked for');
($requests, $paused) = requests('pg_prefetch_guard.mode = audit', 'maintenance_io_concurrency = 20');
cmp_ok($requests, '>', 4500, '... until it is set again');

# A reset ends a pause, too.
pause();
$standby->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset()');
($requests, $paused) = requests();
cmp_ok($requests, '>', 400, 'reset in a pause: blocks are asked for');
same_data($primary, $standby, 'settings changed in pauses');

done_testing();
