# Recovery from an archive: a standby that lives on it alone, and recovery to a
# point in time with each of the actions that may follow.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $primary = new_primary('primary', archive => 1, segment => 16);
make_pages($primary, 't', 1000);
$primary->backup('before');

burst($primary, 't');
$primary->safe_psql('postgres', q{CREATE TABLE marker AS SELECT 1 AS at; SELECT pg_create_restore_point('here')});
my $data = $primary->safe_psql('postgres', 'SELECT sum(hashtext(t::text)) FROM t');
my $target = $primary->lsn('insert');
burst($primary, 't');
$primary->safe_psql('postgres', 'UPDATE marker SET at = 2');
archive_all($primary);

sub guarded
{
	my ($node, $what) = @_;
	my $s = guard_stats($node);

	counted_once($s, $what);
	burst_guarded($s, $what);
	cmp_ok($s->{issued}, '<', 100, "$what: they are dropped");
	return;
}

# A standby without a connection to its primary.
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'before', has_restoring => 1, standby => 1);
$standby->start;
$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() > '$target'");
$standby->poll_query_until('postgres', 'SELECT at = 2 FROM marker');
guarded($standby, 'standby on an archive');
is(checksums($standby), checksums($primary), 'standby on an archive: data is the same');
amcheck_clean($standby, 'standby on an archive');

# It goes on when more is archived, and is promoted with that.
burst($primary, 't');
$primary->safe_psql('postgres', 'UPDATE marker SET at = 3');
archive_all($primary);
$standby->poll_query_until('postgres', 'SELECT at = 3 FROM marker');
guarded($standby, 'standby on an archive goes on');
$standby->promote;
is(checksums($standby), checksums($primary), 'standby on an archive promoted: data is the same');
amcheck_clean($standby, 'standby on an archive promoted');
$standby->stop;

# At the target: is all there that was there then, and nothing more?
sub at_target
{
	my ($node, $what) = @_;

	guarded($node, $what);
	is($node->safe_psql('postgres', 'SELECT at FROM marker'), '1', "$what: stopped there");
	is($node->safe_psql('postgres', 'SELECT sum(hashtext(t::text)) FROM t'),
		$data, "$what: data is what it was");
	amcheck_clean($node, $what);
	return;
}

sub set_up_recovery
{
	my ($name, $action) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init_from_backup($primary, 'before', has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf',
		"archive_mode = off\nrecovery_target_name = 'here'\nrecovery_target_action = $action\n");
	return $node;
}

my $paused = set_up_recovery('paused', 'pause');
$paused->start;
wait_paused($paused);
at_target($paused, 'pause at the target');
$paused->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$paused->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
at_target($paused, 'opened at the target');
$paused->stop;

my $promoted = set_up_recovery('promoted', 'promote');
$promoted->start;
$promoted->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
at_target($promoted, 'promote at the target');
$promoted->stop;

# Shutdown: the startup process ends in the middle of its work.  To pg_ctl that
# is a failure up to 17, and a success later.
my $down = set_up_recovery('down', 'shutdown');
PostgreSQL::Test::Utils::system_log('pg_ctl', '-w', '-D', $down->data_dir, '-l', $down->logfile, 'start');
$down->wait_for_log(qr/database system is shut down/);
unlike(slurp_file($down->logfile), qr/PANIC|signal \d+/, 'shutdown at the target: cleanly');
$down->append_conf('postgresql.conf', "recovery_target_action = promote\n");
$down->start;
$down->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is($down->safe_psql('postgres', 'SELECT at FROM marker'), '1', 'started again after shutdown at the target');
is($down->safe_psql('postgres', 'SELECT sum(hashtext(t::text)) FROM t'),
	$data, '... with the same data');

done_testing();
