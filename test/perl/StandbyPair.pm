# Primary and standby for the TAP tests, and what is asked of them again and
# again.  The names used by the tests are exported.
package StandbyPair;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(new_primary new_standby new_replay start_server wait_ready
  can_trace willneed_calls archive_all drop_cached wait_replayed wait_paused
  guard_stats relation_stats counted_once burst_guarded nothing_asked
  checksums same_data amcheck_clean
  make_pages burst burst_command scattered_updates
  startup_pid process_pid child_pids wait_gone build_module);

# Start a primary that has the library loaded and the extension created.
# Options: conf (text appended to postgresql.conf); archive (1: archives WAL);
# segment (size of a WAL segment in MB: small ones are soon complete, big ones
# need fewer calls of an archive command); pauses (0: here and on its standbys
# look-ahead never pauses, so that all that there is to ask for is asked for).
sub new_primary
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => 1, has_archiving => $opt{archive} // 0,
		extra => [ '--wal-segsize=' . ($opt{segment} // 1) ]);
	$node->append_conf('postgresql.conf', <<EOT);
shared_preload_libraries = 'pg_prefetch_guard'
autovacuum = off
wal_keep_size = 1GB
max_wal_size = 10GB
checkpoint_timeout = 1h
log_statement = none
EOT
	$node->append_conf('postgresql.conf', "pg_prefetch_guard.pause_lookahead = off\n")
	  unless $opt{pauses} // 1;
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start;
	$node->safe_psql($_, 'CREATE EXTENSION amcheck') for qw(template1 postgres);
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_prefetch_guard');
	return $node;
}

# Set up a streaming standby of a node, by default from a new backup, and start
# it.  Options: conf; backup (name of a backup of that node); start (0: don't);
# trace (1: start it under strace).
sub new_standby
{
	my ($name, $upstream, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $backup = $opt{backup} // "for_$name";

	$upstream->backup($backup) unless defined $opt{backup};
	$node->init_from_backup($upstream, $backup, has_streaming => 1);
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	start_server($node, %opt) if $opt{start} // 1;
	return $node;
}

# Restore a backup, replay all that the primary archived since, and open.
#
# Nobody else is let in before, and nothing comes in while replaying, so that
# two servers that replay the same WAL do exactly the same.  Options: conf;
# backup (required); trace (1: start it under strace); cold (1: with its tables
# dropped from the page cache).
sub new_replay
{
	my ($name, $primary, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init_from_backup($primary, $opt{backup}, has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf', <<EOT);
archive_mode = off
hot_standby = off
bgwriter_lru_maxpages = 0
EOT
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	drop_cached($node->data_dir . '/base') if $opt{cold};
	start_server($node, %opt);
	wait_ready($node);
	return $node;
}

# Drop all files below a folder from the page cache.
sub drop_cached
{
	my ($folder) = @_;

	system_or_bail('sh', '-c', 'find "$1" -type f -size +64k -exec sync {} \\; '
		  . '-exec dd if={} iflag=nocache count=0 status=none \\;', 'sh', $folder);
	return;
}

my %tracer;						# process id of strace, by name of the server

# Start a server, under strace if wanted: option trace.
sub start_server
{
	my ($node, %opt) = @_;

	return $node->start unless $opt{trace};

	my @pg_ctl = ('pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile,
		'-o', '--cluster-name=' . $node->name, 'start');
	local %ENV = $node->_get_env(PGAPPNAME => undef);
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		exec 'strace', '-f', '-q', '--seccomp-bpf', '-e', 'trace=/fadvise64',
		  '-e', 'signal=none', '-o', trace_file($node), @pg_ctl
		  or die "strace: $!";
	}
	$tracer{ $node->name } = $pid;
	wait_ready($node);
	$node->_update_pid(1);
	return;
}

# Wait until a server lets us in.
sub wait_ready
{
	my ($node) = @_;

	for (1 .. 5 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0;
		select undef, undef, undef, 0.2;
	}
	die $node->name . ' does not accept connections';
}

# May we trace processes here?  (Only our own children: what a hardened kernel
# still allows.)
sub can_trace
{
	return system('strace -f -q --seccomp-bpf -e trace=none -o /dev/null true 2>/dev/null') == 0;
}

sub trace_file
{
	my ($node) = @_;
	return $node->basedir . '/strace';
}

# How many POSIX_FADV_WILLNEED calls has the startup process made, of a server
# that was started under strace, and has been stopped?
sub willneed_calls
{
	my ($node) = @_;
	my $pid = (slurp_file($node->logfile) =~ /\[(\d+)\] LOG:  redo starts at/g)[-1]
	  // die "no redo in the log";

	waitpid $tracer{ $node->name }, 0;
	return scalar grep { /^$pid\s+\w*fadvise64\w*\(.*POSIX_FADV_WILLNEED/ }
	  split /\n/, slurp_file(trace_file($node));
}

# Let a primary archive all WAL up to now.
sub archive_all
{
	my ($primary) = @_;
	my $segment = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');

	$primary->safe_psql('postgres', 'SELECT pg_switch_wal()');
	$primary->poll_query_until('postgres',
		"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
	  or die "$segment was not archived";
	return;
}

# Wait until a standby has applied all that its upstream has written.
sub wait_replayed
{
	my ($upstream, $standby) = @_;

	$upstream->wait_for_catchup($standby, 'replay',
		$upstream->lsn($upstream->safe_psql('postgres', 'SELECT pg_is_in_recovery()') eq 't'
			? 'replay' : 'insert'));
	return;
}

# Wait until a pause of replay that was asked for has begun.
sub wait_paused
{
	my ($node) = @_;

	$node->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'})
	  or die 'replay was not paused';
	return;
}

# The row of pg_stat_prefetch_guard as a hash.
sub guard_stats
{
	my ($node) = @_;
	my $json = $node->safe_psql('postgres', q{
		SELECT string_agg(key || '=' || value, E'\n')
		FROM pg_stat_prefetch_guard s, json_each_text(row_to_json(s))});

	return { map { split /=/, $_, 2 } split /\n/, $json };
}

# Some columns of one relation in pg_stat_prefetch_guard_relations, as psql
# prints them; nothing if it is not there.
sub relation_stats
{
	my ($node, $relation, $columns, $db) = @_;

	return $node->safe_psql($db // 'postgres',
		"SELECT $columns FROM pg_stat_prefetch_guard_relations WHERE relation = '$relation'::regclass");
}

# Every request was either issued or suppressed, and that for one reason.
sub counted_once
{
	my ($s, $what) = @_;

	note "$what: ", join ' ', map { "$_=$s->{$_}" } grep { $s->{$_} =~ /^\d+$/ } sort keys %$s;
	is($s->{requests}, $s->{issued} + $s->{suppressed},
		"$what: every request was issued or suppressed");
	is($s->{suppressed},
		$s->{covered_by_image} + $s->{covered_by_init} + $s->{repeated} + $s->{sequential},
		"$what: every suppressed request has one reason");
	is($s->{suppressed_bytes}, 8192 * $s->{suppressed}, "$what: so many bytes were not asked for");
	cmp_ok($s->{fpi_bytes}, '<=', $s->{wal_bytes}, "$what: images are no more than all WAL");
	return;
}

# A burst was guarded: its requests were seen to be covered, or not even made
# since look-ahead paused.
sub burst_guarded
{
	my ($s, $what) = @_;

	cmp_ok($s->{covered_by_image}, '>', 200, "$what: requests are covered");
	cmp_ok($s->{covered_by_image} + $s->{paused_records}, '>', 900,
		"$what: ... or look-ahead pauses");
	return;
}

# No request, though WAL was applied.
sub nothing_asked
{
	my ($s, $what) = @_;

	is("$s->{requests} $s->{issued} $s->{suppressed}", '0 0 0', "$what: nothing was asked for");
	cmp_ok($s->{records}, '>', 0, "$what: records are counted all the same");
	return;
}

# A checksum for every table of every database, as lines "database.table sum".
# On a primary this prunes pages, so it writes WAL.
sub checksums
{
	my ($node) = @_;
	my @sums;

	for my $db (databases($node))
	{
		my $tables = $node->safe_psql($db, q{
			SELECT format('SELECT %L, count(*), coalesce(sum(hashtextextended(t::text, 0)), 0) FROM %s t',
				c.oid::regclass, c.oid::regclass)
			FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
			WHERE relkind IN ('r', 'm') AND relpersistence = 'p'
				AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
			ORDER BY 1});
		push @sums, map { "$db.$_" } split /\n/, $node->safe_psql($db, join(";\n", split /\n/, $tables))
		  if $tables ne '';
	}
	return join("\n", @sums);
}

sub databases
{
	my ($node) = @_;
	return split /\n/, $node->safe_psql('postgres',
		'SELECT datname FROM pg_database WHERE datallowconn ORDER BY 1');
}

# Let pg_amcheck look at every table and index.
sub amcheck_clean
{
	my ($node, $what) = @_;

	$node->command_ok([ 'pg_amcheck', '--all' ], "$what: pg_amcheck finds no fault");
	return;
}

# Compare every table, after a standby has applied all.
sub same_data
{
	my ($primary, $standby, $what) = @_;

	wait_replayed($primary, $standby)
	  if $standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()') eq 't';
	is(checksums($standby), checksums($primary), "$what: data is the same");
	amcheck_clean($standby, $what);
	return;
}

# Make a table of so many pages, more or less.  Options: fillfactor; db.
sub make_pages
{
	my ($node, $table, $pages, %opt) = @_;
	my $fillfactor = $opt{fillfactor} // 100;
	my $rows = $pages * int($fillfactor / 100 * 8168 / 140);

	$node->safe_psql($opt{db} // 'postgres', qq{
		CREATE TABLE $table (id int, pad text) WITH (fillfactor = $fillfactor);
		INSERT INTO $table SELECT i, repeat('x', 100) FROM generate_series(1, $rows) i;
		VACUUM FREEZE $table});
	return;
}

# Change every 20th row in a table right after a checkpoint: each page's first
# change carries an image of it, the others don't.  Each call takes rows that
# have not been changed yet, so that they are in their first places, up to 20
# times.  Options: db.
sub burst
{
	my ($node, $table, %opt) = @_;

	$node->safe_psql($opt{db} // 'postgres', 'CHECKPOINT; ' . burst_command($table));
	return;
}

my $bursts = 0;

sub burst_command
{
	my ($table) = @_;

	return "UPDATE $table SET pad = repeat('y', 100) WHERE id % 20 = " . $bursts++ % 20;
}

# Change one row on each page of a table, in an order without any order.
sub scattered_updates
{
	my ($node, $table) = @_;

	$node->safe_psql('postgres', qq{
		DO \$\$
		DECLARE
			page int;
		BEGIN
			PERFORM setseed(0.5);
			FOR page IN SELECT p FROM generate_series(0, pg_relation_size('$table') / 8192 - 1) p ORDER BY random()
			LOOP
				UPDATE $table SET pad = repeat('z', 100) WHERE ctid = format('(%s,1)', page)::tid;
			END LOOP;
		END \$\$});
	return;
}

# Process id of the postmaster.
sub postmaster_pid
{
	my ($node) = @_;
	return (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
}

# Process id of a server process by what ps calls it, or undef.
sub process_pid
{
	my ($node, $type) = @_;
	my $postmaster = postmaster_pid($node);

	for my $line (split /\n/, `ps --no-headers -o pid,args --ppid $postmaster`)
	{
		return $1 if $line =~ /^\s*(\d+)\s.*\Q$type\E/;
	}
	return;
}

sub startup_pid
{
	my ($node) = @_;
	return process_pid($node, 'startup');
}

# All processes of a server, the postmaster first.
sub child_pids
{
	my ($node) = @_;
	my $postmaster = postmaster_pid($node);

	return ($postmaster, split ' ', `ps --no-headers -o pid --ppid $postmaster`);
}

# Wait until none of these processes exists any more.
sub wait_gone
{
	my (@pids) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if kill(0, @pids) == 0;
		select undef, undef, undef, 0.1;
	}
	die "processes @pids are still there";
}

# Compile test/modules/NAME.c into a shared library for the server; returns its
# path without the suffix.
sub build_module
{
	my ($name) = @_;
	my $out = "$PostgreSQL::Test::Utils::tmp_check/$name";
	my ($cc, $include, $cppflags) = map { chomp(my $v = `pg_config $_`); $v }
	  qw(--cc --includedir-server --cppflags);

	system_or_bail("$cc $cppflags -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare "
		  . "-O1 -fPIC -shared -I$include -o $out.so test/modules/$name.c");
	return $out;
}

1;
