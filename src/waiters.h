/*-------------------------------------------------------------------------
 *
 * waiters.h
 *	  Backends that sleep until this server has reached an LSN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_WAITERS_H
#define PPG_WAITERS_H

#include "access/xlogdefs.h"

/* What is to have reached the LSN. */
typedef enum WaitMode
{
	WAIT_MODE_STANDBY_REPLAY,
	WAIT_MODE_STANDBY_WRITE,
	WAIT_MODE_STANDBY_FLUSH,
	WAIT_MODE_PRIMARY_FLUSH
} WaitMode;

#define WAIT_NMODES			(WAIT_MODE_PRIMARY_FLUSH + 1)
#define WAIT_NSTANDBY_MODES	(WAIT_MODE_STANDBY_FLUSH + 1)

/* How a wait ended. */
typedef enum WaitOutcome
{
	WAIT_OUTCOME_SUCCESS,
	WAIT_OUTCOME_TIMEOUT,
	WAIT_OUTCOME_NOT_IN_RECOVERY,
	WAIT_OUTCOME_CANCELED,		/* query cancel or statement_timeout */
	WAIT_OUTCOME_FAILED			/* any other error, or end of the backend */
} WaitOutcome;

#define WAIT_NOUTCOMES		(WAIT_OUTCOME_FAILED + 1)

extern void waiters_init(void);
extern void waiters_shmem_request(void);
extern Size waiters_shmem_size(void);
extern void waiters_shmem_startup(void);
extern void waiters_reset(void);

extern const char *wait_mode_name(WaitMode mode);
extern XLogRecPtr wait_mode_position(WaitMode mode);
extern WaitOutcome wait_until_reached(WaitMode mode, XLogRecPtr target, int timeout);

#endif							/* PPG_WAITERS_H */
