/*-------------------------------------------------------------------------
 *
 * local_wal.c
 *	  The WAL segments in pg_wal: reading pages, and finding their end.
 *
 * For the startup process: nothing here raises an error, allocates memory or
 * waits for anything but the disk.  What can't be read is reported as false,
 * without a message; the caller leaves it to core to try and to complain.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "pgstat.h"
#include "postmaster/bgwriter.h"
#include "storage/fd.h"
#include "utils/ps_status.h"

#include "local_wal.h"

/* The segment that is open, if open_fd is not -1. */
static int	open_fd = -1;
static XLogSegNo open_segno;
static TimeLineID open_tli;

/*
 * Leaving a segment, ask for a restartpoint if there was too much WAL since
 * the last one: the same that core does when it reads segments.
 */
static void
request_restartpoint(XLogSegNo segno)
{
	if (!XLogCheckpointNeeded(segno))
		return;
	(void) GetRedoRecPtr();		/* what we know of may be outdated */
	if (XLogCheckpointNeeded(segno))
		RequestCheckpoint(CHECKPOINT_CAUSE_XLOG);
}

/* Close the open segment, if any. */
void
local_wal_close(void)
{
	if (open_fd >= 0)
		(void) close(open_fd);
	open_fd = -1;
}

/* Make a segment the open one. */
static bool
open_segment(TimeLineID tli, XLogSegNo segno)
{
	char		path[MAXPGPATH];
	char		fname[MAXFNAMELEN];
	char		activity[MAXFNAMELEN + 16];

	if (open_fd >= 0)
	{
		if (open_segno == segno && open_tli == tli)
			return true;
		request_restartpoint(open_segno);
		local_wal_close();
	}

	XLogFilePath(path, tli, segno, wal_segment_size);
	open_fd = BasicOpenFile(path, O_RDONLY | PG_BINARY);
	if (open_fd < 0)
		return false;
	open_segno = segno;
	open_tli = tli;

	XLogFileName(fname, tli, segno, wal_segment_size);
	snprintf(activity, sizeof(activity), "recovering %s", fname);
	set_ps_display(activity);
	return true;
}

/*
 * Read the page at 'pageptr' from the segment file of timeline 'tli' into
 * 'buf', XLOG_BLCKSZ bytes.  The file stays open for the next page.  Returns
 * false if the whole page can't be read; its contents are not looked at.
 */
bool
local_wal_read_page(TimeLineID tli, XLogRecPtr pageptr, char *buf)
{
	XLogSegNo	segno;
	ssize_t		nread;

	XLByteToSeg(pageptr, segno, wal_segment_size);
	if (!open_segment(tli, segno))
		return false;

	pgstat_report_wait_start(WAIT_EVENT_WAL_READ);
	nread = pg_pread(open_fd, buf, XLOG_BLCKSZ,
					 XLogSegmentOffset(pageptr, wal_segment_size));
	pgstat_report_wait_end();
	if (nread > 0)
		count_wal_read(nread);
	return nread == XLOG_BLCKSZ;
}

/* Is there a file for a segment, of a segment's size? */
static bool
segment_exists(TimeLineID tli, XLogSegNo segno)
{
	char		path[MAXPGPATH];
	struct stat st;

	XLogFilePath(path, tli, segno, wal_segment_size);
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		st.st_size == wal_segment_size;
}

/*
 * Does a segment's file begin with a page of that very segment?  A file that
 * was recycled and waits to be used still begins with the page of an earlier
 * one.  The page may be of an older timeline if that ended in this segment.
 */
static bool
segment_in_use(TimeLineID tli, XLogSegNo segno, uint64 system_identifier)
{
	char		path[MAXPGPATH];
	XLogLongPageHeaderData hdr;
	XLogRecPtr	start;
	bool		got_header;
	int			fd;

	XLogFilePath(path, tli, segno, wal_segment_size);
	fd = BasicOpenFile(path, O_RDONLY | PG_BINARY);
	if (fd < 0)
		return false;
	got_header = pg_pread(fd, (char *) &hdr, sizeof(hdr), 0) == sizeof(hdr);
	(void) close(fd);

	XLogSegNoOffsetToRecPtr(segno, 0, wal_segment_size, start);
	return got_header &&
		hdr.std.xlp_magic == XLOG_PAGE_MAGIC &&
		(hdr.std.xlp_info & XLP_LONG_HEADER) != 0 &&
		hdr.std.xlp_pageaddr == start &&
		hdr.std.xlp_tli <= tli &&
		hdr.xlp_sysid == system_identifier &&
		hdr.xlp_seg_size == wal_segment_size &&
		hdr.xlp_xlog_blcksz == XLOG_BLCKSZ;
}

/*
 * Find the last segment of timeline 'tli' that pg_wal has without a gap from
 * the segment of 'from' on, and return its first byte's position, or
 * InvalidXLogRecPtr if there is not even the segment of 'from'.
 *
 * Segments are filled in order, so those that wait to be used are the last
 * ones, and a binary search finds the boundary: this reads a header or two
 * dozen, however many segments there are.  Should one in the middle have a
 * damaged header, the search may end there; so it does with a record that is
 * damaged when it is reached.
 */
XLogRecPtr
local_wal_last_segment(TimeLineID tli, XLogRecPtr from, uint64 system_identifier)
{
	XLogSegNo	used;			/* known to be in use */
	XLogSegNo	end;			/* known not to be, or not to exist */
	XLogRecPtr	result;

	XLByteToSeg(from, used, wal_segment_size);
	for (end = used; segment_exists(tli, end); end++)
		;
	if (end == used || !segment_in_use(tli, used, system_identifier))
		return InvalidXLogRecPtr;

	while (end - used > 1)
	{
		XLogSegNo	middle = used + (end - used) / 2;

		if (segment_in_use(tli, middle, system_identifier))
			used = middle;
		else
			end = middle;
	}
	XLogSegNoOffsetToRecPtr(used, 0, wal_segment_size, result);
	return result;
}
