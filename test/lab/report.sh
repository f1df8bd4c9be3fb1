# Sourced by lab.sh: tables and plots of what was measured.

# Medians over the runs of replay.csv: workload, way, limit, then seconds,
# fadvise calls, reads, sectors per read, user and system CPU.
report_medians()
{
	awk -F, '
		function median(list,   v, n, i, j, t) {
			n = split(list, v, " ")
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
			return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
		}
		NR > 1 {
			key = $1 "," $2 "," $3
			if (!(key in s)) keys[++n] = key
			s[key] = s[key] " " $5; f[key] = f[key] " " $6; r[key] = r[key] " " $7
			p[key] = p[key] " " ($7 > 0 ? $8 / $7 : 0); u[key] = u[key] " " $9; y[key] = y[key] " " $10
		}
		END { for (i = 1; i <= n; i++) { k = keys[i]
			printf "%s,%.3f,%d,%d,%.0f,%.2f,%.2f\n", k, median(s[k]), median(f[k]), median(r[k]), median(p[k]), median(u[k]), median(y[k]) } }
	' "$lab_out/replay.csv"
}

# A table for one limit.  The ratios are to the better of stock and off; the
# smallest count that is compared is 100 reads: so many are the file system's own.
report_table()
{
	local w names=
	for w in "${!title[@]}"; do names+="$w=${title[$w]};"; done
	echo "| workload | way | replay, s | of the better | fadvise calls | read I/Os | of the better | sectors per read | CPU user, s | CPU system, s |"
	echo "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
	awk -F, -v limit="$1" -v names="$names" '
		function better(a, b) { return a < b ? a : b }
		BEGIN { n = split(names, part, ";"); for (i = 1; i <= n; i++) { split(part[i], p, "="); name[p[1]] = p[2] } }
		$3 == limit { t[$1, $2] = $4; r[$1, $2] = $6; line[++lines] = $0 }
		END { for (i = 1; i <= lines; i++) {
			split(line[i], c, ",")
			times = reads = ""
			if (c[2] != "stock" && c[2] != "off" && ((c[1], "stock") in t) && ((c[1], "off") in t)) {
				bt = better(t[c[1], "stock"], t[c[1], "off"]); br = better(r[c[1], "stock"], r[c[1], "off"])
				times = sprintf("%.2f", c[4] / bt)
				if (br >= 100 || c[6] >= 100) reads = sprintf("%.2f", c[6] / (br > 100 ? br : 100)); else reads = "few"
			}
			printf "| %s | %s | %.2f | %s | %d | %d | %s | %s | %.2f | %.2f |\n",
				c[1] == before ? "" : name[c[1]], c[2], c[4], times, c[5], c[6], reads, c[6] ? c[7] : "", c[8], c[9]
			before = c[1] } }' <<<"$report_data"
}

# One plot: replay time by workload and way, logarithmic.
report_plot()
{
	local limit=$1 what=$2 way w
	for w in "${workloads[@]}" "${more_workloads[@]}"; do
		! grep -q "^$w,[^,]*,$limit," <<<"$report_data" || {
			printf '"%s"' "${title[$w]}"
			for way in "${lab_ways[@]}"; do
				printf ' %s' "$(awk -F, -v w="$w" -v way="$way" -v l="$limit" '$1 == w && $2 == way && $3 == l { print $4 }' <<<"$report_data")"
			done
			echo
		}
	done >"$work/plot.dat"
	gnuplot <<-GNUPLOT
		set terminal svg size 900,420 font "sans-serif,12" background "white"
		set output "$lab_out/replay-$limit.svg"
		set title "Replay time, $what"
		set ylabel "seconds"
		set logscale y
		set grid ytics
		set style data histogram
		set style histogram clustered gap 1
		set style fill solid
		set boxwidth 0.9
		set xtics rotate by -20
		set key top right outside
		names = "${lab_ways[*]}"
		plot for [i=1:words(names)] "$work/plot.dat" using (column(i + 1)):xtic(1) title word(names, i)
	GNUPLOT
}

# The outage over time.
report_outage_plot()
{
	gnuplot <<-GNUPLOT
		set terminal svg size 900,720 font "sans-serif,12" background "white"
		set output "$lab_out/outage.svg"
		set datafile separator ","
		set multiplot layout 3,1 title "A walreceiver is killed (at 0) during a burst, synchronous replication, $lab_iops reads per second"
		set grid
		set xlabel "seconds since the kill"
		set key top right
		names = "$(tail -n +2 "$lab_out/outage_first.csv" | cut -d, -f1 | tr '\n' ' ')"
		row(name, c) = strcol(1) eq name ? column(c) : NaN
		set ylabel "commits per second"
		plot for [i=1:words(names)] "$lab_out/outage.csv" using (row(word(names, i), 2)):3 with lines lw 2 title word(names, i)
		set ylabel "replay lag, MB"
		plot for [i=1:words(names)] "$lab_out/outage.csv" using (row(word(names, i), 2)):(\$4/1048576) with lines lw 2 title word(names, i)
		set ylabel "reads per second"
		plot for [i=1:words(names)] "$lab_out/outage.csv" using (row(word(names, i), 2)):5 with lines lw 2 title word(names, i)
		unset multiplot
	GNUPLOT
}

# How the results of a section were got.
report_measured()
{
	echo "Measured $(date -u +%Y-%m-%d) with PostgreSQL $("$bindir/postgres" -V | sed 's/^.*) \([0-9.]*\).*/\1/'), $(nproc) CPUs, scale $scale${1:-}."
	echo
}

report_replay()
{
	report_measured ", medians of $lab_runs runs"
	report_table "$1"
	printf '\n![replay time](replay-%s.svg)\n' "$1"
}

report_outage()
{
	report_measured
	printf '| way | first commit after the kill, s |\n| --- | ---: |\n'
	tail -n +2 "$lab_out/outage_first.csv" | sed 's/^\(.*\),\(.*\)$/| \1 | \2 |/'
	printf '\n![the outage over time](outage.svg)\n'
}

report_waits()
{
	report_measured
	cat "$lab_out/waits.out"
}

# Write a section, and with --doc put it between its marks in performance.md.
# Usage: report_section NAME HEADING COMMAND...
report_section()
{
	local doc=$lab_dir/../../doc name=$1 heading=$2
	shift 2
	"$@" >"$lab_out/$name.md"
	printf '\n### %s\n\n' "$heading"
	cat "$lab_out/$name.md"
	[ -z "$lab_doc" ] || {
		sed -i -e "/^<!-- $name: begin/,/^<!-- $name: end/{/^<!-- $name:/!d}" \
			-e "/^<!-- $name: begin/r $lab_out/$name.md" "$doc/performance.md"
		find "$lab_out" -name "$name*.svg" -exec cp -t "$doc" {} + -o -name "$name*.csv" -exec cp -t "$doc" {} +
	}
}

# Write the tables and plots.
report()
{
	local limit what
	report_data=$(report_medians)
	for limit in "${lab_limits[@]}"; do
		grep -q ",$limit," <<<"$report_data" || continue
		what=$([ "$limit" = none ] && echo "no limit" || echo "$limit reads per second")
		report_plot "$limit" "$what"
		awk -F, -v limit="$limit" 'NR == 1 || $3 == limit' "$lab_out/replay.csv" >"$lab_out/replay-$limit.csv"
		report_section "replay-$limit" "${what^}" report_replay "$limit"
	done
	[ ! -e "$lab_out/outage.csv" ] || {
		report_outage_plot
		report_section outage "The outage" report_outage
	}
	[ ! -e "$lab_out/waits.out" ] || report_section waits "Waiting" report_waits
}
