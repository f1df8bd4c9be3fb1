/*-------------------------------------------------------------------------
 *
 * pause.h
 *	  Rest core's look-ahead while replay does well without it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_PAUSE_H
#define PPG_PAUSE_H

extern void pause_note_request(bool alone);
extern bool pause_is_on(void);
extern void pause_reading(void);
extern void pause_read(void);
extern void pause_progress(uint64 records, bool wanted);
extern void pause_reset(void);

#endif							/* PPG_PAUSE_H */
