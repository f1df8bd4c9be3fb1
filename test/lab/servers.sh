# Sourced by demo.sh and lab.sh: private servers, and a replay that is measured.
#
# A case to replay is a folder: base, a data directory as it was before (a base
# backup, or what a crash left), and wal, the segments to apply to it.  The last
# of them holds a restore point "end"; replay pauses there, except in crash
# recovery, which ends by itself.

bindir=
sockets=
lab_port=54329
declare -A lab_also=()

# What all these servers have in common.  Waiting for the disk to write would
# only add noise: only reads are measured here.
server_conf()
{
	cat <<-CONF
	listen_addresses = ''
	unix_socket_directories = '$sockets'
	port = $lab_port
	fsync = off
	autovacuum = off
	checkpoint_timeout = 1h
	max_wal_size = 100GB
	wal_recycle = off
	wal_keep_size = 100GB
	logging_collector = off
	log_line_prefix = '%m [%p] '
	log_timezone = 'UTC'
	CONF
}

servers_init()
{
	bindir=$(dirname "$PG_CONFIG")
	sockets=$work/tmp
}

# psql with the options every use here wants.
sql()
{
	as_user "$bindir/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h "$sockets" -p "${PGPORT:-$lab_port}" postgres "$@"
}

bench()
{
	as_user "$bindir/pgbench" -h "$sockets" -p "$lab_port" "$@" postgres
}

server_start()
{
	as_user "$bindir/pg_ctl" -s -w -t 60 -D "$1" -l "$1.log" start >/dev/null ||
		{ tail -n 20 "$1.log" >&2; die "a server did not start"; }
}

server_stop()
{
	as_user "$bindir/pg_ctl" -s -w -D "$1" -m "${2:-fast}" stop >/dev/null
}

# Start a new primary in a folder; more of its configuration comes on stdin.
primary_start()
{
	as_user "$bindir/initdb" -D "$1" -A trust -N --no-instructions >"$work/initdb.log" 2>&1 ||
		{ cat "$work/initdb.log" >&2; die "initdb failed"; }
	{ server_conf; cat; } >>"$1/postgresql.conf"
	server_start "$1"
}

# Back the running primary up into a folder.  Usage: base_backup DIR OPTION...
base_backup()
{
	local dir=$1
	shift
	as_user "$bindir/pg_basebackup" -h "$sockets" -p "$lab_port" -D "$dir" -c fast --no-sync "$@" 2>"$work/basebackup.log" ||
		{ cat "$work/basebackup.log" >&2; die "the base backup failed"; }
}

# Begin a case: a base backup of the running primary.
case_begin()
{
	as_user mkdir -p "$1/wal"
	base_backup "$1/base" -X none
}

# End a case: take the primary's WAL, and the primary away.
case_end()
{
	local dir=$1 primary=$2
	sql -c "SELECT pg_create_restore_point('end'), pg_switch_wal()" >/dev/null
	server_stop "$primary"
	mv "$primary"/pg_wal/0* "$dir/wal/"
	rm -rf "$primary" "$primary.log"
}

# When did the log say something?  Seconds, or nothing.
log_time()
{
	local line
	line=$(grep -m 1 -E "$2" "$1" | cut -d' ' -f1,2) || return 0
	date -u -d "$line" +%s.%3N
}

# Wait for a line in a log.
log_wait()
{
	local waited=0
	until grep -qE "$2" "$1"; do
		sleep 0.1
		waited=$((waited + 1))
		[ $waited -lt "${3:-6000}" ] || { tail -n 20 "$1" >&2; die "replay does not get on"; }
	done
}

# Set the library and recovery_prefetch for a way to replay: stock is the server
# as it comes, off is recovery_prefetch switched off, anything else has the
# library (or another build of it, see lab.sh).
way_conf()
{
	case $1 in
		stock) ;;
		off) echo "recovery_prefetch = off" ;;
		*) echo "shared_preload_libraries = 'pg_prefetch_guard'" ;;
	esac
}

