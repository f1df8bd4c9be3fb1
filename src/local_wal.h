/*-------------------------------------------------------------------------
 *
 * local_wal.h
 *	  The WAL segments in pg_wal: reading pages, and finding their end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_LOCAL_WAL_H
#define PPG_LOCAL_WAL_H

#include "access/xlogdefs.h"

extern bool local_wal_read_page(TimeLineID tli, XLogRecPtr pageptr, char *buf);
extern void local_wal_close(void);
extern XLogRecPtr local_wal_last_segment(TimeLineID tli, XLogRecPtr from,
										 uint64 system_identifier);

#endif							/* PPG_LOCAL_WAL_H */
