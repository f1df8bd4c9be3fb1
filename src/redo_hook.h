/*-------------------------------------------------------------------------
 *
 * redo_hook.h
 *	  Callbacks in the startup process, for every WAL record applied.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_REDO_HOOK_H
#define PPG_REDO_HOOK_H

#include "access/xlogreader.h"

/*
 * What a module wants to be told.  Any member may be NULL.  All of them run in
 * the startup process and must not raise errors, allocate, or wait.
 */
typedef struct RedoCallbacks
{
	void		(*begin) (void);	/* redo is about to start */
	void		(*applied) (XLogReaderState *record);	/* a record was applied */
	void		(*end) (void);	/* redo is over, the server will open */
} RedoCallbacks;

extern void redo_hook_register(const RedoCallbacks *callbacks);
extern void redo_hook_install(void);
extern XLogReaderState *redo_hook_reader(void);

#endif							/* PPG_REDO_HOOK_H */
