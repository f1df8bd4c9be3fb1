#!/bin/sh
# The library exports what the server looks up by name, and nothing else: other
# libraries' symbols can't get mixed up with ours.

# C functions behind SQL functions: AS 'MODULE_PATHNAME'[, 'symbol'], where the
# symbol's default is the function's name.
sql_functions()
{
	sed -n -E \
		-e 's/^CREATE (FUNCTION|PROCEDURE) ([a-z_]+).*/\2/; t name' \
		-e "s/^AS 'MODULE_PATHNAME', '([a-z_0-9]+)'.*/\1/p; t" \
		-e "/^AS 'MODULE_PATHNAME'/ { x; p; }" \
		-e 'b' -e ': name' -e 'h' sql/*.sql
}

expected=$({
	echo Pg_magic_func
	echo _PG_init
	sql_functions | sed 'p; s/^/pg_finfo_/'
} | LC_ALL=C sort -u)
exported=$(nm -D --defined-only pg_prefetch_guard.so | awk '{ print $3 }' | LC_ALL=C sort -u)

echo 1..1
if [ "$expected" = "$exported" ]; then
	echo "ok 1 - $(echo "$exported" | wc -l) symbols are exported"
else
	echo "not ok 1 - exported symbols"
	echo "# expected:" $expected
	echo "# exported:" $exported
	exit 1
fi
