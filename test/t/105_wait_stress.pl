# Read-your-writes under fire: 50 clients insert, wait and read, while waits are
# canceled, backends and walreceivers terminated, and backends killed.
#
# PPG_STRESS_SECONDS: for how long (5; 120 for a figure to be quoted).
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use Waiters;

my $seconds = $ENV{PPG_STRESS_SECONDS} // 5;
my ($primary, $standby) = new_pair(conf => "max_connections = 200\nrestart_after_crash = on\nlog_statement = none\n");
my $crash = $seconds < 20 ? 4 : 15;
my ($out, $err) = run_command([ 'test/lab/wait_stress', '--clients', 50, '--seconds', $seconds,
		'--kill', '--crash', $crash,
		'--primary', $primary->connstr('postgres'), '--standby', $standby->connstr('postgres') ]);

diag $out;
diag $err if $err ne '';
like($out, qr/^[1-9]\d* reads after waits, 0 stale;/, 'no stale read');
like($out, qr/ 0 unexpected errors, no waiter stuck, 0 waiters left$/, 'no waiter stuck, none left');
like($out, qr/; [1-9]\d* cancels \(.* [1-9]\d* connections lost \([1-9]\d* backends terminated, [1-9]\d* walreceivers terminated, [1-9]\d* backends killed\)/,
	'there was fire');
same_data($primary, $standby, 'after the stress');
done_testing();
