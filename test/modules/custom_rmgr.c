/*-------------------------------------------------------------------------
 *
 * custom_rmgr.c
 *	  A resource manager for the tests: its records carry a number, which redo
 *	  writes to the log.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xloginsert.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/pg_lsn.h"

PG_MODULE_MAGIC;

#define CUSTOM_RMGR_ID	RM_EXPERIMENTAL_ID
#define CUSTOM_NUMBER	0x00

static void
custom_redo(XLogReaderState *record)
{
	elog(LOG, "custom resource manager replays %d", *(int32 *) XLogRecGetData(record));
}

static void
custom_desc(StringInfo buf, XLogReaderState *record)
{
	appendStringInfo(buf, "number %d", *(int32 *) XLogRecGetData(record));
}

static const char *
custom_identify(uint8 info)
{
	return "NUMBER";
}

static const RmgrData custom_rmgr = {
	.rm_name = "pg_prefetch_guard test",
	.rm_redo = custom_redo,
	.rm_desc = custom_desc,
	.rm_identify = custom_identify
};

void		_PG_init(void);

void
_PG_init(void)
{
	RegisterCustomRmgr(CUSTOM_RMGR_ID, unconstify(RmgrData *, &custom_rmgr));
}

PG_FUNCTION_INFO_V1(custom_rmgr_emit);

/* custom_rmgr_emit(number int) returns pg_lsn: write a record */
Datum
custom_rmgr_emit(PG_FUNCTION_ARGS)
{
	int32		number = PG_GETARG_INT32(0);

	XLogBeginInsert();
	XLogRegisterData((char *) &number, sizeof(number));
	PG_RETURN_LSN(XLogInsert(CUSTOM_RMGR_ID, CUSTOM_NUMBER));
}
