# 200 sessions wait for 40 targets in three modes: those are woken whose target
# is reached, and nobody else.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use Waiters;

my $sessions = 200;
my ($primary, $standby) = new_pair(conf => "max_connections = 250\n");

# Far enough for what a primary may write of its own accord.
my $base = $primary->safe_psql('postgres', 'SELECT pg_current_wal_lsn() + 30000::numeric');

# Targets are 500 bytes apart, and the last of the 40 sorts is out of reach.
my $script = $standby->basedir . '/wait.sql';
append_to_file($script, <<EOT);
\\set step :client_id % 40
\\set sort :client_id % 3
\\if :step = 39
CALL pg_wait_for_lsn('F/0', 'standby_replay', '1d');
\\elif :sort = 0
CALL pg_wait_for_lsn('$base'::pg_lsn + (1 + :step * 500)::numeric);
\\elif :sort = 1
CALL pg_wait_for_lsn('$base'::pg_lsn + (1 + :step * 500)::numeric, 'standby_write');
\\else
CALL pg_wait_for_lsn('$base'::pg_lsn + (1 + :step * 500)::numeric, 'standby_flush', 100000);
\\endif
EOT
my ($out, $err) = ('', '');
my $pgbench = IPC::Run::start(
	[ 'pgbench', '-n', '-c', $sessions, '-j', 2, '-t', 1, '-f', $script, $standby->connstr('postgres') ],
	'<', \undef, '>', \$out, '2>', \$err);

# Everybody waits, then every step releases just those it reaches.
wait_for_waiters($standby, $sessions);
for my $rows (450, 70, 70, 70)
{
	my $lsn;

	$primary->safe_psql('postgres', "INSERT INTO t SELECT g FROM generate_series(1, $rows) g");
	$lsn = $primary->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
	is(status_of($standby, "'$lsn'"), 'success', "replayed up to $lsn");
	wait_for_waiters($standby, 0, 'target <= current_lsn');
	cmp_ok($standby->safe_psql('postgres', 'SELECT count(*) FROM pg_prefetch_guard_waiters'),
		'>=', $sessions / 40, 'who waits for more still does');
}
$primary->safe_psql('postgres', 'INSERT INTO t SELECT g FROM generate_series(1, 1000) g');
wait_for_waiters($standby, $sessions / 40);
is($standby->safe_psql('postgres', q{SELECT count(*), min(target) = 'F/0', max(mode) FROM pg_prefetch_guard_waiters}),
	$sessions / 40 . '|t|standby_replay', 'only those that wait for more are left');
$standby->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) FROM pg_prefetch_guard_waiters');
IPC::Run::finish($pgbench);
wait_for_waiters($standby, 0);
is($standby->safe_psql('postgres', 'SELECT sum(waits), sum(successes), sum(cancels) FROM pg_stat_prefetch_guard_waits'),
	join('|', $sessions + 4, $sessions - $sessions / 40 + 4, $sessions / 40), 'all are counted');
ok_alive($standby, 'standby');
done_testing();
