# Sourced by ./run: runs every suite and counts what passed.

passed=0
failed=0

# Run the tests of one suite: a command whose output prove can read is counted
# test by test, any other as one test.
suite()
{
	local name=$1 log=$work/$1.log status=0
	shift
	say "$name"
	as_user "$@" >"$log" 2>&1 || status=$?
	# TAP lines in prove -v's output, "ok"/"not ok"; pg_regress says "test x ... ok"
	local ok bad
	ok=$(grep -cE '^(    )?ok [0-9]+|^test .* \.\.\. ok|^ok +[0-9]+ +[-+]' "$log" || true)
	bad=$(grep -cE '^not ok [0-9]+|^test .* \.\.\. FAILED|^not ok +[0-9]+ +[-+]' "$log" || true)
	if [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
	fi
	passed=$((passed + ok))
	failed=$((failed + bad))
	if [ "$bad" -gt 0 ]; then
		cat "$log"
	fi
	echo "   $ok passed, $bad failed"
}

run_suites()
{
	suite unit make -s check-unit with_llvm=no PG_CONFIG="$PG_CONFIG"
	suite installcheck make -s installcheck with_llvm=no PG_CONFIG="$PG_CONFIG" PROVE_FLAGS="-v -I test/perl"
	echo "$passed passed, $failed failed"
	[ $failed -eq 0 ]
}
