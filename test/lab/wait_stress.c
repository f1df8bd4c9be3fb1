/*-------------------------------------------------------------------------
 *
 * wait_stress.c
 *	  Read-your-writes through CALL pg_wait_for_lsn() while things get killed.
 *
 * usage: wait_stress --primary CONNINFO --standby CONNINFO [options]
 *
 * Each client inserts a row on the primary, takes the LSN, waits on the standby
 * without a timeout for it or for a position somewhat later, and reads its row
 * there.  Meanwhile waits are canceled, backends terminated and, if --kill and
 * --crash are given, the walreceiver terminated and backends killed; these two
 * need the standby to run on this machine, as the same user.
 *
 * The program fails if a row was not there after a successful wait (a stale
 * read), if a wait went on for longer than --patience (a waiter that is stuck),
 * or if a waiter is left in shared memory in the end.
 *
 *-------------------------------------------------------------------------
 */
#include "client.h"

#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* A client and what is going on in it. */
typedef struct Client
{
	pthread_t	thread;
	PGconn	   *primary;
	PGconn	   *standby;

	pthread_mutex_t mutex;		/* of 'cancel' */
	PGcancel   *cancel;			/* of the standby's session, or NULL */
	_Atomic double waiting_since;	/* 0: does not wait */
} Client;

/*
 * Bytes of WAL that every other wait is for what others write.  The main thread
 * inserts rows, too, lest all clients wait for each other.
 */
#define LATER	2000

/* Options */
static const char *primary_conninfo = NULL;
static const char *standby_conninfo = NULL;
static int	nclients = 50;
static int	seconds = 10;
static int	patience = 30;
static bool kill_processes = false;
static int	crash_interval = 0;

static atomic_bool stopping = false;
static atomic_long next_id = 1;

/* Results */
static atomic_long reads = 0;
static atomic_long stale_reads = 0;
static atomic_long cancels = 0;
static atomic_long lost_connections = 0;
static atomic_long unexpected = 0;
static long cancels_sent = 0;
static long terminations = 0;
static long walreceiver_kills = 0;
static long crashes = 0;

/* Publish how to cancel what the client's session runs, or that there is none. */
static void
set_cancel(Client *client, PGcancel *cancel)
{
	pthread_mutex_lock(&client->mutex);
	if (client->cancel)
		PQfreeCancel(client->cancel);
	client->cancel = cancel;
	pthread_mutex_unlock(&client->mutex);
}

/* Connect to the standby, which may need some time to come back. */
static PGconn *
connect_patiently(void)
{
	double		until = now() + patience;
	PGconn	   *conn;

	while ((conn = try_connect(standby_conninfo)) == NULL)
	{
		if (now() > until)
			die("the standby does not come back");
		sleep_ms(100);
	}
	return conn;
}

static void
connect_standby(Client *client)
{
	client->standby = connect_patiently();
	set_cancel(client, PQgetCancel(client->standby));
}

static void
reconnect_standby(Client *client)
{
	lost_connections++;
	set_cancel(client, NULL);
	PQfinish(client->standby);
	connect_standby(client);
}

/*
 * Run a statement on the standby.  Returns NULL if it was canceled or the
 * connection was lost, which is counted.
 */
static PGresult *
try_standby(Client *client, const char *sql)
{
	PGresult   *res = PQexec(client->standby, sql);
	const char *sqlstate;

	if (succeeded(res))
		return res;
	sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	if (PQstatus(client->standby) != CONNECTION_OK || sqlstate == NULL)
		reconnect_standby(client);
	else if (strcmp(sqlstate, "57014") == 0)
		cancels++;
	else
	{
		unexpected++;
		fprintf(stderr, "%s: %s", sql, PQerrorMessage(client->standby));
	}
	PQclear(res);
	return NULL;
}

/* Wait for an LSN, or 'later' bytes more; true if it has been replayed. */
static bool
try_wait(Client *client, const char *lsn, int later)
{
	char		sql[100];
	PGresult   *res;
	bool		success;

	snprintf(sql, sizeof(sql), "CALL pg_wait_for_lsn('%s'::pg_lsn + %d::numeric)", lsn, later);
	client->waiting_since = now();
	res = try_standby(client, sql);
	client->waiting_since = 0;
	if (res == NULL)
		return false;
	success = strcmp(PQgetvalue(res, 0, 0), "success") == 0;
	PQclear(res);
	return success;
}

