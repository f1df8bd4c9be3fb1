/*
 * Preloaded by the dynamic linker (LD_PRELOAD), this makes mprotect() refuse to
 * make memory writable, as hardened systems do for a program's own pages.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int
mprotect(void *addr, size_t len, int prot)
{
	if (prot & PROT_WRITE)
	{
		errno = EACCES;
		return -1;
	}
	return (int) syscall(SYS_mprotect, addr, len, prot);
}
