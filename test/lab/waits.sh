# Sourced by lab.sh: what a session that waits on a standby gains from
# pg_wait_for_lsn(), next to polling.  Replication of a commit takes as long as
# the standby's disk takes to flush it, so this is measured on one that writes
# as often as a cloud disk may, and on one without limit.

waits_iops=2000			# writes per second

waits_bench()
{
	as_user test/lab/wait_bench \
		--primary "host=$sockets port=$lab_port dbname=postgres" \
		--standby "host=$sockets port=$outage_port dbname=postgres" "$@" |
		sed -e '/^PostgreSQL/d' -e 's/^###/####/'
}

# All figures with one limit.
waits_measure()
{
	printf '\n### Waiting: %s\n' "$1"
	waits_bench --seconds 10 --rounds 20
	waits_bench --trials 0 --workers 0 --connections 200
}

run_waits()
{
	local data=$disk/data
	say "waits: a primary, and a standby that flushes to the throttled disk"
	as_user make -s lab PG_CONFIG="$PG_CONFIG"
	rm -rf "$data" "$data.log"
	primary_start "$work/primary" <<-CONF
		fsync = on
		max_connections = 300
	CONF
	sql -c 'CREATE EXTENSION pg_prefetch_guard'
	base_backup "$data" -X stream -R
	{
		way_conf guarded
		echo "port = $outage_port"
	} >>"$data/postgresql.conf"
	throttle_exec server_start "$data"
	throttle_limit "$waits_iops" write
	waits_measure "$waits_iops writes per second" | tee "$lab_out/waits.out"
	throttle_limit none write
	waits_measure "no limit" | tee -a "$lab_out/waits.out"
	server_stop "$data" immediate
	server_stop "$work/primary" immediate
	rm -rf "$work/primary" "$work/primary.log"
}
