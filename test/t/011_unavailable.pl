# A server whose pages can't be made writable: the guard says so, and all else
# works as if it were not there.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

# Without "-z now" they are writable from the start.
my $bindir = `pg_config --bindir`;
chomp $bindir;
plan skip_all => "this server's relocation slots are writable"
  unless `readelf -d -W $bindir/postgres` =~ /\bNOW\b/;

my $preload = build_module('readonly_program') . '.so';
my $primary = new_primary('primary', conf => "restart_after_crash = on\n");
make_pages($primary, 't', 1000);

my $standby = new_standby('standby', $primary, start => 0);
{
	local $ENV{LD_PRELOAD} = $preload;
	$standby->start;
}
like(
	slurp_file($standby->logfile),
	qr/WARNING:  pg_prefetch_guard cannot filter recovery prefetch on this server\n.*DETAIL:  posix_fadvise\(\) could not be intercepted: its relocation slot could not be written\./,
	'a warning in the log');

$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
burst($primary, 't');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
wait_replayed($primary, $standby);
my $s = guard_stats($standby);
is($s->{filter_status}, 'unavailable: its relocation slot could not be written', 'the view says so');
is($s->{mode}, 'filter', 'the setting is what it is');
nothing_asked($s, 'unavailable');
cmp_ok($standby->safe_psql('postgres', 'SELECT prefetch FROM pg_stat_recovery_prefetch'),
	'>', 900, 'recovery prefetches as ever');
$standby->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset()');
same_data($primary, $standby, 'unavailable');

# Started as usual, it is guarded.
$standby->restart;
is(guard_stats($standby)->{filter_status}, 'active', 'available again');

done_testing();
