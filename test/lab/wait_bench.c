/*-------------------------------------------------------------------------
 *
 * wait_bench.c
 *	  Ways to wait on a standby until it has replayed what was just written on
 *	  the primary, compared.
 *
 * usage: wait_bench --primary CONNINFO --standby CONNINFO [options]
 *
 * Point it at a primary and a standby of your own; it creates the table
 * wait_bench on the primary and drops it in the end.  The ways are
 *
 *	poll	ask for pg_last_wal_replay_lsn() every millisecond
 *	busy	ask for it again and again
 *	call	CALL pg_wait_for_lsn()
 *	native	WAIT FOR LSN, on PostgreSQL 19 and later
 *
 * and what is measured, all ways by turns in the same run, is
 *
 *	latency		one session inserts, takes the LSN, and times the standby's answer
 *	load		sessions do so in a loop, waiting with one way; completed rounds
 *				and CPU used by the standby's backends, from the kernel's own
 *				account of each (only if the standby runs on this machine)
 *	spread		many sessions wait for the same LSN that is yet to come; time
 *				between the first and the last to return
 *
 * Prints Markdown.
 *
 *-------------------------------------------------------------------------
 */
#include "client.h"

#include <getopt.h>
#include <math.h>
#include <pthread.h>

typedef enum Method
{
	POLL,
	BUSY,
	CALL,
	NATIVE
} Method;

#define NMETHODS	(NATIVE + 1)

static const char *const method_names[NMETHODS] = {"poll", "busy", "call", "native"};
static const char *const method_titles[NMETHODS] = {
	"poll, 1 ms sleep", "busy poll", "CALL pg_wait_for_lsn", "WAIT FOR LSN"
};

#define INSERT_ROW	"INSERT INTO wait_bench (v) VALUES ('x')"

/* Options */
static const char *primary_conninfo = NULL;
static const char *standby_conninfo = NULL;
static int	trials = 100;
static int	workers = 10;
static int	seconds = 5;
static int	connections = 15;
static int	rounds = 5;
static bool chosen[NMETHODS] = {true, true, true, true};
static bool prepared = false;

/* Has the standby replayed 'lsn'? */
static bool
has_reached(PGconn *standby, const char *lsn)
{
	char		sql[200];
	char		reached[8];

	if (prepared)
		must_execute(standby, "reached", lsn, reached, sizeof(reached));
	else
	{
		snprintf(sql, sizeof(sql), "SELECT pg_last_wal_replay_lsn() >= '%s'", lsn);
		must_query(standby, sql, reached, sizeof(reached));
	}
	return reached[0] == 't';
}

/* Wait until the standby has replayed 'lsn'. */
static void
wait_for(PGconn *standby, Method method, const char *lsn)
{
	char		sql[200];

	switch (method)
	{
		case POLL:
			while (!has_reached(standby, lsn))
				sleep_ms(1);
			break;
		case BUSY:
			while (!has_reached(standby, lsn))
				;
			break;
		case CALL:
			if (prepared)
				must_execute(standby, "call", lsn, NULL, 0);
			else
			{
				snprintf(sql, sizeof(sql), "CALL pg_wait_for_lsn('%s')", lsn);
				must_query(standby, sql, NULL, 0);
			}
			break;
		case NATIVE:
			snprintf(sql, sizeof(sql), "WAIT FOR LSN '%s'", lsn);
			must_query(standby, sql, NULL, 0);
			break;
	}
}

/* Connect to the standby, ready to wait there. */
static PGconn *
connect_standby(void)
{
	PGconn	   *standby = must_connect(standby_conninfo);

	if (prepared)
	{
		must_prepare(standby, "reached", "SELECT pg_last_wal_replay_lsn() >= $1");
		if (chosen[CALL])
			must_prepare(standby, "call", "CALL pg_wait_for_lsn($1)");
	}
	return standby;
}

/*
 * CPU time that a process of this machine has used, in seconds; negative if
 * there is no such process.
 */
