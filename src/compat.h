/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the server versions, and nothing else.
 *
 * The rest of the code is written as if for the newest server.  Every test of
 * PG_VERSION_NUM is in this file, so a new major version is met here first.
 * Include it right after postgres.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_COMPAT_H
#define PPG_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "pg_prefetch_guard needs PostgreSQL 15 or later: older servers do not prefetch during recovery"
#endif

#if PG_VERSION_NUM < 160000

/*
 * We build with -fvisibility=hidden.  From 16 on the server's own macros mark
 * what SQL calls as visible; in 15 PGDLLEXPORT is empty outside Windows.
 */
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))

/* 16 renamed RelFileNode and its members. */
#include "storage/relfilenode.h"
#define RelFileLocator			RelFileNode
#define RelFileLocatorEquals	RelFileNodeEquals
#define RelFileNumber			Oid
#define rlocator				rnode
#define spcOid					spcNode
#define dbOid					dbNode
#define relNumber				relNode
#else
#include "storage/relfilelocator.h"
#endif

#if PG_VERSION_NUM < 170000

/* 17 gave processes a number of their own, and extensions named wait events. */
#define MyProcNumber				(MyProc->pgprocno)
#define WaitEventExtensionNew(name)	PG_WAIT_EXTENSION
#endif

/* 18 counts reads of WAL in pg_stat_io. */
#if PG_VERSION_NUM >= 180000
#define count_wal_read(nbytes) \
	pgstat_count_io_op(IOOBJECT_WAL, IOCONTEXT_NORMAL, IOOP_READ, 1, nbytes)
#else
#define count_wal_read(nbytes) ((void) 0)
#endif

/*
 * Declare a function that SQL calls, and make it visible.  From 16 on
 * PG_FUNCTION_INFO_V1() alone would do.
 */
#define SQL_FUNCTION(name) \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

#endif							/* PPG_COMPAT_H */
