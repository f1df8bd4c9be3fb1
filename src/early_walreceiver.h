/*-------------------------------------------------------------------------
 *
 * early_walreceiver.h
 *	  Replication is back while local WAL is still being replayed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_EARLY_WALRECEIVER_H
#define PPG_EARLY_WALRECEIVER_H

extern void early_walreceiver_init(void);
extern Size early_walreceiver_shmem_size(void);
extern void early_walreceiver_shmem_startup(void);

#endif							/* PPG_EARLY_WALRECEIVER_H */
