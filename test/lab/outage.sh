# Sourced by lab.sh: the published reproduction of an outage, scaled down.  A
# primary waits for its only standby, which reads from the throttled disk, with
# each commit.  A burst of changes comes, and then the walreceiver is killed:
# until the standby has replayed what it has, it does not connect again.
#
# The burst is an UPDATE of every 20th row after a checkpoint, some scattered
# changes of the same pages, which come without images, and the UPDATE again.
# The standby has less memory than the table, so that it has to read those pages.

outage_port=54330
outage_before=5			# seconds from the first commit to the burst
outage_after=8			# seconds to watch once the standby has caught up
outage_patience=180		# seconds after the kill to wait for that

# Ask the standby.
standby_sql()
{
	PGPORT=$outage_port sql "$@"
}

# The standby's configuration for a way.
outage_conf()
{
	way_conf "$1"
	# the guard leaves too little to replay for this to be seen next to it
	[ "$1" != early ] || printf 'pg_prefetch_guard.%s\n' "mode = off" "early_walreceiver = on"
	cat <<-CONF
	port = $outage_port
	shared_buffers = 16MB
	primary_conninfo = 'host=$sockets port=$lab_port application_name=standby'
	CONF
}

# Write the time, commits so far, the standby's replay lag in bytes, again and
# again; the standby may be unreachable for a moment.
outage_watch()
{
	local written replayed
	while [ -d "$data" ] && sleep 0.4; do
		written=$(sql -c "SELECT pg_current_wal_insert_lsn() - '0/0'")
		replayed=$(standby_sql -c "SELECT pg_last_wal_replay_lsn() - '0/0'" 2>/dev/null) || continue
		echo "$(date +%s.%3N) $((written - replayed))"
	done
}

# Wait for a query on the primary to say t, at most that many seconds.
outage_await()
{
	local i
	for i in $(seq $((5 * $1))); do
		[ "$(sql -c "$2")" = t ] && return
		sleep 0.2
	done
	return 1
}

outage_way()
{
	local way=$1 data=$disk/data outage_scattered killed receiver commits watcher target
	say "the outage: $way"
	rm -rf "$data" "$data.log" "$work"/tmp/commits.*
	# the same tables each time; there is no standby yet to wait for
	PGOPTIONS="-c synchronous_commit=local" bench -i -q -s "$(scaled 8)" -I dtgp >/dev/null 2>&1
	base_backup "$data" -X stream -R
	outage_conf "$way" >>"$data/postgresql.conf"
	sed -i '/^primary_conninfo/d' "$data/postgresql.auto.conf"
	outage_scattered="DO \$\$ DECLARE row int; BEGIN
		PERFORM setseed(0.3);
		FOR i IN 1..$(scaled 3000) LOOP
			row := 1 + random() * $(scaled 799998);
			UPDATE pgbench_accounts SET abalance = 0 WHERE aid = row;
		END LOOP; END \$\$"
	throttle_cold
	throttle_limit "$lab_iops"
	throttle_memory 48
	throttle_exec server_start "$data"
	outage_await 60 "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'" ||
		die "the standby does not connect"

	throttle_sample "$work/samples" 100
	outage_watch >"$work/lag" & watcher=$!
	bench -n -c 1 -R 5 -L 1000 -T 600 --log --log-prefix="$work/tmp/commits" >/dev/null 2>&1 & commits=$!
	sleep $outage_before
	sql -c CHECKPOINT -c "$every_20th" -c "$outage_scattered" -c "$every_20th"
	target=$(sql -c "SELECT pg_current_wal_insert_lsn()")
	receiver=$(standby_sql -c "SELECT pid FROM pg_stat_wal_receiver")
	killed=$(date +%s.%3N)
	kill "$receiver"
	outage_await $outage_patience "SELECT coalesce((SELECT replay_lsn >= '$target' FROM pg_stat_replication), false)" ||
		echo "   has not caught up after $outage_patience s"
	sleep $outage_after
	# pgbench writes down its last lines if it loses its connection, not if killed
	sql -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pgbench'" >/dev/null
	kill "$watcher"
	wait "$watcher" "$commits" 2>/dev/null || true
	throttle_sample_end
	throttle_limit none
	server_stop "$data" immediate
	throttle_memory none
	outage_result "$way" "$killed"
}

# Bring what was written down into one table: seconds since the kill, commits,
# lag and reads, a second at a time.
outage_result()
{
	local way=$1 killed=$2 first
	cat "$work"/tmp/commits.* | awk '$3 != "skipped" { printf "%d.%06d\n", $5, $6 }' | sort -n >"$work/commits"
	first=$(awk -v k="$killed" '$1 > k + 0.02 { printf "%.1f", $1 - k; exit }' "$work/commits")
	echo "   first commit ${first:-never} s after the kill"
	echo "$way,${first:-}" >>"$lab_out/outage_first.csv"
	awk -v k="$killed" -v way="$way" '
		FNR == 1 { file++ }
		{ second = int($1 - k + 10000) - 10000
		  if (!seen++ || second < low) low = second
		  if (second > high) high = second }
		file == 1 { commits[second]++ }
		file == 2 { lag[second] = $2 }
		file == 3 { if (!(second in first)) first[second] = $2; last[second] = $2 }
		END { for (s = low + 1; s < high; s++) {
			if (s in lag) l = lag[s]
			printf "%s,%d,%d,%d,%d\n", way, s, commits[s], l, first[s + 1] - first[s] } }' \
		"$work/commits" "$work/lag" "$work/samples" >>"$lab_out/outage.csv"
}

run_outage()
{
	local ways=(stock) way
	! grep -q pg_prefetch_guard.early_walreceiver "$("$PG_CONFIG" --pkglibdir)/pg_prefetch_guard.so" ||
		ways+=(early)
	ways+=(off guarded)
	say "the outage: a primary whose commits wait for the standby"
	primary_start "$work/primary" <<<"wal_sender_timeout = 0"
	sql -c 'CREATE EXTENSION pg_prefetch_guard'
	sql -c "ALTER SYSTEM SET synchronous_standby_names = '*'"
	echo "way,second,commits,lag_bytes,reads" >"$lab_out/outage.csv"
	echo "way,seconds" >"$lab_out/outage_first.csv"
	for way in "${ways[@]}"; do
		sql -c "SELECT pg_reload_conf()" >/dev/null
		outage_way "$way"
	done
	server_stop "$work/primary" immediate
	rm -rf "$work/primary" "$work/primary.log"
}
