/*-------------------------------------------------------------------------
 *
 * libc_hook.h
 *	  Replace one libc function in the calls that the server itself makes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PPG_LIBC_HOOK_H
#define PPG_LIBC_HOOK_H

extern bool libc_hook_install(const char *name, void *replacement,
							  void **original, const char **reason);

#endif							/* PPG_LIBC_HOOK_H */
