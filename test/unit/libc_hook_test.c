/*-------------------------------------------------------------------------
 *
 * libc_hook_test.c
 *	  Hook a function that this program calls itself.
 *
 * Built twice: with relocations done at load time and read-only since (as
 * distributions build the server), and with lazy binding, where the slot still
 * points into the program when it is replaced.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include <sys/mman.h>
#include <unistd.h>

#include "libc_hook.h"
#include "tap.h"

static pid_t (*next_getppid) (void) = NULL;
static int	calls = 0;

static pid_t
counting_getppid(void)
{
	calls++;
	return next_getppid();
}

/*
 * The memory map of this program without addresses: a change of protection
 * that was left behind shows as a changed or split region.
 */
static void
read_memory_map(char *buf, size_t size)
{
	FILE	   *maps = fopen("/proc/self/maps", "r");
	char		line[512];
	size_t		used = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "libc_hook") && used + strlen(line) < size)
			used += strlen(strcpy(buf + used, line));
	if (maps)
		fclose(maps);
	buf[used] = '\0';
}

int
main(void)
{
	static char before[8192],
				after[8192];
	pid_t		parent;
	void	   *original = NULL;
	const char *reason = NULL;

	read_memory_map(before, sizeof(before));
	ok(libc_hook_install("getppid", counting_getppid, &original, &reason), "getppid is hooked");
	read_memory_map(after, sizeof(after));
	ok(original != NULL && original != (void *) counting_getppid, "the original is known");
	next_getppid = (pid_t (*) (void)) original;
	ok(before[0] && strcmp(before, after) == 0, "pages have the protection that they had");

	parent = getppid();
	ok(calls == 1, "a call reaches the replacement");
	ok(parent == next_getppid() && parent > 0, "and through it the original");
	(void) getppid();
	ok(calls == 2, "so does the next");

	original = NULL;
	ok(libc_hook_install("getppid", counting_getppid, &original, &reason), "hooking it again succeeds");
	ok(original == NULL, "but replaces nothing");
	(void) getppid();
	ok(calls == 3, "and a call reaches the replacement once");

	ok(!libc_hook_install("no_such_function", counting_getppid, &original, &reason),
	   "a function that is not called can't be hooked");
	ok(original == NULL && reason != NULL, "which leaves everything alone and says why: %s", reason);
	return done_testing();
}
