/*-------------------------------------------------------------------------
 *
 * libc_hook.c
 *	  Replace one libc function in the calls that the server itself makes.
 *
 * A dynamically linked program reaches a libc function through a slot that
 * the dynamic linker fills in: the relocation entries of the program name the
 * function and tell where its slot is.  We find the slots of one function in
 * the main program (not in other libraries) and store our own function's
 * address there.  With full RELRO, as distributions build PostgreSQL, slots
 * are read-only by the time we run, so the page is made writable for the
 * store and then gets the protection back that it had.
 *
 * Done in the postmaster before any child exists, children inherit it by fork;
 * done in a child, it concerns that one alone.  Nothing here knows what the
 * function is for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libc_hook.h"

/* The relocation types whose slot holds nothing but a function's address. */
#if defined(__x86_64__) && defined(__LP64__)
#define SLOT_TYPE(t)	((t) == R_X86_64_JUMP_SLOT || (t) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define SLOT_TYPE(t)	((t) == R_AARCH64_JUMP_SLOT || (t) == R_AARCH64_GLOB_DAT)
#elif defined(__i386__)
#define SLOT_TYPE(t)	((t) == R_386_JMP_SLOT || (t) == R_386_GLOB_DAT)
#elif defined(__arm__)
#define SLOT_TYPE(t)	((t) == R_ARM_JUMP_SLOT || (t) == R_ARM_GLOB_DAT)
#elif defined(__riscv) && __riscv_xlen == 64
#define SLOT_TYPE(t)	((t) == R_RISCV_JUMP_SLOT || (t) == R_RISCV_64)
#elif defined(__s390x__)
#define SLOT_TYPE(t)	((t) == R_390_JMP_SLOT || (t) == R_390_GLOB_DAT)
#elif defined(__powerpc64__)
#define SLOT_TYPE(t)	((t) == R_PPC64_JMP_SLOT || (t) == R_PPC64_GLOB_DAT)
#endif

#ifdef __LP64__
#define RELOC_SYM(info)		ELF64_R_SYM(info)
#define RELOC_TYPE(info)	ELF64_R_TYPE(info)
#else
#define RELOC_SYM(info)		ELF32_R_SYM(info)
#define RELOC_TYPE(info)	ELF32_R_TYPE(info)
#endif

/* What the main program's dynamic section says. */
typedef struct Program
{
	ElfW(Addr) base;			/* load address */
	const ElfW(Phdr) *phdr;		/* its segments */
	int			phnum;
	const ElfW(Sym) *symtab;
	const char *strtab;
	/* three tables: PLT relocations, RELA, REL */
	struct
	{
		const char *start;
		size_t		bytes;
		bool		rela;		/* entries have an addend */
	}			reloc[3];
} Program;

/* A program has one slot for a function, or two: one to call, one to point to */
#define MAX_SLOTS	4

/* One search: the function wanted, and what was found. */
typedef struct SlotSearch
{
	const char *name;
	Program		program;
	void	  **slot[MAX_SLOTS];
	int			nslots;			/* may be more than MAX_SLOTS */
} SlotSearch;

/*
 * The dynamic linker relocates the pointers in the dynamic section on most
 * platforms, but not on all (RISC-V keeps it read-only): accept both.
 */
static const void *
dynamic_pointer(const Program *prog, ElfW(Addr) ptr)
{
	if (ptr < prog->base)
		ptr += prog->base;
	return (const void *) ptr;
}

/* Read the dynamic section; false if the program has none. */
static bool
read_dynamic_section(Program *prog)
{
	const		ElfW(Dyn) *dyn = NULL;
	bool		plt_has_addend = false;

	for (int i = 0; i < prog->phnum; i++)
		if (prog->phdr[i].p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *) (prog->base + prog->phdr[i].p_vaddr);
	if (dyn == NULL)
		return false;

	for (; dyn->d_tag != DT_NULL; dyn++)
	{
		switch (dyn->d_tag)
		{
			case DT_SYMTAB:
				prog->symtab = dynamic_pointer(prog, dyn->d_un.d_ptr);
				break;
			case DT_STRTAB:
				prog->strtab = dynamic_pointer(prog, dyn->d_un.d_ptr);
				break;
			case DT_PLTREL:
				plt_has_addend = (dyn->d_un.d_val == DT_RELA);
				break;
			case DT_JMPREL:
				prog->reloc[0].start = dynamic_pointer(prog, dyn->d_un.d_ptr);
				break;
			case DT_PLTRELSZ:
				prog->reloc[0].bytes = dyn->d_un.d_val;
				break;
			case DT_RELA:
				prog->reloc[1].start = dynamic_pointer(prog, dyn->d_un.d_ptr);
				break;
			case DT_RELASZ:
				prog->reloc[1].bytes = dyn->d_un.d_val;
				break;
			case DT_REL:
				prog->reloc[2].start = dynamic_pointer(prog, dyn->d_un.d_ptr);
				break;
			case DT_RELSZ:
				prog->reloc[2].bytes = dyn->d_un.d_val;
				break;
		}
	}
	prog->reloc[0].rela = plt_has_addend;
	prog->reloc[1].rela = true;
	return prog->symtab != NULL && prog->strtab != NULL;
}

