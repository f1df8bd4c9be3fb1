# Where else WAL comes from, and what keeps it from coming: restore_command,
# replication slots, WAL that was removed, a primary that is down or refuses
# the connection, settings that change meanwhile.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;
use EarlyReceiver;

my $delay = "recovery_min_apply_delay = 1h\n";

sub set
{
	my ($node, $conf) = @_;
	$node->append_conf('postgresql.conf', "$conf\n");
	$node->reload;
	return;
}

# Remove all WAL on a node that was written up to now.
sub remove_wal
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'SELECT pg_switch_wal(); CHECKPOINT; SELECT pg_switch_wal(); CHECKPOINT');
	return;
}

my $primary = early_primary('primary', archive => 1, conf => "wal_keep_size = 0\nmin_wal_size = 2MB\n");
$primary->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('slot', true)});
my $standby = early_standby('standby', $primary, conf => "primary_slot_name = 'slot'\n$delay");

# a slot
delayed_backlog($primary, 8, $standby);
$standby->restart;
starts_early($standby, 'slot');
make_sync_now();
commit_returned(start_commit($primary, -1), 'slot: commit returns');
runs_early($standby, 7, 'slot');
my $replayed = $standby->lsn('replay');
is($primary->safe_psql('postgres', qq{SELECT active AND restart_lsn > '$replayed' FROM pg_replication_slots}),
	't', 'slot: does not keep the WAL that was not replayed');

# the setting is turned off
set($standby, "recovery_min_apply_delay = 0\npg_prefetch_guard.early_walreceiver = off");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
my $s = receiver_stats($standby);
is("$s->{early_starts} $s->{handovers}", '1 1', 'turned off: handed over');
is(checksums($standby), checksums($primary), 'turned off: data is the same');

# restore_command: all local segments are in the archive, too
no_sync($primary);
$standby->enable_restoring($primary);
$standby->append_conf('postgresql.conf', "pg_prefetch_guard.early_walreceiver = on\n$delay");
$standby->restart;
delayed_backlog($primary, 8, $standby);
$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
$primary->poll_query_until('postgres', 'SELECT archived_count > 8 FROM pg_stat_archiver');
my $log = -s $standby->logfile;
$standby->restart;
starts_early($standby, 'restore_command');
make_sync_now();
commit_returned(start_commit($primary, -2), 'restore_command: commit returns');
runs_early($standby, 7, 'restore_command');
$log = -s $standby->logfile;
set($standby, 'recovery_min_apply_delay = 0');
caught_up($primary, $standby, 'restore_command');

# restore_command, and the primary has removed WAL that is only archived
no_sync($primary);
set($standby, $delay);
delayed_backlog($primary, 8, $standby);
$standby->stop;
$primary->safe_psql('postgres', q{SELECT pg_drop_replication_slot('slot')});
$standby->append_conf('postgresql.conf', "primary_slot_name = ''\n");
write_backlog($primary, 4);
remove_wal($primary);
is($primary->safe_psql('postgres', q{SELECT last_failed_wal IS NULL FROM pg_stat_archiver}),
	't', 'only archived: WAL is removed only when it is archived');
$log = -s $standby->logfile;
$standby->start;
$standby->wait_for_log(qr/requested WAL segment \S+ has already been removed/, $log);
set($standby, 'recovery_min_apply_delay = 0');
caught_up($primary, $standby, 'only archived');
like(slurp_file($standby->logfile, $log), qr/restored log file/, 'only archived: restored');

# no slot, no archive, WAL removed: all local WAL is replayed, and that is it
set($standby, "restore_command = 'false'\n$delay");
delayed_backlog($primary, 8, $standby);
my $flushed = $primary->lsn('flush');
$standby->stop;
write_backlog($primary, 2);
remove_wal($primary);
$log = -s $standby->logfile;
$standby->start;
$standby->wait_for_log(qr/requested WAL segment \S+ has already been removed/, $log);
cmp_ok(receiver_stats($standby)->{early_starts}, '>=', 1, 'WAL removed: started early');
set($standby, 'recovery_min_apply_delay = 0');
ok($standby->poll_query_until('postgres', qq{SELECT pg_last_wal_replay_lsn() >= '$flushed'}),
	'WAL removed: all local WAL is replayed');
is($standby->safe_psql('postgres', q{SELECT state FROM pg_stat_prefetch_guard_receiver}), 'idle',
	'WAL removed: left to core');

# a new standby: the primary is down
$standby->stop;
set($primary, 'wal_keep_size = 1GB');
$standby = early_standby('standby2', $primary, conf => "primary_slot_name = ''\nrestore_command = ''\n$delay");
delayed_backlog($primary, 8, $standby);
$primary->stop;
ok( $standby->poll_query_until('postgres', 'SELECT early_starts >= 3 FROM pg_stat_prefetch_guard_receiver'),
	'primary down: tried again and again');
ok( $standby->poll_query_until('postgres', q{SELECT state = 'retrying' FROM pg_stat_prefetch_guard_receiver}),
	'primary down: and the view does not say that it runs');
set($standby, 'recovery_min_apply_delay = 0');
$primary->start;
caught_up($primary, $standby, 'primary down');

# a wrong password, put right while replay is held
$primary->safe_psql('postgres', q{SET password_encryption = 'scram-sha-256';
	CREATE ROLE repl REPLICATION LOGIN PASSWORD 'right'});
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
my $hba = slurp_file($primary->data_dir . '/pg_hba.conf');
$primary->append_conf('pg_hba.conf', '');
{
	open my $fh, '>', $primary->data_dir . '/pg_hba.conf' or die;
	print $fh "local replication repl scram-sha-256\n$hba";
	close $fh;
}
$primary->reload;
my $conninfo = $primary->connstr . ' user=repl application_name=' . $standby->name;
set($standby, $delay);
delayed_backlog($primary, 8, $standby);
set($standby, "primary_conninfo = '" . ($conninfo =~ s/'/''/gr) . " password=wrong'");
$log = -s $standby->logfile;
stop_walreceiver($standby);
$standby->wait_for_log(qr/password authentication failed for user "repl"/, $log);
set($standby, "primary_conninfo = '" . ($conninfo =~ s/'/''/gr) . " password=right'");
starts_early($standby, 'password put right');
runs_early($standby, 7, 'password put right');

# primary_conninfo changes while it runs, and so does the slot
$primary->safe_psql('postgres', q{SELECT pg_create_physical_replication_slot('slot2', true)});
set($standby, "recovery_min_apply_delay = 0\nprimary_slot_name = 'slot2'");
caught_up($primary, $standby, 'slot changed');
is($primary->safe_psql('postgres', q{SELECT active FROM pg_replication_slots WHERE slot_name = 'slot2'}),
	't', 'slot changed: in use');

no_panic($primary, $standby);
done_testing();

# The standby is connected, but far from having replayed all.
sub make_sync_now
{
	$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'\n");
	$primary->reload;
	$primary->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'})
	  or die 'no synchronous standby';
	return;
}
