# Sourced by ./run: packages, an unprivileged user, and a private server.
#
# Everything happens below one temporary folder, $work:
#	$work/server	a copy of the machine's PostgreSQL, found by its own
#					relative paths, that the extension is installed into
#	$work/source	a copy of this source tree, in which it is built
#	$work/tmp		whatever tests and demos make
# The folder is removed at the end.  Set PPG_WORK to a folder's name to keep it
# there and use it again.

# Exit status for "what the tests need can't be had".
readonly EXIT_UNAVAILABLE=77

# The machine's server: what PG_MAJOR names, else the newest of 15 to 19 that is
# installed, else the newest that could be.
find_server()
{
	local v
	[ -z "${PG_MAJOR:-}" ] || return 0
	for v in 19 18 17 16 15; do
		if [ -x "/usr/lib/postgresql/$v/bin/postgres" ]; then
			PG_MAJOR=$v
			return
		fi
	done
	prepare_apt "no PostgreSQL from 15 to 19 is installed"
	for v in 19 18 17 16 15; do
		if [[ $(apt-cache policy "postgresql-$v") == *"Candidate: $v"* ]]; then
			PG_MAJOR=$v
			return
		fi
	done
	unavailable "apt-get offers no PostgreSQL from 15 to 19"
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

# Get ready to install something, given why.
prepare_apt()
{
	command -v apt-get >/dev/null ||
		unavailable "$1; this installs Debian's packages only: elsewhere install the server, its headers, gcc and IPC::Run, then use make"
	as_root true 2>/dev/null ||
		unavailable "$1: run this as root, or as a user who may use sudo, or install it first"
	as_root apt-get update -qq >"$work/apt.log" 2>&1 || true
}

# Install what is missing of the packages that building and testing need.
install_packages()
{
	local wanted missing=()
	for wanted in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$wanted" 2>/dev/null)" = installed ] ||
			missing+=("$wanted")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	say "installing ${missing[*]}"
	prepare_apt "packages are missing (${missing[*]})"
	# a new server package would otherwise start a cluster of its own
	[ -e /etc/postgresql-common/createcluster.conf ] ||
		echo "create_main_cluster = false" |
		as_root install -D -m 644 /dev/stdin /etc/postgresql-common/createcluster.conf
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		-o Dpkg::Options::=--force-confold "${missing[@]}" >>"$work/apt.log" 2>&1 ||
		{ tail -n 20 "$work/apt.log" >&2; unavailable "could not install ${missing[*]}"; }
}

# Put a program on PATH that is not installed, since its package would start a
# service: unpack it below $work, and install only what it depends on.  Tests
# that want it are skipped where that fails.
borrow_program()
{
	local name=$1 deb
	PATH=$PATH:$work/$name/usr/sbin:/usr/sbin
	! command -v "$name" >/dev/null || return 0
	say "unpacking $name"
	(
		mkdir -p "$work/$name" && cd "$work/$name" && as_root true &&
			{ apt-get download "$name" || { as_root apt-get update -qq && apt-get download "$name"; }; } &&
			deb=$(echo "$name"_*.deb) &&
			as_root env DEBIAN_FRONTEND=noninteractive apt-get satisfy -y -qq \
				--no-install-recommends "$(dpkg-deb -f "$deb" Depends)" &&
			dpkg -x "$deb" .
	) >>"$work/apt.log" 2>&1 || echo "   $name can't be had"
}

# Run a command as the unprivileged user, in $work/source.
as_user()
{
	if [ "$(id -u)" = 0 ]; then
		(cd "$work/source" && exec setpriv --reuid=postgres --regid=postgres --init-groups \
			env HOME="$work/tmp" TMPDIR="$work/tmp" LOGNAME=postgres USER=postgres "$@")
	else
		(cd "$work/source" && exec env TMPDIR="$work/tmp" "$@")
	fi
}

# Copy this source tree, without what was built in it.
copy_source()
{
	mkdir -p "$1"
	(cd "$(dirname "${BASH_SOURCE[0]}")/.." && tar -cf - --exclude=.git --exclude='tmp_*' \
		--exclude='*.o' --exclude='*.so' --exclude='*.bc' .) |
		tar -xf - -C "$1" --no-same-owner
}

# Copy the machine's server, build the extension and install it there.
build()
{
	local server=$work/server
	PG_CONFIG=$server/usr/lib/postgresql/$PG_MAJOR/bin/pg_config

	say "$("/usr/lib/postgresql/$PG_MAJOR/bin/postgres" --version): building in $work"
	mkdir -p "$work/tmp"
	if [ ! -x "$PG_CONFIG" ]; then
		mkdir -p "$server"/usr/{lib,share}/postgresql
		cp -a "/usr/lib/postgresql/$PG_MAJOR" "$server/usr/lib/postgresql/"
		cp -a "/usr/share/postgresql/$PG_MAJOR" "$server/usr/share/postgresql/"
		ln -sfn /usr/include "$server/usr/include"
	fi
	copy_source "$work/source"
	if [ "$(id -u)" = 0 ]; then
		chown -R postgres: "$work/source" "$work/server" "$work/tmp"
		chown postgres: "$work"
	fi
	as_user make -s -j2 PG_CONFIG="$PG_CONFIG" install >"$work/build.log" 2>&1 ||
		{ cat "$work/build.log" >&2; die "the build failed"; }
	! grep -i warning "$work/build.log" >&2 || die "the build has warnings"
}

say()
{
	echo "== $*"
}

die()
{
	echo "run: $*" >&2
	exit 1
}

unavailable()
{
	echo "run: $*" >&2
	exit $EXIT_UNAVAILABLE
}

# Make $work; see that nothing is left of it, whatever happens.
start_work()
{
	if [ -n "${PPG_WORK:-}" ]; then
		mkdir -p "$PPG_WORK"
		work=$(cd "$PPG_WORK" && pwd)
	else
		work=$(mktemp -d "${TMPDIR:-/tmp}/pg_prefetch_guard.XXXXXX")
	fi
	trap end_work EXIT
	trap 'echo "run: interrupted" >&2; exit 130' INT TERM HUP
}

# Stop what still runs: a suite, every server started below $work.  Undo the
# throttled disk if there is one, then remove $work.
end_work()
{
	local status=$? pidfile pid
	trap - EXIT
	trap '' INT TERM HUP
	[ -z "${job:-}" ] || kill -TERM -- "-$job" 2>/dev/null || true
	# what waits for the throttled disk could not be stopped
	! declare -F throttle_limit >/dev/null || { throttle_limit none; throttle_limit none write; }
	find "$work" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		pid=$(head -n 1 "$pidfile")
		kill -QUIT "$pid" 2>/dev/null || continue
		timeout 10 tail -f --pid="$pid" /dev/null || true
	done
	! declare -F throttle_stop >/dev/null || throttle_stop
	[ -n "${PPG_WORK:-}" ] || rm -rf "$work"
	exit $status
}
