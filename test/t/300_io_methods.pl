# How newer servers read.  Whatever io_method they use, recovery prefetch still
# asks by posix_fadvise(), so one backup and the WAL since must be replayed with
# the same decisions.  With direct I/O for data nothing is asked for, since there
# is no kernel cache to read into.
use strict;
use warnings;
use Fcntl;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my @counters = qw(requests issued suppressed covered_by_image covered_by_init
  repeated sequential unattributed records wal_bytes fpi_bytes);

my $primary = new_primary('primary', pauses => 0, archive => 1);
my $methods = $primary->safe_psql('postgres',
	q{SELECT enumvals::text FROM pg_settings WHERE name = 'io_method'});
my $direct = $primary->safe_psql('postgres',
	q{SELECT count(*) FROM pg_settings WHERE name = 'debug_io_direct'});

plan skip_all => 'this server has neither io_method nor debug_io_direct'
  unless $methods || $direct;

# With images, then without, and new pages.
make_pages($primary, 't', 1500);
$primary->backup('before');
burst($primary, 't');
$primary->safe_psql('postgres', burst_command('t'));
make_pages($primary, 'new', 500);
archive_all($primary);

my $data = checksums($primary);
my $expected;

# Replay with some settings; returns the guard's row.
sub replay
{
	my ($name, $conf) = @_;
	my $node = new_replay($name, $primary,
		backup => 'before', conf => "shared_buffers = 1MB\n$conf");
	my $s = guard_stats($node);

	counted_once($s, $name);
	is($s->{filter_status}, 'active', "$name: the filter is active");
	is(checksums($node), $data, "$name: data is the same");
	amcheck_clean($node, $name);
	$node->stop;
	return $s;
}

# Why can't an I/O method be used here?
sub method_missing
{
	my ($method) = @_;

	return 'not known to this server' unless $methods =~ /\b$method\b/;
	if ($method eq 'io_uring')
	{
		my $params = "\0" x 120;	# struct io_uring_params
		my $fd = syscall(425, 1, $params);	# io_uring_setup()

		return "not allowed here: $!" if $fd < 0;
		POSIX::close($fd);
	}
	return;
}

for my $method (qw(sync worker io_uring))
{
  SKIP:
	{
		my $why = method_missing($method);
		skip "io_method = $method: $why", 1 if defined $why;

		my $s = replay($method, "io_method = $method\n");
		my %count = map { $_ => $s->{$_} } @counters;

		if (!defined $expected)
		{
			$expected = \%count;
			cmp_ok($s->{covered_by_image}, '>', 1000, "$method: requests are covered by images");
			cmp_ok($s->{sequential}, '>', 1000, "$method: requests are left to readahead");
			next;
		}
		is_deeply(\%count, $expected, "$method: decides as the others do");
	}
}

# Can files be opened for direct I/O, where the servers are?
sub direct_missing
{
	my $file = "$PostgreSQL::Test::Utils::tmp_check/direct";

	return 'not known to this server' unless $direct;
	sysopen(my $fh, $file, O_RDWR | O_CREAT | O_DIRECT) or return "not possible here: $!";
	return;
}

SKIP:
{
	my $why = direct_missing();
	skip "debug_io_direct: $why", 1 if defined $why;

	nothing_asked(replay('direct', "debug_io_direct = data\n"), 'direct');
}

done_testing();
