# Libraries loaded before and after: a second copy of this one, and one that
# brings a resource manager of its own.
use strict;
use warnings;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $pkglibdir = `pg_config --pkglibdir`;
chomp $pkglibdir;
my $copy = "$PostgreSQL::Test::Utils::tmp_check/another_copy.so";
copy("$pkglibdir/pg_prefetch_guard.so", $copy) or die "copy: $!";
my $custom = build_module('custom_rmgr');

# First the guard, then a copy, then the resource manager; on the standby the
# other way round.
my $primary = new_primary('primary', pauses => 0, conf =>
	"shared_preload_libraries = 'pg_prefetch_guard, $copy, $custom'\nrestart_after_crash = on\n");
$primary->safe_psql('postgres',
	"CREATE FUNCTION custom_rmgr_emit(int) RETURNS pg_lsn LANGUAGE c STRICT AS '$custom'");
make_pages($primary, 't', 1000);
my $standby = new_standby('standby', $primary,
	conf => "shared_preload_libraries = '$custom, pg_prefetch_guard, pg_prefetch_guard, $copy'\n");

for my $node ($primary, $standby)
{
	my $name = $node->name;

	is(guard_stats($node)->{filter_status}, 'active', "$name: the filter is active");
	my @ignored = slurp_file($node->logfile) =~
	  /WARNING:  pg_prefetch_guard is loaded already, ignoring another copy of its library/g;
	is(scalar @ignored, 1, "$name: a warning of the copy");
	is( $node->safe_psql('postgres',
			q{SELECT count(*) FROM pg_shmem_allocations WHERE name = 'pg_prefetch_guard'}),
		'1', "$name: shared memory is there once");
}

# The numbers that the standby's resource manager has replayed.
sub replayed
{
	return [ slurp_file($standby->logfile) =~ /custom resource manager replays (\d+)/g ];
}

# Hold replay; returns how far it has come.  Servers write a record of their own
# now and then.
sub hold_replay
{
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	wait_paused($standby);
	return $standby->lsn('replay');
}

wait_replayed($primary, $standby);
my $start = hold_replay();
$standby->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset()');
burst($primary, 't');
$primary->safe_psql('postgres', 'SELECT custom_rmgr_emit(n) FROM generate_series(1, 100) n');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
wait_replayed($primary, $standby);
my $end = hold_replay();

is_deeply(replayed(), [ 1 .. 100 ], 'the resource manager has replayed its records');
my $s = guard_stats($standby);
counted_once($s, 'custom resource manager');
cmp_ok($s->{covered_by_image}, '>', 900, 'custom resource manager: requests are covered');
cmp_ok($s->{covered_by_image}, '<', 1100, '... and counted once');
$primary->safe_psql('postgres', 'CREATE EXTENSION pg_walinspect');
is( $s->{records}, $primary->safe_psql('postgres',
		"SELECT count(*) FROM pg_get_wal_records_info('$start', '$end')"),
	'custom resource manager: every record is counted');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');

# A crash restart sets all up again.
$primary->safe_psql('postgres', 'SELECT custom_rmgr_emit(101)');
burst($primary, 't');
my $log = -s $primary->logfile;
kill 'KILL', process_pid($primary, 'walwriter');
$primary->wait_for_log(qr/redo done/, $log);
wait_ready($primary);
is(guard_stats($primary)->{filter_status}, 'active', 'crash restart: the filter is active');
cmp_ok(guard_stats($primary)->{covered_by_image}, '>', 900, 'crash restart: recovery was guarded');
same_data($primary, $standby, 'custom resource manager');
is_deeply(replayed(), [ 1 .. 101 ], 'each record was replayed once');

done_testing();