# Install the library that a way needs: the one just built, or another build.
way_install()
{
	local library
	library=$("$PG_CONFIG" --pkglibdir)/pg_prefetch_guard.so
	[ ${#lab_also[@]} -gt 0 ] || return 0
	[ -e "$work/built.so" ] || cp "$library" "$work/built.so"
	install -m 755 "${lab_also[$1]:-$work/built.so}" "$library"
}

# Interpolate the samples at a time: reads and sectors so far.
samples_at()
{
	awk -v t="$2" '
		$1 >= t { if (NR > 1) f = (t - pt) / ($1 - pt);
			printf "%d %d\n", f ? pr + f * ($2 - pr) : $2, f ? ps + f * ($3 - ps) : $3; found = 1; exit }
		{ pt = $1; pr = $2; ps = $3 }
		END { if (!found) printf "%d %d\n", pr, ps }' "$1"
}

# Replay a case one way and set r_* to what came out:
#	r_seconds	from the first record to the last
#	r_fadvise	calls made by the startup process
#	r_reads, r_sectors	of the disk in that time
#	r_user, r_system	CPU seconds of the startup process
#	r_counters	the guard's counters, as name=value lines (guarded only)
#	r_relations	the guard's worst relations (guarded only)
# Usage: replay WAY CASE IOPS CACHE; IOPS is a number or none, CACHE is cold or
# cached.
replay()
{
	local way=$1 dir=$2 iops=$3 cache=$4 data=$disk/data crash= pid ticks
	[ -e "$dir/base/backup_label" ] || crash=yes

	rm -rf "$data" "$data.log" "$work/wal"
	as_user cp -a "$dir/base" "$data"
	# WAL comes from the page cache, as it does when it was just received; the
	# last segment is written to in the end
	rm -rf "$data/pg_wal"
	as_user mkdir -p "$work/wal/archive_status"
	as_user cp -l "$dir"/wal/* "$work/wal/"
	pid=$(as_user ls "$work/wal" | grep '^0' | tail -n 1)
	as_user cp --remove-destination "$dir/wal/$pid" "$work/wal/$pid"
	as_user ln -s "$work/wal" "$data/pg_wal"
	{
		server_conf
		way_conf "$way"
		echo "shared_buffers = ${lab_buffers:-16MB}"
		[ -n "$crash" ] || echo "recovery_target_name = 'end'"
		[ ! -e "$dir/conf" ] || cat "$dir/conf"
	} >>"$data/postgresql.conf"
	[ -n "$crash" ] || as_user touch "$data/standby.signal"
	if [ "$cache" = cold ]; then throttle_cold; fi
	cat "$work"/wal/0* >/dev/null

	way_install "$way"
	throttle_limit "$iops"
	throttle_sample "$work/samples" 10
	throttle_exec server_start "$data"
	log_wait "$data.log" 'recovery stopping at restore point|database system is ready to accept connections'
	sleep 0.1
	throttle_sample_end

	replay_times "$data.log" "$crash"
	if [ -z "$crash" ]; then
		pid=$(head -n 1 "$data/postmaster.pid")
		pid=$(pgrep -P "$pid" -f startup)
		ticks=$(getconf CLK_TCK)
		read -r r_user r_system < <(awk -v t="$ticks" '{ print $14 / t, $15 / t }' "/proc/$pid/stat")
	fi
	r_fadvise=$(sql -c "SELECT prefetch FROM pg_stat_recovery_prefetch")
	r_counters=
	r_relations=
	if [ "$way" != stock ] && [ "$way" != off ]; then
		r_counters=$(sql -F= <<-'SQL'
			SELECT key, value FROM pg_stat_prefetch_guard s, json_each_text(row_to_json(s))
		SQL
		)
		r_fadvise=$(echo "$r_counters" | sed -n 's/^issued=//p')
		r_relations=$(sql -F$'\t' <<-'SQL'
			SELECT coalesce(relation::text, relfilenode::text), requests, issued,
				covered_by_image, covered_by_init, repeated, sequential
			FROM pg_stat_prefetch_guard_relations WHERE requests > 0 LIMIT 5
		SQL
		)
	fi
	# reads that were asked for in vain may still be waiting
	throttle_limit none
	server_stop "$data" immediate
}

# The part of replay() that reads the log and the samples.
replay_times()
{
	local log=$1 crash=$2 t0 t1 line
	t0=$(log_time "$log" 'redo starts at')
	if [ -n "$crash" ]; then
		line=$(grep -m 1 'redo done at' "$log")
		r_user=$(sed -E 's/.*user: ([0-9.]+) s.*/\1/' <<<"$line")
		r_system=$(sed -E 's/.*system: ([0-9.]+) s.*/\1/' <<<"$line")
		t1=$(log_time "$log" 'redo done at')
	else
		t1=$(log_time "$log" 'recovery stopping at')
	fi
	r_seconds=$(awk -v a="$t0" -v b="$t1" 'BEGIN { printf "%.3f", b - a }')
	r_reads= r_sectors=
	if [ -n "$throttle" ]; then
		read -r r_reads r_sectors < <(
			{ samples_at "$work/samples" "$t0"; samples_at "$work/samples" "$t1"; } |
			awk 'NR == 1 { r = $1; s = $2 } NR == 2 { print $1 - r, $2 - s }')
	fi
}