/* Read the row; count it if it is not there. */
static void
check_row(Client *client, long id, const char *lsn)
{
	char		sql[200];
	PGresult   *res;

	snprintf(sql, sizeof(sql),
			 "SELECT count(*), pg_last_wal_replay_lsn() >= '%s' FROM wait_stress WHERE id = %ld",
			 lsn, id);
	res = try_standby(client, sql);
	if (res == NULL)
		return;
	reads++;
	if (strcmp(PQgetvalue(res, 0, 0), "1") != 0 || strcmp(PQgetvalue(res, 0, 1), "t") != 0)
	{
		stale_reads++;
		fprintf(stderr, "stale read: id %ld, LSN %s\n", id, lsn);
	}
	PQclear(res);
}

static void *
run_client(void *arg)
{
	Client	   *client = arg;

	while (!stopping)
	{
		long		id = next_id++;
		char		sql[100];
		char		lsn[32];

		snprintf(sql, sizeof(sql), "INSERT INTO wait_stress VALUES (%ld)", id);
		must_commit(client->primary, sql, lsn, sizeof(lsn));
		if (try_wait(client, lsn, id % 2 * LATER))
			check_row(client, id, lsn);
	}
	return NULL;
}

/* Cancel what some client is doing on the standby. */
static void
cancel_one(Client *client)
{
	char		error[256];

	pthread_mutex_lock(&client->mutex);
	if (client->cancel && PQcancel(client->cancel, error, sizeof(error)))
		cancels_sent++;
	pthread_mutex_unlock(&client->mutex);
}

/* A process id that a query on the standby returns; 0 if none. */
static pid_t
find_pid(PGconn *conn, const char *sql)
{
	PGresult   *res = PQexec(conn, sql);
	pid_t		pid = 0;

	if (succeeded(res) && PQntuples(res) > 0)
		pid = atoi(PQgetvalue(res, 0, 0));
	PQclear(res);
	return pid;
}

#define ANOTHER_ROW	"INSERT INTO wait_stress VALUES (-extract(epoch FROM clock_timestamp()) * 1e6)"

#define SOME_BACKEND \
	"FROM pg_stat_activity WHERE datname = current_database() " \
	"AND application_name = 'wait_stress' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1"

/* Do one cruel thing, now and then. */
static void
disturb(PGconn *control, Client *client, double *next_walreceiver, double *next_termination,
		double *next_crash)
{
	double		t = now();
	pid_t		pid;

	cancel_one(&client[random() % nclients]);
	if (kill_processes && t >= *next_walreceiver)
	{
		*next_walreceiver = t + 1.5;
		pid = find_pid(control, "SELECT pid FROM pg_stat_wal_receiver");
		if (pid > 0 && kill(pid, SIGTERM) == 0)
			walreceiver_kills++;
	}
	if (t >= *next_termination)
	{
		*next_termination = t + 0.2;
		terminations += find_pid(control, "SELECT pg_terminate_backend(pid)::int " SOME_BACKEND);
	}
	if (crash_interval > 0 && t >= *next_crash)
	{
		*next_crash = t + crash_interval;
		pid = find_pid(control, "SELECT pid " SOME_BACKEND);
		if (pid > 0 && kill(pid, SIGKILL) == 0)
			crashes++;
	}
}

/* The longest that any client has been waiting, in seconds. */
static double
longest_wait(Client *client)
{
	double		longest = 0;

	for (int i = 0; i < nclients; i++)
	{
		double		since = client[i].waiting_since;

		if (since > 0 && now() - since > longest)
			longest = now() - since;
	}
	return longest;
}

/* The control connection, made again if the standby has crashed. */
static PGconn *
live_control(PGconn *control)
{
	if (control && PQstatus(control) == CONNECTION_OK)
		return control;
	PQfinish(control);
	return connect_patiently();
}

