# Modes are changed by reload, while the standby is replaying, and counters are
# reset, by whoever may.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use POSIX 'WNOHANG';
use StandbyPair;

my $traced = can_trace();
my $primary = new_primary('primary', pauses => 0);
make_pages($primary, 't', 1000);
$primary->safe_psql('postgres', 'CREATE ROLE watcher LOGIN; CREATE ROLE nobody LOGIN; GRANT pg_monitor TO watcher');

my $standby = new_standby('standby', $primary, trace => $traced);
my $calls = 0;					# so many must have come to the kernel

sub set
{
	my ($node, @settings) = @_;
	$node->append_conf('postgresql.conf', join("\n", @settings, ''));
	$node->reload;
	return;
}

# Let the standby replay some change all at once, with changed settings: it is
# stopped meanwhile, and learns the settings when it has begun to look ahead.
sub replay_with
{
	my ($settings, $change) = @_;

	wait_replayed($primary, $standby);
	my $log = -s $standby->logfile;
	my $before = guard_stats($standby);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$change->();
	set($standby, @$settings);
	$standby->wait_for_log(qr/received SIGHUP, reloading configuration files/, $log);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	wait_replayed($primary, $standby);

	my $after = guard_stats($standby);
	my %change = map { $_ => $after->{$_} - $before->{$_} }
	  grep { $after->{$_} =~ /^\d+$/ } keys %$after;
	return \%change;
}

my $s = guard_stats($standby);
$calls += $s->{issued};

$s = replay_with([], sub { burst($primary, 't') });
counted_once($s, 'filter');
cmp_ok($s->{covered_by_image}, '>', 900, 'filter: requests are covered');
cmp_ok($s->{issued}, '<', 100, 'filter: they are dropped');
$calls += $s->{issued};

$s = replay_with(['pg_prefetch_guard.mode = audit'], sub { burst($primary, 't') });
counted_once($s, 'audit after reload');
cmp_ok($s->{covered_by_image}, '>', 900, 'audit after reload: requests are covered');
$calls += $s->{requests};

$s = replay_with(['pg_prefetch_guard.mode = off'], sub { burst($primary, 't') });
counted_once($s, 'off after reload');
is($s->{suppressed}, 0, 'off after reload: none is dropped');
cmp_ok($s->{issued}, '>', 900, 'off after reload: all are issued');
$calls += $s->{requests};

set($primary, 'full_page_writes = off', 'wal_log_hints = off');
$s = replay_with(['pg_prefetch_guard.mode = filter'], sub { burst($primary, 't') });
counted_once($s, 'filter without images after reload');
cmp_ok($s->{sequential}, '>', 900, 'filter without images after reload: read in stretches');
$calls += $s->{issued};

$s = replay_with(['pg_prefetch_guard.sequential = off'], sub { burst($primary, 't') });
counted_once($s, 'sequential = off after reload');
is($s->{sequential}, 0, 'sequential = off after reload: no stretches');
cmp_ok($s->{issued}, '>', 900, 'sequential = off after reload: requests are issued');
$calls += $s->{issued};

$s = replay_with(['recovery_prefetch = off'], sub { burst($primary, 't') });
nothing_asked($s, 'recovery_prefetch = off after reload');

# Switch it off and on all the time while changes come in.
set($standby, 'recovery_prefetch = try', 'pg_prefetch_guard.sequential = on');
set($primary, 'full_page_writes = on');
my $before = guard_stats($standby);
my $changes = fork // die "fork: $!";
if ($changes == 0)
{
	exec 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $primary->connstr('postgres'),
	  map { ('-c', 'CHECKPOINT', '-c', burst_command('t')) } 1 .. 8
	  or die "psql: $!";
}
my $reloads = 0;
while (waitpid($changes, WNOHANG) == 0)
{
	set($standby, 'pg_prefetch_guard.mode = ' . (qw(filter off))[ $reloads++ % 2 ],
		'maintenance_io_concurrency = ' . (1, 10, 1000)[ $reloads % 3 ]);
}
is($?, 0, "reloads while changes came in");
note "$reloads reloads";
set($standby, 'pg_prefetch_guard.mode = filter', 'maintenance_io_concurrency = 10');
wait_replayed($primary, $standby);
counted_once(guard_stats($standby), 'many reloads');
same_data($primary, $standby, 'many reloads');

# A reset empties the views at once, even if replay is paused so that the
# startup process does not hear of it.
wait_replayed($primary, $standby);
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
burst($primary, 't');
wait_paused($standby);
$calls += guard_stats($standby)->{issued} - $before->{issued};
my $was = $standby->safe_psql('postgres', 'SELECT stats_reset FROM pg_stat_prefetch_guard');
cmp_ok($standby->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_prefetch_guard_relations'),
	'>', 0, 'relations are shown before the reset');
$standby->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset()');
is( $standby->safe_psql('postgres', q{
		SELECT requests, issued, suppressed, records, wal_bytes, fpi_bytes, user_cpu_seconds
		FROM pg_stat_prefetch_guard}),
	'0|0|0|0|0|0|0', 'all is zero after a reset while replay is paused');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_prefetch_guard_relations'),
	'0', '... and no relations are shown');
is($standby->safe_psql('postgres', "SELECT stats_reset > '$was' FROM pg_stat_prefetch_guard"),
	't', '... and the time is shown');
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
wait_replayed($primary, $standby);
$s = guard_stats($standby);
counted_once($s, 'after the reset');
cmp_ok($s->{covered_by_image}, '>', 900, 'after the reset: requests are counted again');
cmp_ok($s->{requests}, '<', 2000, '... from zero');
like(relation_stats($standby, 't', 'requests'), qr/^\d+$/, '... for the relation too');
$calls += $s->{issued};

# Who may see and do what, on a hot standby.
sub as
{
	my ($role, $query) = @_;
	my ($ret, $out, $err) = $standby->psql('postgres', $query, extra_params => [ '-U', $role ]);
	return $ret == 0 ? $out : $err;
}

like(as('watcher', 'SELECT requests FROM pg_stat_prefetch_guard'), qr/^\d+$/,
	'pg_monitor sees the guard');
like(as('watcher', 'SELECT count(*) FROM pg_stat_prefetch_guard_relations'), qr/^[1-9]\d*$/,
	'pg_monitor sees the relations');
like(as('watcher', 'SELECT pg_prefetch_guard_reset()'), qr/permission denied/,
	'pg_monitor may not reset');
like(as('nobody', 'SELECT * FROM pg_stat_prefetch_guard'), qr/permission denied/,
	'others do not see the guard');
like(as('nobody', 'SELECT * FROM pg_stat_prefetch_guard_relations'), qr/permission denied/,
	'others do not see the relations');

# On a primary nobody counts.
$primary->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset()');
is( $primary->safe_psql('postgres',
		'SELECT filter_status, requests, records FROM pg_stat_prefetch_guard'),
	'active|0|0', 'a reset on a primary');

SKIP:
{
	skip "processes can't be traced here", 1 unless $traced;
	$standby->stop;
	is(willneed_calls($standby), $calls,
		'all the time the kernel saw those that count as issued, and all of them in audit mode');
}

done_testing();
