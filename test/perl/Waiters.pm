# Sessions that wait in the background, for the tests of pg_wait_for_lsn().
package Waiters;

use strict;
use warnings;
use Exporter 'import';
use File::Temp 'tempfile';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StandbyPair;
use Test::More;

our @EXPORT = qw(new_pair status_of error_of commit_lsn start_session
  finish_session wait_for_waiters waits ok_alive);

# A primary and a standby that reconnects fast.  Options: conf, for both.
sub new_pair
{
	my (%opt) = @_;
	my $conf = "wal_retrieve_retry_interval = 100ms\n" . ($opt{conf} // '');
	my $primary = new_primary('primary', conf => $conf);

	$primary->safe_psql('postgres', 'CREATE TABLE t (i int)');
	return ($primary, new_standby('standby', $primary));
}

# Insert a row, and the LSN that a standby has to replay to have it.
sub commit_lsn
{
	my ($primary, $i) = @_;

	$primary->safe_psql('postgres', 'INSERT INTO t VALUES (' . ($i // 0) . ')');
	return $primary->safe_psql('postgres', 'SELECT pg_current_wal_lsn()');
}

# What CALL pg_wait_for_lsn(ARGS) returns.
sub status_of
{
	my ($node, $args) = @_;

	return $node->safe_psql('postgres', "CALL pg_wait_for_lsn($args)");
}

# The error that some SQL ends with, as "SQLSTATE: message", and what comes with
# it, in one line.
sub error_of
{
	my ($node, $sql) = @_;
	my ($ret, $stdout, $stderr) =
	  $node->psql('postgres', "\\set VERBOSITY verbose\n$sql", on_error_stop => 1);

	$stderr =~ s/^psql:<stdin>:\d+: (ERROR|FATAL): +//;
	$stderr =~ s/\nLOCATION:.*//;
	$stderr =~ s/\s+/ /g;
	return $stderr;
}

# Run psql with some SQL in the background.
sub start_session
{
	my ($node, $sql) = @_;
	my $session = { out => '', err => '' };
	my ($fh, $file) = tempfile(UNLINK => 1);

	# from a file, since a pipe would be filled only when we wait for the end
	print $fh $sql;
	close $fh;
	$session->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ],
		'<', \undef, '>', \$session->{out}, '2>', \$session->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $session;
}

# Wait for its end; what it printed.
sub finish_session
{
	my ($session) = @_;

	IPC::Run::finish($session->{run});
	chomp(my $out = $session->{out});
	return wantarray ? ($out, $session->{err}) : $out;
}

# Wait until so many sessions are known to wait.
sub wait_for_waiters
{
	my ($node, $n, $where) = @_;

	$where //= 'true';
	$node->poll_query_until('postgres',
		"SELECT count(*) = $n FROM pg_prefetch_guard_waiters WHERE $where")
	  or die "there are not $n waiters";
	return;
}

# A column of pg_stat_prefetch_guard_waits.
sub waits
{
	my ($node, $mode, $column) = @_;

	return $node->safe_psql('postgres',
		"SELECT $column FROM pg_stat_prefetch_guard_waits WHERE mode = '$mode'");
}

# No process of this server has crashed.
sub ok_alive
{
	my ($node, $what) = @_;

	unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC/, "$what: no crash");
	return;
}

1;
