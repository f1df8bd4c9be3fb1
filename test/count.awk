# Counts the tests in the output of "prove -v" or pg_regress: prints how many
# passed, failed and were skipped.
#
# prove shows each file's TAP lines and sums up in the end which files failed.
# A file that died or did not keep to its plan is one failure, even if each of
# its tests that ran has passed.  Up to PostgreSQL 15 pg_regress says
# "test x ... ok", from 16 on it prints TAP lines.  Subtests are indented, and
# count with their parent.

/^ok +[0-9]+ .*# *skip/				{ skipped++; next }
/^(not )?ok +[0-9]+ .*# *TODO/		{ passed++; next }
/^ok +[0-9]+/						{ passed++ }
/^not ok +[0-9]+/					{ failed++ }

/^[^ #].* \.\.+ skipped/			{ skipped++ }
/^[^ ].* \(Wstat: .* Failed: /		{ unexplained = / Failed: 0\)/ }
/^  (Non-zero |Parse errors: )/ && unexplained	{ failed++; unexplained = 0 }

/^(test|    ) *[^ ]+ +\.\.\. ok/	{ passed++ }
/^(test|    ) *[^ ]+ +\.\.\. FAILED/	{ failed++ }

END { print passed + 0, failed + 0, skipped + 0 }
