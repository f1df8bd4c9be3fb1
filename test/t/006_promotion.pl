# A standby and one that hangs on it: promotion, the change of timeline, and the
# old primary's return.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use StandbyPair;

my $first = new_primary('first');
make_pages($first, 't', 1000);
my $second = new_standby('second', $first);
my $third = new_standby('third', $second, backup => do { $second->backup('for_third'); 'for_third' });

# A burst on one server that another replays all at once.
sub guarded
{
	my ($from, $to, $what) = @_;

	$to->safe_psql('postgres', 'SELECT pg_prefetch_guard_reset(); SELECT pg_wal_replay_pause()');
	burst($from, 't');
	$to->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	$from->wait_for_catchup($second, 'replay') if $to == $third && $from == $first;
	wait_replayed($to == $third ? $second : $from, $to);
	my $s = guard_stats($to);
	counted_once($s, $what);
	burst_guarded($s, $what);
	cmp_ok($s->{issued}, '<', 100, "$what: they are dropped");
	return $s;
}

guarded($first, $second, 'standby');
guarded($first, $third, 'cascaded standby');
wait_replayed($first, $second);
same_data($second, $third, 'cascaded standby');
same_data($first, $second, 'standby');

# Promotion in the middle of a burst.
burst($first, 't');
$first->wait_for_catchup($second, 'write');
$first->stop;
$second->promote;
my $at_end = guard_stats($second);
counted_once($at_end, 'promoted');
is($at_end->{filter_status}, 'active', 'promoted: the filter is there');
same_data($second, $third, 'timeline switch');

# Nobody replays here any more, so that what sessions prefetch is not counted.
$second->safe_psql('postgres', q{
	CREATE INDEX ON t (id);
	SET enable_seqscan = off;
	SET enable_indexscan = off;
	SET effective_io_concurrency = 50;
	SELECT sum(length(pad)) FROM t WHERE id % 10 = 0 AND id BETWEEN 1 AND 20000});
is(guard_stats($second)->{requests}, $at_end->{requests}, "promoted: sessions' prefetch is not counted");

guarded($second, $third, 'new timeline');
same_data($second, $third, 'new timeline');
is( $third->safe_psql('postgres', q{SELECT received_tli FROM pg_stat_wal_receiver}),
	'2', 'new timeline: followed');

# The old primary comes back as a standby: it had stopped cleanly, with all its
# WAL sent.
$first->append_conf('postgresql.conf', "primary_conninfo = '@{[ $second->connstr ]} application_name=first'\n");
$first->set_standby_mode;
$first->start;
wait_replayed($second, $first);
guarded($second, $first, 'old primary');
same_data($second, $first, 'old primary');

done_testing();