static double
cpu_used(const char *pid)
{
	char		path[64];
	unsigned long long ns;
	FILE	   *f;
	int			n;

	snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
	f = fopen(path, "r");
	if (f == NULL)
		return -1;
	n = fscanf(f, "%llu", &ns);
	fclose(f);
	return n == 1 ? ns / 1e9 : -1;
}

static void
print_ratio(double value, double base)
{
	if (base > 0 && value >= 0)
		printf(" %.2f |", value / base);
	else
		printf(" |");
}

/* (a) Latency of one session. */
static void
measure_latency(void)
{
	PGconn	   *primary = must_connect(primary_conninfo);
	PGconn	   *standby = connect_standby();
	double	   *ms[NMETHODS];
	double		busy_median = 0;

	for (int m = 0; m < NMETHODS; m++)
		ms[m] = malloc(trials * sizeof(double));
	for (int i = 0; i < trials; i++)
		for (int m = 0; m < NMETHODS; m++)
		{
			char		lsn[32];
			double		start;

			if (!chosen[m])
				continue;
			must_commit(primary, INSERT_ROW, lsn, sizeof(lsn));
			start = now();
			wait_for(standby, m, lsn);
			ms[m][i] = (now() - start) * 1000;
		}

	printf("\n### Latency of one session, %d trials each, ms\n\n"
		   "| method | median | mean | p99 | max | median / busy poll |\n"
		   "|---|---|---|---|---|---|\n", trials);
	for (int m = 0; m < NMETHODS; m++)
		if (chosen[m])
			qsort(ms[m], trials, sizeof(double), compare_doubles);
	if (chosen[BUSY])
		busy_median = percentile(ms[BUSY], trials, 0.5);
	for (int m = 0; m < NMETHODS; m++)
	{
		if (!chosen[m])
			continue;
		printf("| %s | %.3f | %.3f | %.3f | %.3f |", method_titles[m],
			   percentile(ms[m], trials, 0.5), mean(ms[m], trials),
			   percentile(ms[m], trials, 0.99), ms[m][trials - 1]);
		print_ratio(percentile(ms[m], trials, 0.5), busy_median);
		printf("\n");
	}
	for (int m = 0; m < NMETHODS; m++)
		free(ms[m]);
	PQfinish(primary);
	PQfinish(standby);
}

/* A session of the load measurement, and its results. */
typedef struct Worker
{
	pthread_t	thread;
	PGconn	   *primary;
	PGconn	   *standby;
	char		standby_pid[16];
	Method		method;
	double		until;
	long		completed;
} Worker;

static void *
work(void *arg)
{
	Worker	   *w = arg;
	char		lsn[32];

	while (now() < w->until)
	{
		must_commit(w->primary, INSERT_ROW, lsn, sizeof(lsn));
		wait_for(w->standby, w->method, lsn);
		w->completed++;
	}
	return NULL;
}

/* One turn of a method; adds to what was completed and the CPU it took. */
static void
load_turn(Worker *worker, Method method, double duration, long *completed, double *cpu)
{
	double		until = now() + duration;

	for (int i = 0; i < workers; i++)
	{
		double		used = cpu_used(worker[i].standby_pid);

		*cpu = used < 0 ? -1e9 : *cpu - used;
		worker[i].method = method;
		worker[i].until = until;
		worker[i].completed = 0;
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
			die("could not create a thread");
	}
	for (int i = 0; i < workers; i++)
	{
		pthread_join(worker[i].thread, NULL);
		*completed += worker[i].completed;
		*cpu += cpu_used(worker[i].standby_pid);
	}
}

