/*-------------------------------------------------------------------------
 *
 * redo_hook.h
 *	  Follow WAL replay in the startup process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_REDO_HOOK_H
#define PPG_REDO_HOOK_H

#include "access/xlogreader.h"

/*
 * What a module wants to be told.  Any member may be NULL.  All of them run in
 * the startup process and must not raise errors, allocate, or wait.
 *
 * There is no callback for each record, since that would cost replay more than
 * all that we do.  'progress' comes for the first record, and then at the latest
 * when REDO_PROGRESS_BYTES of WAL have been applied.  'reading' comes before WAL
 * is read, so that nothing needs to be owed while the startup process waits for
 * more, and 'read' after that.  'reached' comes for the very record, if somebody
 * has asked for it with redo_hook_await().
 */
typedef struct RedoCallbacks
{
	void		(*begin) (void);	/* redo is about to start */
	void		(*reached) (XLogRecPtr applied);	/* the LSN awaited, or more */
	void		(*progress) (XLogReaderState *reader);	/* records were applied */
	void		(*reading) (void);	/* WAL is about to be read */
	void		(*read) (void); /* it was read */
	void		(*end) (void);	/* redo is over, the server will open */
} RedoCallbacks;

#define REDO_PROGRESS_BYTES	8192

/*
 * What this process has applied.  The members that grow with each record are
 * kept apart, or gcc joins the two additions to one that takes more instructions.
 */
typedef struct RedoProgress
{
	uint64		records;
	uint64		image_bytes;	/* length of the page images in them */
	uint64		bytes;			/* length of these records */
} RedoProgress;

extern void redo_hook_register(const RedoCallbacks *callbacks);
extern Size redo_hook_shmem_size(void);
extern void redo_hook_shmem_startup(void);
extern void redo_hook_await(XLogRecPtr lsn);
extern XLogRecPtr redo_hook_applied(void);
extern XLogReaderState *redo_hook_reader(void);
extern void redo_hook_next_record(void);
extern const RedoProgress *redo_hook_progress(void);

#endif							/* PPG_REDO_HOOK_H */
