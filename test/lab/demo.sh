# Sourced by ./run: replays one burst of changes on a stock and on a guarded
# standby and shows the difference.
lab_dir=$(dirname "${BASH_SOURCE[0]}")
. "$lab_dir/throttle.sh"
. "$lab_dir/servers.sh"

demo_iops=500
demo_scale=10

# A value of r_counters.
counter()
{
	sed -n "s/^$1=//p" <<<"$r_counters"
}

demo_replay()
{
	say "replaying on a $1 standby"
	replay "$1" "$work/burst" $demo_iops cold
	echo "   $r_seconds s, $r_fadvise fadvise calls"
}

demo_row()
{
	printf '%-34s %12s %12s\n' "$@"
}

run_demo()
{
	local stock_seconds stock_fadvise stock_reads
	servers_init
	throttle_start 4 "$work"

	say "a primary, $demo_scale times pgbench's tables, and a base backup of it"
	primary_start "$work/primary" </dev/null
	sql -c 'CREATE EXTENSION pg_prefetch_guard'
	bench -i -q -s $demo_scale -I dtgp >/dev/null 2>&1
	case_begin "$work/burst"

	say "the burst: a checkpoint, then UPDATE of every 20th row"
	sql -c CHECKPOINT -c 'UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid % 20 = 0'
	case_end "$work/burst" "$work/primary"
	echo "   $(du -sm "$work/burst/wal" | cut -f1) MB of WAL"

	demo_replay stock
	stock_seconds=$r_seconds stock_fadvise=$r_fadvise stock_reads=$r_reads
	demo_replay guarded

	echo
	if [ -n "$throttle" ]; then
		echo "Replay of the same WAL from the same base backup, cold cache, $demo_iops reads per second:"
	else
		echo "Replay of the same WAL from the same base backup, cold cache, no limit on reads:"
	fi
	echo
	demo_row "" stock guarded
	demo_row "replay time, s" "$stock_seconds" "$r_seconds"
	demo_row "fadvise calls recovery asked for" "$stock_fadvise" "$(counter requests)"
	demo_row "fadvise calls made" "$stock_fadvise" "$(counter issued)"
	demo_row "  dropped: an image comes first" - "$(counter covered_by_image)"
	demo_row "  dropped: initialised first" - "$(counter covered_by_init)"
	demo_row "  dropped: asked for before" - "$(counter repeated)"
	demo_row "  dropped: in a stretch asked for" - "$(counter sequential)"
	demo_row "disk reads" "${stock_reads:--}" "${r_reads:--}"
	demo_row "WAL records replayed" - "$(counter records)"
	demo_row "  while look-ahead paused" - "$(counter paused_records)"
	echo
	echo "The relations most asked for (pg_stat_prefetch_guard_relations):"
	echo
	printf 'relation\trequests\tissued\timage\tinit\trepeated\tsequential\n%s\n' "$r_relations" |
		column -t -s $'\t' -R 2,3,4,5,6,7
}