/* (b) Completions and CPU of many sessions. */
static void
measure_load(void)
{
	Worker	   *worker = calloc(workers, sizeof(Worker));
	long		completed[NMETHODS] = {0};
	double		cpu[NMETHODS] = {0};
	double		busy_rate;
	double		busy_cpu;

	for (int i = 0; i < workers; i++)
	{
		worker[i].primary = must_connect(primary_conninfo);
		worker[i].standby = connect_standby();
		must_query(worker[i].standby, "SELECT pg_backend_pid()",
				   worker[i].standby_pid, sizeof(worker[i].standby_pid));
	}
	for (int r = 0; r < rounds; r++)
		for (int m = 0; m < NMETHODS; m++)
			if (chosen[m])
				load_turn(worker, m, (double) seconds / rounds, &completed[m], &cpu[m]);

	printf("\n### %d sessions in a loop, %d s each\n\n"
		   "| method | completions/s | CPU of the standby's backends, ms per completion | completions / busy poll | CPU per completion / busy poll |\n"
		   "|---|---|---|---|---|\n", workers, seconds);
	busy_rate = (double) completed[BUSY] / seconds;
	busy_cpu = completed[BUSY] > 0 && cpu[BUSY] >= 0 ? cpu[BUSY] / completed[BUSY] : 0;
	for (int m = 0; m < NMETHODS; m++)
	{
		double		rate = (double) completed[m] / seconds;
		double		per_completion = cpu[m] / completed[m];

		if (!chosen[m])
			continue;
		printf("| %s | %.0f |", method_titles[m], rate);
		if (cpu[m] >= 0)
			printf(" %.4f |", per_completion * 1000);
		else
			printf(" not on this machine |");
		print_ratio(rate, busy_rate);
		print_ratio(cpu[m] >= 0 ? per_completion : -1, busy_cpu);
		printf("\n");
	}
	for (int i = 0; i < workers; i++)
	{
		PQfinish(worker[i].primary);
		PQfinish(worker[i].standby);
	}
	free(worker);
}

/* A session of the spread measurement. */
typedef struct Sleeper
{
	pthread_t	thread;
	PGconn	   *standby;
	Method		method;
	const char *lsn;
	double		returned;
} Sleeper;

static void *
sleep_until_reached(void *arg)
{
	Sleeper    *s = arg;

	wait_for(s->standby, s->method, s->lsn);
	s->returned = now();
	return NULL;
}

/* One turn: returns the time between the first and the last, in ms. */
static double
spread_turn(PGconn *primary, Sleeper *sleeper, Method method)
{
	char		lsn[32];
	double		first = INFINITY;
	double		last = 0;

	/* not reached before the row below is inserted */
	must_query(primary, "SELECT pg_current_wal_lsn() + 1", lsn, sizeof(lsn));
	for (int i = 0; i < connections; i++)
	{
		sleeper[i].method = method;
		sleeper[i].lsn = lsn;
		if (pthread_create(&sleeper[i].thread, NULL, sleep_until_reached, &sleeper[i]) != 0)
			die("could not create a thread");
	}
	sleep_ms(200 + connections * 2);
	must_query(primary, INSERT_ROW, NULL, 0);
	for (int i = 0; i < connections; i++)
	{
		pthread_join(sleeper[i].thread, NULL);
		first = fmin(first, sleeper[i].returned);
		last = fmax(last, sleeper[i].returned);
	}
	return (last - first) * 1000;
}

/* (c) How far apart those who wait for the same LSN return. */
static void
measure_spread(void)
{
	PGconn	   *primary = must_connect(primary_conninfo);
	Sleeper    *sleeper = calloc(connections, sizeof(Sleeper));
	double	   *ms[NMETHODS];

	for (int i = 0; i < connections; i++)
		sleeper[i].standby = connect_standby();
	for (int m = 0; m < NMETHODS; m++)
		ms[m] = malloc(rounds * sizeof(double));
	for (int r = 0; r < rounds; r++)
		for (int m = 0; m < NMETHODS; m++)
			if (chosen[m])
				ms[m][r] = spread_turn(primary, sleeper, m);

	printf("\n### %d sessions waiting for one LSN, %d turns each: first to last, ms\n\n"
		   "| method | median | mean | max |\n|---|---|---|---|\n", connections, rounds);
	for (int m = 0; m < NMETHODS; m++)
	{
		if (!chosen[m])
			continue;
		qsort(ms[m], rounds, sizeof(double), compare_doubles);
		printf("| %s | %.3f | %.3f | %.3f |\n", method_titles[m],
			   percentile(ms[m], rounds, 0.5), mean(ms[m], rounds), ms[m][rounds - 1]);
	}
	for (int m = 0; m < NMETHODS; m++)
		free(ms[m]);
	for (int i = 0; i < connections; i++)
		PQfinish(sleeper[i].standby);
	free(sleeper);
	PQfinish(primary);
}

