# Through PgBouncer in transaction mode: sessions change between transactions,
# and the wait is a transaction of its own or part of one.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use Waiters;

my ($pgbouncer) = grep { -x $_ } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgbouncer is not installed' unless defined $pgbouncer;

my ($primary, $standby) = new_pair();
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my ($host, $port, $user) = ($standby->host, $standby->port, scalar getpwuid($>));

append_to_file("$dir/users", "\"$user\" \"\"\n");
append_to_file("$dir/ini", <<EOT);
[databases]
postgres = host=$host port=$port
[pgbouncer]
unix_socket_dir = $dir
listen_port = $port
listen_addr =
auth_type = trust
auth_file = $dir/users
pool_mode = transaction
default_pool_size = 2
logfile = $dir/log
pidfile = $dir/pid
EOT
my $output = '';
my $bouncer = IPC::Run::start([ $pgbouncer, "$dir/ini" ], '<', \undef, '>&', \$output);
END { IPC::Run::kill_kill($bouncer) if defined $bouncer && $bouncer->pumpable }
my $through = "host=$dir port=$port dbname=postgres user=$user";

for (1 .. 100)
{
	last if system_log('psql', '-XAtqc', 'SELECT 1', $through) == 0;
	select(undef, undef, undef, 0.1);
}

sub through_bouncer
{
	my ($sql) = @_;
	my ($out) = run_command([ 'psql', '-XAtq', '-d', $through, map { ('-c', $_) } split /;\n/, $sql ]);

	return $out;
}

my $lsn = commit_lsn($primary, 1);
is(through_bouncer("CALL pg_wait_for_lsn('$lsn');\nSELECT count(*) FROM t WHERE i = 1"), "success\n1", 'in transactions of its own');
is(through_bouncer("BEGIN;\nCALL pg_wait_for_lsn('$lsn', timeout => '10s');\nSELECT count(*) FROM t WHERE i = 1;\nCOMMIT"),
	"success\n1", 'in a transaction');
is(through_bouncer("CALL pg_wait_for_lsn('F/0', timeout => 50, no_throw => true)"), 'timeout', 'times out');

my $script = "$dir/wait.sql";
append_to_file($script, "CALL pg_wait_for_lsn(:lsn, 'standby_flush');\nCALL pg_wait_for_lsn(target => :lsn, timeout => '10s');\nSELECT count(*) FROM t;\n");
for my $protocol ('simple', 'extended')
{
	# more clients than server sessions
	my $q = $protocol eq 'simple' ? "'" : '';
	$standby->command_ok([ 'pgbench', '-n', '-c', 6, '-t', 20, '-M', $protocol, '-D', "lsn=$q$lsn$q", '-f', $script, $through ],
		"$protocol protocol");
}

IPC::Run::signal($bouncer, 'TERM');
IPC::Run::finish($bouncer);
ok_alive($standby, 'standby');
done_testing();
