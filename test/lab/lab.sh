# Sourced by ./run: replays several kinds of WAL on a disk of few reads, and
# tells what stock recovery prefetch, none, and the guarded one make of it.
lab_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$lab_dir/throttle.sh"
. "$lab_dir/servers.sh"
. "$lab_dir/workloads.sh"
. "$lab_dir/outage.sh"
. "$lab_dir/waits.sh"
. "$lab_dir/report.sh"

scale=1
lab_runs=3
lab_only=
lab_out=lab-results
lab_doc=
lab_iops=500
lab_image=
lab_ways=(stock off guarded)
lab_limits=()

lab_usage()
{
	cat <<-EOF
	usage: ./run lab [OPTION]...

	  --scale X        sizes, relative to the default (1)
	  --runs N         runs of each combination, of which the median is taken (3)
	  --only LIST      of: ${workloads[*]} outage ${more_workloads[*]} waits
	                   (comma-separated; all but the last two)
	  --limit LIST     of: $lab_iops none (reads per second; both)
	  --also NAME=LIB  measure another build of the library, too, as way NAME
	  --image DIR      where the disk's file is put (the work folder; on a RAM disk,
	                   "none" is a disk that answers at once)
	  --out DIR        where results go (lab-results)
	  --doc            put them into doc/performance.md as well
	EOF
}

lab_options()
{
	while [ $# -gt 0 ]; do
		case $1 in
			--scale) scale=$2; shift ;;
			--runs) lab_runs=$2; shift ;;
			--only) lab_only=$2; shift ;;
			--limit) IFS=, read -r -a lab_limits <<<"$2"; shift ;;
			--also) lab_also[${2%%=*}]=$(realpath "${2#*=}"); lab_ways+=("${2%%=*}"); shift ;;
			--image) lab_image=$2; shift ;;
			--out) lab_out=$2; shift ;;
			--doc) lab_doc=yes ;;
			--help) lab_usage; exit 0 ;;
			*) lab_usage >&2; exit 2 ;;
		esac
		shift
	done
	[ "$(id -u)" = 0 ] ||
		die "the lab needs root: for a loop device, to mount it, and for a control group that limits reads"
	[ ${#lab_limits[@]} -gt 0 ] || lab_limits=("$lab_iops" none)
}

lab_wants()
{
	[ -z "$lab_only" ] || [[ ,$lab_only, == *,$1,* ]]
}

# Workloads that are measured only if asked for.
lab_more()
{
	local workload
	for workload in "${more_workloads[@]}"; do
		[[ ,$lab_only, != *,$workload,* ]] || echo "$workload"
	done
}

# The words from the $1'th on, then those before.
rotate()
{
	local n=$1
	shift
	n=$(((n - 1) % $#))
	echo "${@:n + 1}" "${@:1:n}"
}

# Make one workload's case and replay it every way.
lab_workload()
{
	local workload=$1 run iops way cache=cold
	[ "$workload" != cached ] || cache=cached
	# less than the table, so that its pages come back from disk
	[ "$workload" != twice ] || throttle_memory 48
	say "${title[$workload]}: making the WAL"
	"make_$workload" "$work/case"
	echo "   $(du -sm "$work/case/base" | cut -f1) MB of data, $(du -sm "$work/case/wal" | cut -f1) MB of WAL"
	for run in $(seq "$lab_runs"); do
		for iops in "${lab_limits[@]}"; do
			# each way goes first in turn: what is around changes with time
			for way in $(rotate "$run" "${lab_ways[@]}"); do
				replay "$way" "$work/case" "$iops" "$cache"
				printf '   run %d, %s reads/s, %-8s %8.3f s %8d fadvise calls %8s reads\n' \
					"$run" "$iops" "$way" "$r_seconds" "$r_fadvise" "${r_reads:--}"
				echo "$workload,$way,$iops,$run,$r_seconds,$r_fadvise,$r_reads,$r_sectors,$r_user,$r_system,$(tr '\n' ' ' <<<"$r_counters")" >>"$lab_out/replay.csv"
			done
		done
	done
	throttle_memory none
	rm -rf "$work/case"
}

run_lab()
{
	local workload began
	began=$(date +%s)
	servers_init
	: "${lab_image:=$work}"
	throttle_start 8 "$lab_image"
	if [ -z "$throttle" ]; then
		say "the lab needs root, a loop device and a control group for block I/O (blkio in version 1, io in version 2): $throttle_reason"
		exit 1
	fi
	rm -rf "$work/case" "$work/primary" "$work/built.so"
	mkdir -p "$lab_out"
	lab_out=$(cd "$lab_out" && pwd)
	echo "workload,way,iops,run,seconds,fadvise,reads,sectors,user,system,counters" >"$lab_out/replay.csv"
	for workload in "${workloads[@]}" $(lab_more); do
		! lab_wants "$workload" || lab_workload "$workload"
	done
	! lab_wants outage || run_outage
	[[ ,$lab_only, != *,waits,* ]] || run_waits
	report
	say "done in $((($(date +%s) - began) / 60)) minutes; results are in $lab_out"
}
