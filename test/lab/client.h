/*-------------------------------------------------------------------------
 *
 * client.h
 *	  What the lab's programs have in common: connections, clock, statistics.
 *
 * Everything that goes wrong ends the program with a message, but what the
 * functions with "try" in their names return.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_LAB_CLIENT_H
#define PPG_LAB_CLIENT_H

#include <libpq-fe.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNUSED __attribute__((unused))

static UNUSED void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

/* Seconds on a clock that only goes forward. */
static UNUSED double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static UNUSED void
sleep_ms(double ms)
{
	struct timespec ts;

	ts.tv_sec = (time_t) (ms / 1000);
	ts.tv_nsec = (long) ((ms - ts.tv_sec * 1000.0) * 1e6);
	nanosleep(&ts, NULL);
}

static void
ignore_notice(void *arg UNUSED, const PGresult *res UNUSED)
{
}

/* NULL if there is no connection to be had. */
static UNUSED PGconn *
try_connect(const char *conninfo)
{
	PGconn	   *conn = PQconnectdb(conninfo);

	if (PQstatus(conn) != CONNECTION_OK)
	{
		PQfinish(conn);
		return NULL;
	}
	PQsetNoticeReceiver(conn, ignore_notice, NULL);
	return conn;
}

static UNUSED PGconn *
must_connect(const char *conninfo)
{
	PGconn	   *conn = PQconnectdb(conninfo);

	if (PQstatus(conn) != CONNECTION_OK)
		die("%s", PQerrorMessage(conn));
	PQsetNoticeReceiver(conn, ignore_notice, NULL);
	return conn;
}

static UNUSED bool
succeeded(const PGresult *res)
{
	return PQresultStatus(res) == PGRES_TUPLES_OK ||
		PQresultStatus(res) == PGRES_COMMAND_OK;
}

/* Take the first value of a result, in 'value' if that is not NULL. */
static UNUSED void
must_succeed(PGconn *conn, PGresult *res, const char *what, char *value, size_t size)
{
	if (!succeeded(res))
		die("%s: %s", what, PQerrorMessage(conn));
	if (value)
		snprintf(value, size, "%s", PQntuples(res) > 0 ? PQgetvalue(res, 0, 0) : "");
	PQclear(res);
}

/* The first value of the result of the last statement of 'sql'. */
static UNUSED void
must_query(PGconn *conn, const char *sql, char *value, size_t size)
{
	must_succeed(conn, PQexec(conn, sql), sql, value, size);
}

static UNUSED void
must_prepare(PGconn *conn, const char *name, const char *sql)
{
	must_succeed(conn, PQprepare(conn, name, sql, 0, NULL), sql, NULL, 0);
}

/* The first value of the result of a prepared statement with one parameter. */
static UNUSED void
must_execute(PGconn *conn, const char *name, const char *parameter, char *value, size_t size)
{
	must_succeed(conn, PQexecPrepared(conn, name, 1, &parameter, NULL, NULL, 0),
				 name, value, size);
}

static UNUSED int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The smallest value that a share 'p' of the n sorted values does not exceed. */
static UNUSED double
percentile(const double *sorted, int n, double p)
{
	int			i = (int) (p * n + 0.999999) - 1;

	return n == 0 ? 0 : sorted[i < 0 ? 0 : (i >= n ? n - 1 : i)];
}

static UNUSED double
mean(const double *values, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += values[i];
	return n == 0 ? 0 : sum / n;
}

/*
 * Run an INSERT (or anything else that commits) on the primary; the LSN up to
 * which the standby has to replay to have it.
 *
 * That is not pg_current_wal_insert_lsn(): once in a while the last record ends
 * with its page, and the insert position is then behind the next page's header,
 * where replay gets only with the next record.
 */
static UNUSED void
must_commit(PGconn *primary, const char *sql, char *lsn, size_t size)
{
	must_query(primary, sql, NULL, 0);
	must_query(primary, "SELECT pg_current_wal_lsn()", lsn, size);
}

#endif							/* PPG_LAB_CLIENT_H */
