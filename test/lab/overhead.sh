#!/usr/bin/env bash
# What the library costs replay when there is nothing to filter.
#
# usage: test/lab/overhead.sh
#
# Crash recovery of one and the same data directory runs under valgrind's
# callgrind, with the library and without.  It counts the instructions of
# PerformWalRecovery() in the startup process.  That is done for a short and
# for a long stretch of WAL: the updates of pgbench's transactions, on tables
# that stay in shared buffers, after one update to every page, whose image
# brings it there.  (Its inserts would extend a table; the first insert into a
# block that crash recovery finds on disk is asked for, and filtered.)  The
# difference between the two is replay of cached blocks alone, for which
# nothing is asked, and fixed costs cancel out.  Instructions, unlike times, are
# nearly the same in each run and on each machine.
#
# PPG_WORK and PG_MAJOR as for ./run.
set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. test/env.sh

transactions=(1000 10000)		# short, long

start_work
find_server
install_packages "postgresql-$PG_MAJOR" "postgresql-server-dev-$PG_MAJOR" gcc make valgrind
build

bin=$(dirname "$PG_CONFIG")
lab=$work/tmp/overhead
rm -rf "$lab"
as_user mkdir -p "$lab/socket"

# Run a program of the server; its output is only of interest if it fails.
quietly()
{
	as_user "$@" >"$lab/output" 2>&1 || { cat "$lab/output" >&2; die "$1 failed"; }
}

start()		# data directory, more options
{
	quietly "$bin/pg_ctl" -D "$1" -w -l "$1.log" start \
		-o "-c listen_addresses='' -c unix_socket_directories='$lab/socket'"
}

# Make a data directory that has to be recovered, in $lab/short and $lab/long.
make_crashed()	# name, transactions
{
	quietly cp -a "$lab/base" "$lab/$1"
	start "$lab/$1"
	quietly "$bin/psql" -h "$lab/socket" -d postgres -c CHECKPOINT -c "
		UPDATE pgbench_accounts SET abalance = 0
		WHERE ctid IN (SELECT min(ctid) FROM pgbench_accounts GROUP BY (ctid::text::point)[0])"
	quietly "$bin/pgbench" -h "$lab/socket" -n -t "$2" --random-seed=1 -f "$lab/updates.sql" postgres
	quietly "$bin/pg_ctl" -D "$lab/$1" -m immediate stop
}

# Number of records to be recovered.
count_records()	# name
{
	local redo
	redo=$(as_user "$bin/pg_controldata" "$lab/$1" | sed -n 's/.*REDO location: *//p')
	# pg_waldump ends with an error where WAL ends
	as_user "$bin/pg_waldump" -p "$lab/$1/pg_wal" -s "$redo" 2>/dev/null | wc -l || true
}

# Instructions that recovering took.
count_instructions()	# name, shared_preload_libraries
{
	local data=$lab/$1.$2 pid tries=600
	quietly cp -a "$lab/$1" "$data"
	as_user valgrind --tool=callgrind --callgrind-out-file="$data.callgrind.%p" \
		--collect-atstart=no --toggle-collect=PerformWalRecovery \
		"$bin/postgres" -D "$data" -c shared_preload_libraries="$2" -c logging_collector=off \
		-c listen_addresses= -c unix_socket_directories="$lab/socket" >"$data.log" 2>&1 &
	pid=$!
	until grep -qs 'ready to accept connections' "$data.log"; do
		[ $((tries--)) -gt 0 ] && kill -0 $pid || { cat "$data.log" >&2; die "the server did not recover"; }
		sleep 0.5
	done
	kill -INT "$(head -n 1 "$data/postmaster.pid")"
	wait $pid || true
	# processes other than the startup process have a total of 0
	cat "$data".callgrind.* | sed -n 's/^\(totals\|summary\): //p' | sort -n | tail -n 1
}

say "preparing"
quietly "$bin/initdb" -D "$lab/base" -A trust --no-sync
as_user tee -a "$lab/base/postgresql.conf" >/dev/null <<-CONF
	autovacuum = off
	checkpoint_timeout = 1h
	max_wal_size = 10GB
	shared_buffers = 128MB
CONF
as_user tee "$lab/updates.sql" >/dev/null <<-'SQL'
	\set aid random(1, 100000)
	\set bid 1
	\set tid random(1, 10)
	\set delta random(-5000, 5000)
	BEGIN;
	UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
	UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
	UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
	END;
SQL
start "$lab/base"
quietly "$bin/pgbench" -h "$lab/socket" -i -q -F 80 postgres
quietly "$bin/pg_ctl" -D "$lab/base" -m fast stop
make_crashed short "${transactions[0]}"
make_crashed long "${transactions[1]}"

records=$(($(count_records long) - $(count_records short)))
say "recovering, for $records records of difference"
declare -A per_record
for library in "" pg_prefetch_guard; do
	short=$(count_instructions short "$library")
	long=$(count_instructions long "$library")
	per_record[$library.]=$(awk "BEGIN { print ($long - $short) / $records }")
	printf '%-18s %8.1f instructions per record\n' "${library:-no library}" "${per_record[$library.]}"
done
awk "BEGIN { printf \"%-18s %8.1f instructions per record, %.2f %%\n\", \"difference\",
	${per_record[pg_prefetch_guard.]} - ${per_record[.]},
	(${per_record[pg_prefetch_guard.]} / ${per_record[.]} - 1) * 100 }"
