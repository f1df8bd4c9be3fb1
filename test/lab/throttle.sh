# Sourced by demo.sh and lab.sh: a disk of few IOPS.
#
# A file on a loop device holds an ext4 file system, mounted at $disk, for a
# standby's data directory.  A server started with throttle_exec runs in a
# control group of its own, whose reads from that device can be limited.  The
# loop device bypasses the page cache for its file, so that each read is one of
# the machine's disk.
#
# Without root, or where the kernel lends no loop device or no block I/O control
# group (as in many containers), $disk is an ordinary folder, there is no limit
# and no count of reads: $throttle is empty and $throttle_reason says why.

disk=
throttle=
throttle_reason=
throttle_image=
throttle_loop=
throttle_group=
throttle_file=
throttle_sampler=
throttle_memory_group=
throttle_cpu_group=

# Make $disk, of at most $1 GB (the file is sparse); the file is in folder $2.
throttle_start()
{
	disk=$work/disk
	throttle_image=$2/pg_prefetch_guard.$$.img
	mkdir -p "$disk"
	if throttle_mount "$1" && throttle_make_group; then
		throttle=yes
		throttle_queue
		throttle_priority
	else
		say "no throttled disk: $throttle_reason"
		throttle_stop
		mkdir -p "$disk"
	fi
	throttle_own
}

# Loop devices come with a readahead of their own; have what ordinary disks have.
# What the limit holds back must not be merged while it waits, or the disk would
# count fewer reads than were made.
throttle_queue()
{
	local queue=/sys/block/${throttle_loop#/dev/}/queue
	echo 128 >"$queue/read_ahead_kb"
	echo 2 >"$queue/nomerges"
}

throttle_own()
{
	[ "$(id -u)" != 0 ] || chown postgres: "$disk"
}

throttle_mount()
{
	if [ "$(id -u)" != 0 ]; then
		throttle_reason="this needs root, for a loop device and a control group"
		return 1
	fi
	if ! truncate -s "$1G" "$throttle_image" ||
		! throttle_loop=$(losetup --find --show --direct-io=on "$throttle_image" 2>&1); then
		throttle_reason="no loop device (${throttle_loop:-no space})"
		throttle_loop=
		return 1
	fi
	if ! mkfs.ext4 -q -m 0 -E lazy_itable_init=0,nodiscard "$throttle_loop" >"$work/mkfs.log" 2>&1 ||
		! mount -o noatime "$throttle_loop" "$disk" 2>>"$work/mkfs.log"; then
		throttle_reason="no ext4 on a loop device ($(tail -n 1 "$work/mkfs.log"))"
		return 1
	fi
}

# The control group: version 1's blkio or version 2's io, whichever there is.
throttle_make_group()
{
	local root
	root=$(throttle_v1 blkio)
	if [ -n "$root" ]; then
		throttle_file=blkio
	else
		root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		throttle_file=io.max
		[ -n "$root" ] && grep -qw io "$root/cgroup.controllers" &&
			echo +io 2>/dev/null >"$root/cgroup.subtree_control" || root=
	fi
	throttle_group=$root/pg_prefetch_guard.$$
	if [ -z "$root" ] || ! mkdir "$throttle_group" 2>/dev/null; then
		throttle_group=
		throttle_reason="no control group for block I/O"
		return 1
	fi
	if ! throttle_limit 500 2>/dev/null || ! throttle_limit none; then
		throttle_reason="the block I/O control group takes no limit"
		return 1
	fi
}

# Let servers started with throttle_exec read (or write: $2) that often per
# second, or "none".
throttle_limit()
{
	[ -n "$throttle_group" ] || return 0
	local device value=$1 what=${2:-read} file=$throttle_file
	device=$(lsblk -dno MAJ:MIN "$throttle_loop" | tr -d ' ')
	case $file in
		io.max) value=${what:0:1}iops=${value/none/max} ;;
		*) file=blkio.throttle.${what}_iops_device value=${value/none/0} ;;
	esac
	echo "$device $value" >"$throttle_group/$file"
}

# Where version 1's controller of that name has its groups, or nothing.
throttle_v1()
{
	awk -v c="$1" '$3 == "cgroup" && $4 ~ "(^|,)" c "(,|$)" { print $2; exit }' /proc/mounts
}

# Let servers started with throttle_exec go before whatever else needs the CPU,
# which would only add noise.  Where that can't be had there is more noise.
throttle_priority()
{
	local root
	root=$(throttle_v1 cpu)
	if [ -n "$root" ]; then
		throttle_cpu_group=$root/pg_prefetch_guard.$$
		mkdir "$throttle_cpu_group" && echo 262144 >"$throttle_cpu_group/cpu.shares"
	else
		echo +cpu >"${throttle_group%/*}/cgroup.subtree_control" &&
			echo 10000 >"$throttle_group/cpu.weight"
	fi 2>/dev/null || throttle_cpu_group=
}

# Let servers started with throttle_exec use that many MB, page cache included,
# or "none".  Else the machine's memory would keep what was read or written once.
throttle_memory()
{
	local value=$1 root
	[ "$value" = none ] || value=$((value * 1024 * 1024))
	root=$(throttle_v1 memory)
	if [ -n "$root" ]; then
		throttle_memory_group=$root/pg_prefetch_guard.$$
		mkdir -p "$throttle_memory_group"
		echo "${value/none/-1}" >"$throttle_memory_group/memory.limit_in_bytes"
	else
		echo +memory >"${throttle_group%/*}/cgroup.subtree_control" &&
			echo "${value/none/max}" >"$throttle_group/memory.max"
	fi
}

# Run a command, and what it starts, under the limits.
throttle_exec()
(
	for group in $throttle_group $throttle_memory_group $throttle_cpu_group; do
		echo "$BASHPID" >"$group/cgroup.procs"
	done
	"$@"
)

# Drop the larger files of $disk from the page cache, so that they are read from
# the disk; small ones, catalogs and the like, are not what is measured.
throttle_cold()
{
	sync -f "$disk"
	find "$disk" -type f -size +1023k -exec sh -c \
		'for f; do dd if="$f" iflag=nocache count=0 status=none; done' sh {} +
}

# Write the time and the reads and sectors so far to a file, every so many ms.
throttle_sample()
{
	[ -n "$throttle" ] || return 0
	perl "$lab_dir/sample.pl" "${throttle_loop#/dev/}" "$2" >"$1" &
	throttle_sampler=$!
}

throttle_sample_end()
{
	[ -n "$throttle_sampler" ] || return 0
	kill "$throttle_sampler"
	wait "$throttle_sampler" 2>/dev/null || true
	throttle_sampler=
}

# Undo it all.  Servers below $disk have been stopped.
throttle_stop()
{
	local i group
	[ -n "$disk" ] || return 0
	throttle_sample_end
	for group in $throttle_group $throttle_memory_group $throttle_cpu_group; do
		# processes that were killed may take a moment to go
		for i in 1 2 3 4 5 6 7 8 9 10; do
			rmdir "$group" 2>/dev/null && break
			sleep 0.2
		done
	done
	throttle_group=
	throttle_memory_group=
	throttle_cpu_group=
	if [ -n "$throttle_loop" ]; then
		for i in 1 2 3 4 5 6 7 8 9 10; do
			! mountpoint -q "$disk" || umount "$disk" 2>/dev/null || { sleep 0.2; continue; }
			break
		done
		losetup -d "$throttle_loop" 2>/dev/null || true
		throttle_loop=
	fi
	throttle=
	rm -rf "$throttle_image" "$disk"
}
