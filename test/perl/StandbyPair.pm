# Primary and standby for the TAP tests, and what is asked of them again and
# again.  The names used by the tests are exported.
package StandbyPair;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(new_primary new_standby guard_stats checksums same_data
  startup_pid process_pid);

# Start a primary that has the library loaded and the extension created.
# Options: conf (text appended to postgresql.conf); extra (options of initdb).
sub new_primary
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => 1, extra => $opt{extra} // []);
	$node->append_conf('postgresql.conf', <<EOT);
shared_preload_libraries = 'pg_prefetch_guard'
autovacuum = off
wal_keep_size = 1GB
max_wal_size = 10GB
checkpoint_timeout = 1h
EOT
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_prefetch_guard');
	return $node;
}

# Set up a streaming standby of a node, by default from a new backup, and start
# it.  Options: conf; backup (name of a backup of that node); start (0: don't).
sub new_standby
{
	my ($name, $upstream, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my $backup = $opt{backup} // "for_$name";

	$upstream->backup($backup) unless defined $opt{backup};
	$node->init_from_backup($upstream, $backup, has_streaming => 1);
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start if $opt{start} // 1;
	return $node;
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

# A checksum for every table of every database, as lines "database.table sum".
sub checksums
{
	my ($node) = @_;
	my @sums;

	for my $db (split /\n/, $node->safe_psql('postgres',
			'SELECT datname FROM pg_database WHERE datallowconn ORDER BY 1'))
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

# Wait until a standby has replayed all, then compare every table.
sub same_data
{
	my ($primary, $standby, $what) = @_;

	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	is(checksums($standby), checksums($primary), "$what: data is the same");
	return;
}

# Process id of a server process by what ps calls it, or undef.
sub process_pid
{
	my ($node, $type) = @_;
	my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];

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

1;
