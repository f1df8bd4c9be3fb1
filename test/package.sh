#!/usr/bin/env bash
# Builds the Debian package, installs it with dpkg, and tests what was installed.
# Prints TAP.  Run by ./run, as root, with PG_MAJOR and work set.
#
# So that it is installed for real and yet leaves nothing behind, that is done
# in an overlay over the machine's files, which exists in a mount namespace of
# its own and keeps all changes in memory.
set -eu -o pipefail
. test/env.sh

package=postgresql-$PG_MAJOR-pg-prefetch-guard
tests=0

# Run a command as one test.
ok()
{
	local what=$1 not=
	shift
	"$@" >"$work/package-step.log" 2>&1 </dev/null || not='not '
	tests=$((tests + 1))
	echo "${not}ok $tests - $what"
	[ -z "$not" ] || sed 's/^/# /' "$work/package-step.log"
}

# Build for the servers whose -dev packages are installed.
build_package()
{
	rm -rf "$work/package"
	copy_source "$work/package/source"
	chown -R postgres: "$work/package"
	as_user env -C "$work/package/source" dpkg-buildpackage --build=binary --no-sign
}

# The files that a server needs, and no other outside of the documentation.
has_files()
{
	diff <(dpkg -L "$package" | while read -r f; do [ -d "$f" ] || echo "$f"; done | grep -v ^/usr/share/doc/) - <<-END
		/usr/lib/postgresql/$PG_MAJOR/lib/pg_prefetch_guard.so
		/usr/share/postgresql/$PG_MAJOR/extension/pg_prefetch_guard--1.0.sql
		/usr/share/postgresql/$PG_MAJOR/extension/pg_prefetch_guard.control
	END
}

has_documentation()
{
	local f
	for f in README.md copyright changelog.gz; do
		dpkg -L "$package" | grep -Fx "/usr/share/doc/$package/$f"
	done
}

# Would any file of ours be left?
removed()
{
	dpkg --purge "$package"
	! find /usr/lib/postgresql /usr/share/postgresql -name 'pg_prefetch_guard*' | grep .
}

if [ "${1:-}" = --installed ]; then
	mount -t proc proc /proc
	ok "installs, with what it depends on" dpkg -i "$work"/package/"$package"_*.deb
	ok "has the files that a server needs" has_files
	ok "has documentation" has_documentation
	ok "a server that loads it works" as_user sh debian/tests/preloaded
	ok "is removed without a trace" removed
	echo "1..$tests"
	exit
fi

build_package >"$work/package-build.log" 2>&1 || {
	tail -n 50 "$work/package-build.log"
	echo "Bail out!  The package was not built"
	exit 1
}
unshare --mount --ipc --pid --fork --kill-child bash -eu -c '
	mount -t tmpfs tmpfs "$2"
	mkdir "$2/changes" "$2/work" "$2/root"
	if ! mount -t overlay overlay -o "lowerdir=/,upperdir=$2/changes,workdir=$2/work" "$2/root"; then
		echo "ok 1 # skip overlays cannot be mounted here"
		echo "1..1"
		exit
	fi
	mount --rbind /dev "$2/root/dev"
	mount --bind "$1" "$2/root$1"
	exec chroot "$2/root" env -C "$1/source" bash test/package.sh --installed
	' _ "$work" "$work/tmp"
