#!/usr/bin/env bash
# Tests the extension on every server: ./run test --all-servers [--cache DIR]
#
# The machine's own server is tested where it is.  For each of the others there
# is a minimal Debian below DIR, made with debootstrap and kept: ./run test runs
# in it by chroot, in mount, process and IPC namespaces of its own, so that
# whatever happens nothing stays mounted or running.  It sees this source tree
# read-only on /mnt and installs there what it needs, as on any machine.
#
# As many servers as there are processors are tested at a time.  A server that
# can't be had is skipped, except for the first one of the table.
set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. test/env.sh

# Server and Debian suite.
readonly SERVERS=(15:bookworm 17:trixie 18:sid 19:experimental)

# For one server, its folder's making included.
readonly TIME_LIMIT=40m

# Run a command in namespaces that end with it.
in_namespaces()
{
	unshare --mount --ipc --pid --fork --kill-child --mount-proc "$@"
}

# The mirror that the machine's own apt takes Debian from.
find_mirror()
{
	local query=(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian')
	[ -n "$("${query[@]}")" ] || prepare_apt "apt's package lists are missing"
	"${query[@]}" | head -n 1
}

# Make the folder that a server is tested in, if it is not there.
make_folder()
{
	local major=$1 suite=$2 mirror=$3 root=$work/$1
	local base=${suite/experimental/sid}
	[ ! -d "$root" ] || return 0
	say "making $root: Debian $suite"
	rm -rf "$root.new"
	in_namespaces debootstrap --variant=minbase "$base" "$root.new" "$mirror" >"$root.debootstrap" ||
		{ tail -n 20 "$root.debootstrap" >&2; unavailable "debootstrap failed for $base"; }
	if [ "$suite" != "$base" ]; then
		echo "deb $mirror $suite main" >>"$root.new/etc/apt/sources.list"
		printf '%s\n' "Package: src:postgresql-$major" "Pin: release a=$suite" 'Pin-Priority: 600' \
			>"$root.new/etc/apt/preferences.d/postgresql"
	fi
	# the indexes of a mirror may be of any age; the folder holds nothing to lose
	{
		apt-config dump | grep -i '^Acquire::[a-z]*::Proxy' || true
		echo 'Acquire::Check-Valid-Until "false";'
		echo 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };'
	} >"$root.new/etc/apt/apt.conf.d/90test"
	printf '%s\n' force-unsafe-io path-exclude=/usr/share/{doc,man,locale}/'*' \
		>"$root.new/etc/dpkg/dpkg.cfg.d/90test"
	mv "$root.new" "$root"
}

# Run ./run test in a server's folder.
test_in_folder()
{
	local major=$1 root=$work/$1
	find "$root/tmp" -mindepth 1 -delete
	exec unshare --mount --ipc --pid --fork --kill-child bash -e -c '
		mount --bind "$1" "$1"		# a mount point, so that it can be cloned
		mount -t proc proc "$1/proc"
		mount --rbind /dev "$1/dev"
		mount -t tmpfs tmpfs "$1/dev/shm"
		mount --bind . "$1/mnt"
		mount -o remount,bind,ro "$1/mnt"
		exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
			PG_MAJOR="$2" ${http_proxy:+"http_proxy=$http_proxy"} bash /mnt/run test
		' _ "$root" "$major"
}

# Start testing a server, with its output in a log that we follow.
start_server()
{
	local major=$1 suite=$2 log=$work/$1.log
	local command=(bash test/servers.sh --folder "$work" "$major" "$suite" "$mirror")
	[ "$major" != "$own" ] || command=(env "PG_MAJOR=$major" ./run test)
	timeout -k 60 $TIME_LIMIT "${command[@]}" >"$log" 2>&1 </dev/null &
	pid[$major]=$!
	started[$major]=$(date +%s)
	tail -n +1 -f --pid=$! "$log" | sed -u "s/^/[$major] /" &
}

# How many servers are being tested?
running()
{
	local p n=0
	for p in "${pid[@]}"; do
		! kill -0 "$p" 2>/dev/null || n=$((n + 1))
	done
	echo $n
}

stop_all()
{
	local p
	trap '' INT TERM HUP
	for p in "${pid[@]}"; do
		kill "$p" 2>/dev/null || true
	done
	for ((i = 0; i < 20 && $(running) > 0; i++)); do
		sleep 1
	done
	for p in "${pid[@]}"; do
		kill -KILL -- "-$p" 2>/dev/null || true
	done
	exit 130
}

# Say what became of a server, and add it up.
report()
{
	local major=$1 status=$2 log=$work/$1.log version counts seconds
	seconds=$(($(stat -c %Y "$log") - started[$major]))
	version=$(sed -n 's/^== postgres (PostgreSQL) \(.*\): building.*/\1/p' "$log" | head -n 1)
	counts=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' || true)
	if [ "$status" = $EXIT_UNAVAILABLE ] && [ "$major" != "${SERVERS[0]%:*}" ]; then
		counts="0 passed, 0 failed, 1 skipped"
		version="skipped: $(tail -n 1 "$log")"
	elif [ "$status" = 124 ]; then
		counts="0 passed, 1 failed"
		version="$version, not done after $TIME_LIMIT"
	elif [ -z "$counts" ] || { [ "$status" != 0 ] && [[ $counts == *" 0 failed"* ]]; }; then
		counts="0 passed, 1 failed"
		version="$version, died with exit status $status"
	fi
	read -r ok _ bad _ skip _ <<<"$counts"
	passed=$((passed + ok))
	failed=$((failed + bad))
	skipped=$((skipped + ${skip:-0}))
	printf '   PostgreSQL %s  %-38s %4d s  %s\n' "$major" "$counts" $seconds "$version"
}

test_all()
{
	local s major ok bad skip passed=0 failed=0 skipped=0
	local -a pid=() started=() status=() servers=("${SERVERS[@]}")
	own=$PG_MAJOR
	[[ " ${servers[*]} " == *" $own:"* ]] || servers+=("$own:here")
	trap stop_all INT TERM HUP
	for s in "${servers[@]}"; do
		while [ "$(running)" -ge "$(nproc)" ]; do
			sleep 1
		done
		start_server "${s%:*}" "${s#*:}"
	done
	for major in "${!pid[@]}"; do
		wait "${pid[$major]}" || status[$major]=$?
	done
	wait						# for what follows the logs
	say "all servers, $((SECONDS / 60)) min $((SECONDS % 60)) s"
	for major in "${!pid[@]}"; do
		report "$major" "${status[$major]:-0}"
	done
	echo "$passed passed, $failed failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
	[ $failed = 0 ]
}

if [ "${1:-}" = --folder ]; then
	work=$2
	make_folder "$3" "$4" "$5"
	test_in_folder "$3"
fi

work=/var/cache/pg_prefetch_guard
while [ $# -gt 0 ]; do
	case $1 in
		--all-servers) shift ;;
		--cache) work=${2:?--cache needs the name of a folder}; shift 2 ;;
		*) die "unknown option $1" ;;
	esac
done
[ "$(id -u)" = 0 ] || die "testing on all servers needs root, for debootstrap and chroot"
in_namespaces true || die "testing on all servers needs to be allowed to make mount, process and IPC namespaces"
mkdir -p "$work"
work=$(cd "$work" && pwd)
exec 9>"$work/lock"
flock -n 9 || { say "waiting for another run that uses $work"; flock 9; }
find_server
install_packages debootstrap debian-archive-keyring
mirror=$(find_mirror)
[ -n "$mirror" ] || die "apt's configuration names no Debian mirror"
test_all