/* Leave out what the standby does not have. */
static void
check_methods(void)
{
	PGconn	   *standby = must_connect(standby_conninfo);
	char		value[64];

	if (PQserverVersion(standby) < 190000)
		chosen[NATIVE] = false;
	must_query(standby, "SELECT count(*) FROM pg_proc WHERE proname = 'pg_wait_for_lsn'",
			   value, sizeof(value));
	if (strcmp(value, "0") == 0)
		chosen[CALL] = false;
	must_query(standby, "SELECT pg_is_in_recovery()", value, sizeof(value));
	if (value[0] != 't')
		die("--standby names a server that is not in recovery");
	must_query(standby, "SHOW server_version", value, sizeof(value));
	printf("PostgreSQL %s\n", value);
	PQfinish(standby);
}

/* "poll,call": only these. */
static void
choose_methods(char *list)
{
	memset(chosen, 0, sizeof(chosen));
	for (char *name = strtok(list, ","); name; name = strtok(NULL, ","))
	{
		int			m = 0;

		while (m < NMETHODS && strcmp(name, method_names[m]) != 0)
			m++;
		if (m == NMETHODS)
			die("unknown method \"%s\"", name);
		chosen[m] = true;
	}
}

static void
usage(void)
{
	printf("usage: wait_bench --primary CONNINFO --standby CONNINFO [options]\n"
		   "  --trials N        latency: trials of each method (%d; 0: none)\n"
		   "  --workers N       load: sessions (%d; 0: none)\n"
		   "  --seconds N       load: duration of each method (%d)\n"
		   "  --connections N   spread: sessions (%d; 0: none)\n"
		   "  --rounds N        load and spread: turns of each method (%d)\n"
		   "  --methods LIST    of poll, busy, call, native (all)\n"
		   "  --prepared        prepare the statements (native can't be prepared)\n",
		   trials, workers, seconds, connections, rounds);
	exit(0);
}

static void
parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{"primary", required_argument, NULL, 'p'},
		{"standby", required_argument, NULL, 's'},
		{"trials", required_argument, NULL, 't'},
		{"workers", required_argument, NULL, 'w'},
		{"seconds", required_argument, NULL, 'd'},
		{"connections", required_argument, NULL, 'c'},
		{"rounds", required_argument, NULL, 'r'},
		{"methods", required_argument, NULL, 'm'},
		{"prepared", no_argument, NULL, 'P'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}
	};
	int			c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c)
		{
			case 'p':
				primary_conninfo = optarg;
				break;
			case 's':
				standby_conninfo = optarg;
				break;
			case 't':
				trials = atoi(optarg);
				break;
			case 'w':
				workers = atoi(optarg);
				break;
			case 'd':
				seconds = atoi(optarg);
				break;
			case 'c':
				connections = atoi(optarg);
				break;
			case 'r':
				rounds = atoi(optarg);
				break;
			case 'm':
				choose_methods(optarg);
				break;
			case 'P':
				prepared = true;
				break;
			case 'h':
				usage();
				break;
			default:
				exit(2);
		}
	if (primary_conninfo == NULL || standby_conninfo == NULL || optind < argc)
		die("--primary and --standby are needed, see --help");
	if (trials < 0 || workers < 0 || seconds < 1 || connections < 0 || rounds < 1)
		die("a number is out of range, see --help");
}

int
main(int argc, char **argv)
{
	PGconn	   *primary;
	char		lsn[32];

	parse_options(argc, argv);
	check_methods();
	primary = must_connect(primary_conninfo);
	must_query(primary, "DROP TABLE IF EXISTS wait_bench; "
			   "CREATE TABLE wait_bench (id bigserial PRIMARY KEY, v text)", NULL, 0);
	must_commit(primary, INSERT_ROW, lsn, sizeof(lsn));

	if (trials > 0)
		measure_latency();
	if (workers > 0)
		measure_load();
	if (connections > 0)
		measure_spread();

	must_query(primary, "DROP TABLE wait_bench", NULL, 0);
	PQfinish(primary);
	return 0;
}