/* Does an address lie in the main program itself? */
static bool
in_program(const Program *prog, const void *addr)
{
	for (int i = 0; i < prog->phnum; i++)
	{
		ElfW(Addr) start = prog->base + prog->phdr[i].p_vaddr;

		if (prog->phdr[i].p_type == PT_LOAD &&
			(ElfW(Addr)) addr >= start &&
			(ElfW(Addr)) addr < start + prog->phdr[i].p_memsz)
			return true;
	}
	return false;
}

/* The present protection of the page at addr, or -1 if that is not known. */
static int
page_protection(uintptr_t addr)
{
	FILE	   *maps = fopen("/proc/self/maps", "r");
	char		line[256];
	int			prot = -1;

	if (maps == NULL)
		return -1;
	while (prot < 0 && fgets(line, sizeof(line), maps) != NULL)
	{
		unsigned long start,
					end;
		char		perms[5];

		/* long file names come in several reads, which do not match */
		if (sscanf(line, "%lx-%lx %4s", &start, &end, perms) != 3 ||
			addr < start || addr >= end)
			continue;
		prot = (perms[0] == 'r' ? PROT_READ : 0) |
			(perms[1] == 'w' ? PROT_WRITE : 0) |
			(perms[2] == 'x' ? PROT_EXEC : 0);
	}
	fclose(maps);
	return prot;
}

/* Store a pointer into a slot whose page may be read-only. */
static bool
write_slot(void **slot, void *value)
{
	uintptr_t	pagesize = (uintptr_t) sysconf(_SC_PAGESIZE);
	void	   *page = (void *) ((uintptr_t) slot & ~(pagesize - 1));
	int			prot = page_protection((uintptr_t) slot);

	if (prot < 0)
		return false;
	if (!(prot & PROT_WRITE) &&
		mprotect(page, pagesize, prot | PROT_WRITE) != 0)
		return false;
	*slot = value;
	if (!(prot & PROT_WRITE))
		(void) mprotect(page, pagesize, prot);
	return true;
}

/*
 * What a slot makes the program call.  One that still points into the program
 * itself waits for lazy binding, which would overwrite a replacement at the
 * first call, so it is resolved now.  Anything else is passed on as it is, so
 * that another library's hook keeps working.
 */
static void *
slot_target(const SlotSearch *search, int i)
{
	void	   *target = *search->slot[i];

	if (in_program(&search->program, target))
		target = dlsym(RTLD_DEFAULT, search->name);
	return target;
}

/*
 * Put the replacement into all slots, or into none.  *original is set unless
 * it is there already.
 */
static bool
replace_slots(const SlotSearch *search, void *replacement, void **original)
{
	void	   *before[MAX_SLOTS];

	for (int i = 0; i < search->nslots; i++)
	{
		void	   *target = slot_target(search, i);

		before[i] = *search->slot[i];
		if (target == replacement)
			continue;
		if (target == NULL || !write_slot(search->slot[i], replacement))
		{
			while (--i >= 0)
				(void) write_slot(search->slot[i], before[i]);
			return false;
		}
		*original = target;
	}
	return true;
}

/* dl_iterate_phdr() callback: the first object is the main program. */
static int
search_main_program(struct dl_phdr_info *info, size_t size, void *arg)
{
#ifdef SLOT_TYPE
	SlotSearch *search = arg;
	Program    *prog = &search->program;

	prog->base = info->dlpi_addr;
	prog->phdr = info->dlpi_phdr;
	prog->phnum = info->dlpi_phnum;
	if (!read_dynamic_section(prog))
		return 1;

	for (int t = 0; t < lengthof(prog->reloc); t++)
	{
		size_t		entry = prog->reloc[t].rela ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));

		if (prog->reloc[t].start == NULL)
			continue;
		for (size_t at = 0; at + entry <= prog->reloc[t].bytes; at += entry)
		{
			/* both kinds of entry begin alike */
			const		ElfW(Rel) *rel = (const ElfW(Rel) *) (prog->reloc[t].start + at);
			const		ElfW(Sym) *sym = &prog->symtab[RELOC_SYM(rel->r_info)];

			if (!SLOT_TYPE(RELOC_TYPE(rel->r_info)) ||
				strcmp(prog->strtab + sym->st_name, search->name) != 0)
				continue;
			if (search->nslots < MAX_SLOTS)
				search->slot[search->nslots] = (void **) (prog->base + rel->r_offset);
			search->nslots++;
		}
	}
#endif
	return 1;
}

/*
 * Make the server call 'replacement' wherever it calls libc's function 'name'.
 *
 * *original is set to what it called before, for the replacement to pass calls
 * on to; it is left alone where nothing had to be replaced, so calling this
 * again does no harm.  Returns false, with *reason telling why in words fit
 * for a log message, if the function is not called through a slot that we know
 * how to replace.  The server then calls what it called before.
 */
bool
libc_hook_install(const char *name, void *replacement,
				  void **original, const char **reason)
{
	SlotSearch	search = {.name = name};

	dl_iterate_phdr(search_main_program, &search);

	if (search.nslots == 0)
	{
#ifdef SLOT_TYPE
		*reason = "the server program does not call it through a relocation slot";
#else
		*reason = "relocations of this processor architecture are not known";
#endif
		return false;
	}
	if (search.nslots > MAX_SLOTS)
	{
		*reason = "the server program calls it through too many relocation slots";
		return false;
	}
	if (!replace_slots(&search, replacement, original))
	{
		*reason = "its relocation slot could not be written";
		return false;
	}
	return true;
}