/* Run everything for the time that was asked for; false if a waiter is stuck. */
static bool
run(Client *client)
{
	PGconn	   *primary = must_connect(primary_conninfo);
	double		until = now() + seconds;
	double		next_walreceiver = now() + 1;
	double		next_termination = now() + 0.5;
	double		next_crash = now() + crash_interval;
	PGconn	   *control = NULL;
	bool		stuck = false;

	while (now() < until && !stuck)
	{
		control = live_control(control);
		disturb(control, client, &next_walreceiver, &next_termination, &next_crash);
		must_query(primary, ANOTHER_ROW, NULL, 0);
		stuck = longest_wait(client) > patience;
		sleep_ms(5);
	}
	PQfinish(control);
	stopping = true;
	for (double end = now() + patience; now() < end && longest_wait(client) > 0;)
	{
		must_query(primary, ANOTHER_ROW, NULL, 0);
		sleep_ms(20);
	}
	PQfinish(primary);
	return !stuck && longest_wait(client) == 0;
}

/* Waiters that shared memory still knows. */
static long
waiters_left(void)
{
	PGconn	   *conn = must_connect(standby_conninfo);
	char		count[16];

	must_query(conn, "SELECT count(*) FROM pg_prefetch_guard_waiters", count, sizeof(count));
	PQfinish(conn);
	return atol(count);
}

static void
usage(void)
{
	printf("usage: wait_stress --primary CONNINFO --standby CONNINFO [options]\n"
		   "  --clients N    sessions (%d)\n"
		   "  --seconds N    duration (%d)\n"
		   "  --patience N   a wait that takes that many seconds is stuck (%d)\n"
		   "  --kill         terminate the walreceiver now and then\n"
		   "  --crash N      kill -9 a backend every N seconds (0: never)\n",
		   nclients, seconds, patience);
	exit(0);
}

static void
parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{"primary", required_argument, NULL, 'p'},
		{"standby", required_argument, NULL, 's'},
		{"clients", required_argument, NULL, 'c'},
		{"seconds", required_argument, NULL, 'd'},
		{"patience", required_argument, NULL, 'w'},
		{"kill", no_argument, NULL, 'k'},
		{"crash", required_argument, NULL, 'x'},
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
			case 'c':
				nclients = atoi(optarg);
				break;
			case 'd':
				seconds = atoi(optarg);
				break;
			case 'w':
				patience = atoi(optarg);
				break;
			case 'k':
				kill_processes = true;
				break;
			case 'x':
				crash_interval = atoi(optarg);
				break;
			case 'h':
				usage();
				break;
			default:
				exit(2);
		}
	if (primary_conninfo == NULL || standby_conninfo == NULL || optind < argc)
		die("--primary and --standby are needed, see --help");
	if (nclients < 1 || seconds < 1 || patience < 1 || crash_interval < 0)
		die("a number is out of range, see --help");
}

int
main(int argc, char **argv)
{
	PGconn	   *primary;
	Client	   *client;
	bool		ended;
	long		left;

	parse_options(argc, argv);
	setenv("PGAPPNAME", "wait_stress", 1);
	primary = must_connect(primary_conninfo);
	must_query(primary, "DROP TABLE IF EXISTS wait_stress; "
			   "CREATE TABLE wait_stress (id bigint PRIMARY KEY)", NULL, 0);

	client = calloc(nclients, sizeof(Client));
	for (int i = 0; i < nclients; i++)
	{
		client[i].primary = must_connect(primary_conninfo);
		pthread_mutex_init(&client[i].mutex, NULL);
		connect_standby(&client[i]);
	}
	for (int i = 0; i < nclients; i++)
		if (pthread_create(&client[i].thread, NULL, run_client, &client[i]) != 0)
			die("could not create a thread");

	ended = run(client);
	if (ended)
		for (int i = 0; i < nclients; i++)
		{
			pthread_join(client[i].thread, NULL);
			PQfinish(client[i].primary);
			PQfinish(client[i].standby);
		}
	sleep_ms(500);				/* for the backends to be gone */
	left = waiters_left();

	printf("%ld reads after waits, %ld stale; %ld cancels (%ld sent), %ld connections lost "
		   "(%ld backends terminated, %ld walreceivers terminated, %ld backends killed), "
		   "%ld unexpected errors, %s, %ld waiters left\n",
		   (long) reads, (long) stale_reads, (long) cancels, cancels_sent,
		   (long) lost_connections, terminations, walreceiver_kills, crashes,
		   (long) unexpected, ended ? "no waiter stuck" : "WAITERS STUCK", left);
	return stale_reads > 0 || unexpected > 0 || !ended || left > 0 || reads == 0;
}
