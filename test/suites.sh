# Sourced by ./run: runs every suite and counts what passed.

passed=0
failed=0
skipped=0

# Run a command in a process group of its own, which end_work ends if we are
# interrupted, with its output in a file.
run_job()
{
	local log=$1 status=0
	shift
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	job=$!
	set +m
	wait "$job" || status=$?
	job=
	return $status
}

# suite NAME COMMAND...: run a suite whose tests count.awk can count.  Whatever
# it printed, it has failed if its exit status says so or if it ran no test.
suite()
{
	local name=$1 log=$work/$1.log status=0 ok bad skip
	shift
	say "$name"
	run_job "$log" "$@" || status=$?
	read -r ok bad skip < <(awk -f test/count.awk "$log")
	if [ "$bad" -eq 0 ] && { [ $status -ne 0 ] || [ $((ok + skip)) -eq 0 ]; }; then
		bad=1
	fi
	tally "$log" "$ok" "$bad" "$skip"
}

# check NAME COMMAND...: run a command that is one test by itself.
check()
{
	local name=$1 log=$work/$1.log
	shift
	say "$name"
	if run_job "$log" "$@"; then
		tally "$log" 1 0 0
	else
		tally "$log" 0 1 0
	fi
}

tally()
{
	local log=$1 ok=$2 bad=$3 skip=$4
	passed=$((passed + ok))
	failed=$((failed + bad))
	skipped=$((skipped + skip))
	[ "$bad" -eq 0 ] || show_failure "$log"
	echo "   $(totals "$ok" "$bad" "$skip")"
}

# Show what a suite printed, and what its tests have left to look at.
show_failure()
{
	local log=$1 left
	cat "$log"
	{
		find "$work/source" -name regression.diffs -size +0 2>/dev/null || true
		sed -n "s|^test/t/\(.*\)\.pl .*(Wstat: .*|$work/source/tmp_check/log/regress_log_\1|p" "$log"
	} | while read -r left; do
		echo "--- the end of $left:"
		tail -n 100 "$left" || true
	done
}

totals()
{
	local skipped=", $3 skipped"
	[ "$3" -gt 0 ] || skipped=
	echo "$1 passed, $2 failed$skipped"
}

# What building the package needs besides: pg_buildext moved from one package
# to another.
package_suite()
{
	local buildext=postgresql-server-dev-all
	! apt-cache show postgresql-common-dev >/dev/null 2>&1 || buildext=postgresql-common-dev
	install_packages build-essential debhelper $buildext
	suite package env PG_MAJOR="$PG_MAJOR" work="$work" bash test/package.sh
}

run_suites()
{
	local make=(as_user make -s "PG_CONFIG=$PG_CONFIG")

	check clang "${make[@]}" check-clang
	suite unit "${make[@]}" check-unit
	suite regress "${make[@]}" installcheck TAP_TESTS=
	suite tap "${make[@]}" installcheck REGRESS= PROVE_FLAGS=-v
	[ "$(id -u)" != 0 ] || package_suite
	totals $passed $failed $skipped
	[ $failed -eq 0 ]
}
