# Sourced by lab.sh: what is replayed.  Each make_* function makes one case (see
# servers.sh) in folder $1, with $scale telling how large it is.  Random numbers
# have fixed seeds.

workloads=(burst sequential random mixed crash twice cached)

# Only on request: this one is about a choice of ours.
more_workloads=(strided)

declare -A title=(
	[burst]="1. FPI burst"
	[sequential]="2. sequential, no images"
	[random]="3. random, no images"
	[mixed]="4. mixed"
	[crash]="5. crash recovery"
	[twice]="6. updated twice"
	[cached]="7. random, all cached"
	[strided]="every third page, no images"
)

# A whole number: $1 times the scale.
scaled()
{
	awk -v n="$1" -v s="$scale" 'BEGIN { n = int(n * s + 0.5); print n < 1 ? 1 : n }'
}

# Start the primary of a case; its configuration comes on stdin.
workload_primary()
{
	primary_start "$work/primary"
	sql -c 'CREATE EXTENSION pg_prefetch_guard'
}

every_20th="UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid % 20 = 0"

# Every page's first change since the checkpoint carries its image.
make_burst()
{
	workload_primary </dev/null
	bench -i -q -s "$(scaled 4)" -I dtgp >/dev/null 2>&1
	case_begin "$1"
	sql -c CHECKPOINT -c "$every_20th"
	case_end "$1" "$work/primary"
}

# About every third page, without images.
make_strided()
{
	workload_primary <<<"full_page_writes = off"
	bench -i -q -s "$(scaled 4)" -I dtgp >/dev/null 2>&1
	case_begin "$1"
	sql -c "${every_20th/20/180}"
	case_end "$1" "$work/primary"
}

# The same as the first without images.
make_sequential()
{
	workload_primary <<<"full_page_writes = off"
	bench -i -q -s "$(scaled 4)" -I dtgp >/dev/null 2>&1
	case_begin "$1"
	sql -c "$every_20th"
	case_end "$1" "$work/primary"
}

# A table with a primary key and an index on a value that changes.
scattered_table()
{
	sql <<-SQL
		SELECT setseed(0.5) \g /dev/null
		CREATE TABLE scattered AS
			SELECT id, (random() * 1000000000)::int AS k, repeat('x', 90) AS pad
			FROM generate_series(1, $1) id;
		ALTER TABLE scattered ADD PRIMARY KEY (id);
		CREATE INDEX ON scattered (k);
		VACUUM (ANALYZE, FREEZE) scattered;
	SQL
}

# That many transactions, each changing one row somewhere in it.
scattered_updates()
{
	as_user tee "$work/tmp/scattered.sql" >/dev/null <<-SQL
		\set id random(1, $1)
		\set k random(1, 1000000000)
		UPDATE scattered SET k = :k WHERE id = :id
	SQL
	bench -n -f "$work/tmp/scattered.sql" --random-seed=7 -M prepared -c 1 -t "$2" >/dev/null 2>&1
}

# Scattered updates without images, as many as $2 at scale 1.
make_scattered()
{
	local rows
	rows=$(scaled 400000)
	workload_primary <<-CONF
		full_page_writes = off
		synchronous_commit = off
	CONF
	scattered_table "$rows"
	case_begin "$1"
	scattered_updates "$rows" "$(scaled "$2")"
	case_end "$1" "$work/primary"
}

make_random()
{
	make_scattered "$1" 1500
}

make_cached()
{
	make_scattered "$1" 40000
}

# Turn the primary's images on or off while it runs.
set_images()
{
	sql -c "ALTER SYSTEM SET full_page_writes = $1" -c "SELECT pg_reload_conf()" >/dev/null
	sleep 0.5
}

# Bursts, sequential and scattered changes of several tables at a time, next to
# inserts, VACUUM and pgbench's own transactions.
make_mixed()
{
	local rows round slice pids
	rows=$(scaled 200000)
	workload_primary <<<"synchronous_commit = off"
	bench -i -q -s "$(scaled 2)" -I dtgp >/dev/null 2>&1
	scattered_table "$rows"
	sql <<-SQL
		CREATE TABLE swept AS SELECT id, 0 AS n, repeat('x', 100) AS pad FROM generate_series(1, $rows) id;
		ALTER TABLE swept ADD PRIMARY KEY (id);
		CREATE INDEX ON swept (n);
		CREATE TABLE filled (id serial PRIMARY KEY, k int, pad text);
		CREATE INDEX ON filled (k);
	SQL
	case_begin "$1"
	for round in 1 2 3 4; do
		slice="id BETWEEN ($round - 1) * $rows / 4 AND $round * $rows / 4"
		pids=()
		set_images on
		sql -c CHECKPOINT
		sql -c "UPDATE pgbench_accounts SET filler = 'round $round'
			WHERE aid % 20 = 0 AND a$slice" & pids+=($!)
		sql -c "INSERT INTO filled (k, pad) SELECT random() * 1000000, repeat('x', 100) FROM generate_series(1, $(scaled 5000))" & pids+=($!)
		bench -n --random-seed=$round -c 1 -t "$(scaled 100)" >/dev/null 2>&1 & pids+=($!)
		wait "${pids[@]}"
		pids=()
		set_images off
		sql -c "UPDATE swept SET n = n + 1 WHERE id % 20 = 0 AND $slice" & pids+=($!)
		scattered_updates "$rows" "$(scaled 200)" & pids+=($!)
		sql -c "INSERT INTO filled (k, pad) SELECT random() * 1000000, repeat('x', 100) FROM generate_series(1, $(scaled 5000))" & pids+=($!)
		bench -n --random-seed=$round -c 1 -t "$(scaled 100)" >/dev/null 2>&1 & pids+=($!)
		wait "${pids[@]}"
		sql -c "VACUUM $( [ $((round % 2)) = 0 ] && echo swept || echo pgbench_accounts)"
	done
	case_end "$1" "$work/primary"
}

# Inserts alone, narrow rows and rows of a whole page, then a crash.  Most pages
# were written out before it, so that they exist on disk; WAL initialises them.
make_crash()
{
	local batch
	workload_primary <<-CONF
		shared_buffers = 16MB
	CONF
	sql <<-SQL
		CREATE TABLE events (id bigint, at timestamptz, kind int, pad text);
		CREATE TABLE documents (id bigint, body text);
		ALTER TABLE documents ALTER body SET STORAGE PLAIN;
		CHECKPOINT;
	SQL
	for batch in 1 2 3 4 5 6 7 8; do
		sql <<-SQL
			INSERT INTO events
				SELECT i, now(), i % 7, repeat('x', 80) FROM generate_series(1, $(scaled 150000)) i;
			INSERT INTO documents
				SELECT i, repeat('x', 7900) FROM generate_series(1, $(scaled 13500)) i;
		SQL
	done
	server_stop "$work/primary" immediate
	as_user mkdir -p "$1/wal"
	mv "$work/primary"/pg_wal/0* "$1/wal/"
	mv "$work/primary" "$1/base"
	rm -f "$1/base/postmaster.pid" "$work/primary.log"
}

# A table larger than the standby's memory changed twice in one checkpoint
# cycle: the second time its pages come without images, from disk.
make_twice()
{
	workload_primary </dev/null
	bench -i -q -s "$(scaled 3)" -I dtgp >/dev/null 2>&1
	case_begin "$1"
	sql -c CHECKPOINT -c "$every_20th" -c "$every_20th"
	case_end "$1" "$work/primary"
}
