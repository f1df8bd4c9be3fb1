/*-------------------------------------------------------------------------
 *
 * walreceiver_hook.h
 *	  A callback in the walreceiver, for WAL written and flushed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_WALRECEIVER_HOOK_H
#define PPG_WALRECEIVER_HOOK_H

extern void walreceiver_hook_install(void (*progressed) (void));

#endif							/* PPG_WALRECEIVER_HOOK_H */
