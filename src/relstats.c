/*-------------------------------------------------------------------------
 *
 * relstats.c
 *	  The relations that recovery prefetch asks for most.
 *
 * A standby may replay changes of any number of relations, but there is only
 * room for max_relations of them.  This is the space-saving algorithm (Metwally,
 * Agrawal, El Abbadi: "Efficient Computation of Frequent and Top-k Elements in
 * Data Streams", 2005): a relation that has no entry takes over the entry of
 * the relation with the fewest requests, and inherits its number as the
 * greatest number of requests that it may have had unseen.  A relation with
 * more than 1/max_relations of all requests is thus always there, however many
 * small ones come along.
 *
 * The entry to take over comes from a heap.  Counting does not touch the heap;
 * since numbers only grow, an entry at the top whose number there is out of
 * date is simply put back with its present one.
 *
 * Entries are in shared memory and written by the startup process alone.
 * Each has a change count, odd while the entry is being written, by which
 * readers notice that they saw half a change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"
#include "compat.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/pg_lsn.h"
#include "utils/tuplestore.h"

#include "pg_prefetch_guard.h"
#include "relstats.h"

#define NO_ENTRY	(-1)

/* What readers see of a relation. */
typedef struct RelationCounts
{
	RelFileLocator rlocator;
	uint64		verdict[GUARD_NVERDICTS];	/* since it has this entry */
	uint64		unseen;			/* requests it may have had before, at most */
	XLogRecPtr	last_lsn;		/* record of the last request */
} RelationCounts;

typedef struct RelationEntry
{
	pg_atomic_uint32 changes;	/* odd while 'counts' is being written */
	RelationCounts counts;
	int			next;			/* in its bucket; startup process only */
} RelationEntry;

typedef struct RelstatsShared
{
	pg_atomic_uint32 nused;		/* entries in use */
	RelationEntry entry[FLEXIBLE_ARRAY_MEMBER];
} RelstatsShared;

/* Setting */
static int	max_relations = 200;

static RelstatsShared *shared = NULL;

/*
 * Used in the startup process only, but allocated in the postmaster, so that
 * the startup process never has to allocate anything.
 */
static int *bucket;				/* max_relations of them */
static uint64 *heap_key;		/* an entry's number of requests when it was
								 * put into the heap */
static binaryheap *heap;		/* entries, the one with the fewest first */

SQL_FUNCTION(pg_stat_get_prefetch_guard_relations);

/* Define the setting. */
void
relstats_init(void)
{
	DefineCustomIntVariable("pg_prefetch_guard.max_relations",
							"Sets the number of relations whose prefetch requests are counted.",
							"Relations with the most requests are kept.",
							&max_relations,
							200,
							10,
							100000,
							PGC_POSTMASTER,
							0,
							NULL, NULL, NULL);
}

/* Shared memory needed, in bytes. */
Size
relstats_shmem_size(void)
{
	return add_size(offsetof(RelstatsShared, entry),
					mul_size(max_relations, sizeof(RelationEntry)));
}

/* Heap order: the binary heap has the greatest first, we want the smallest. */
static int
compare_heap_keys(Datum a, Datum b, void *arg)
{
	uint64		key_a = heap_key[DatumGetInt32(a)];
	uint64		key_b = heap_key[DatumGetInt32(b)];

	return key_a < key_b ? 1 : (key_a > key_b ? -1 : 0);
}

void
relstats_shmem_startup(void)
{
	bool		found;

	shared = ShmemInitStruct("pg_prefetch_guard relations", relstats_shmem_size(), &found);
	if (!found)
	{
		pg_atomic_init_u32(&shared->nused, 0);
		for (int i = 0; i < max_relations; i++)
			pg_atomic_init_u32(&shared->entry[i].changes, 0);
	}

	if (heap == NULL)			/* not after a crash restart */
	{
		MemoryContext old = MemoryContextSwitchTo(room_memory());

		bucket = palloc(max_relations * sizeof(int));
		heap_key = palloc(max_relations * sizeof(uint64));
		heap = binaryheap_allocate(max_relations, compare_heap_keys, NULL);
		MemoryContextSwitchTo(old);
	}
	relstats_clear();
}

/* Forget all relations.  Postmaster, before there are any, and startup process. */
void
relstats_clear(void)
{
	for (int i = 0; i < max_relations; i++)
		bucket[i] = NO_ENTRY;
	binaryheap_reset(heap);
	pg_atomic_write_u32(&shared->nused, 0);
}

/* All requests that a relation had or may have had. */
static uint64
total_requests(const RelationCounts *counts)
{
	uint64		total = counts->unseen;

	for (int i = 0; i < GUARD_NVERDICTS; i++)
		total += counts->verdict[i];
	return total;
}

static int *
relation_bucket(const RelFileLocator *rlocator)
{
	uint32		hash = murmurhash32(rlocator->relNumber);

	hash = hash_combine(hash, murmurhash32(rlocator->dbOid));
	return &bucket[hash_combine(hash, rlocator->spcOid) % max_relations];
}

/* The entry of a relation, or NULL. */
static RelationEntry *
find_entry(const RelFileLocator *rlocator)
{
	for (int i = *relation_bucket(rlocator); i != NO_ENTRY; i = shared->entry[i].next)
		if (RelFileLocatorEquals(shared->entry[i].counts.rlocator, *rlocator))
			return &shared->entry[i];
	return NULL;
}

/* Begin and end of a change of what readers see of an entry. */
static void
begin_change(RelationEntry *entry)
{
	pg_atomic_write_u32(&entry->changes, pg_atomic_read_u32(&entry->changes) + 1);
	pg_write_barrier();			/* pairs with read_entry() */
}

static void
end_change(RelationEntry *entry)
{
	pg_write_barrier();			/* pairs with read_entry() */
	pg_atomic_write_u32(&entry->changes, pg_atomic_read_u32(&entry->changes) + 1);
}

/* Get a consistent copy of an entry's counts. */
static RelationCounts
read_entry(RelationEntry *entry)
{
	RelationCounts counts;
	uint32		before,
				after;

	do
	{
		CHECK_FOR_INTERRUPTS();
		before = pg_atomic_read_u32(&entry->changes);
		pg_read_barrier();		/* pairs with begin_change() */
		counts = entry->counts;
		pg_read_barrier();		/* pairs with end_change() */
		after = pg_atomic_read_u32(&entry->changes);
	} while (before != after || (before & 1));
	return counts;
}

/* Take the entry with the fewest requests from its relation. */
static int
take_smallest_entry(void)
{
	int			smallest = DatumGetInt32(binaryheap_first(heap));
	int		   *link;

	while (heap_key[smallest] != total_requests(&shared->entry[smallest].counts))
	{
		heap_key[smallest] = total_requests(&shared->entry[smallest].counts);
		binaryheap_replace_first(heap, Int32GetDatum(smallest));
		smallest = DatumGetInt32(binaryheap_first(heap));
	}

	link = relation_bucket(&shared->entry[smallest].counts.rlocator);
	while (*link != smallest)
		link = &shared->entry[*link].next;
	*link = shared->entry[smallest].next;
	return smallest;
}

/* Give an entry to a relation that has none. */
static RelationEntry *
new_entry(const RelFileLocator *rlocator)
{
	uint32		nused = pg_atomic_read_u32(&shared->nused);
	bool		take_over = nused >= max_relations;
	int			i = take_over ? take_smallest_entry() : nused;
	RelationEntry *entry = &shared->entry[i];
	int		   *link = relation_bucket(rlocator);

	begin_change(entry);
	entry->counts.unseen = take_over ? total_requests(&entry->counts) : 0;
	memset(entry->counts.verdict, 0, sizeof(entry->counts.verdict));
	entry->counts.rlocator = *rlocator;
	entry->counts.last_lsn = InvalidXLogRecPtr;
	end_change(entry);

	entry->next = *link;
	*link = i;
	if (!take_over)
	{
		heap_key[i] = 0;
		binaryheap_add(heap, Int32GetDatum(i));
		pg_write_barrier();		/* pairs with the reading of nused */
		pg_atomic_write_u32(&shared->nused, nused + 1);
	}
	return entry;
}

/*
 * Count a request for a block of a relation, made for the record at 'lsn'.
 * Startup process only.
 */
void
relstats_count(const RelFileLocator *rlocator, GuardVerdict verdict, XLogRecPtr lsn)
{
	RelationEntry *entry = find_entry(rlocator);

	if (entry == NULL)
		entry = new_entry(rlocator);
	begin_change(entry);
	entry->counts.verdict[verdict]++;
	entry->counts.last_lsn = lsn;
	end_change(entry);
}

/*
 * pg_stat_get_prefetch_guard_relations() returns setof record: the rows of the
 * view pg_stat_prefetch_guard_relations, but for the relation's name.  The
 * documentation has the columns.
 */
Datum
pg_stat_get_prefetch_guard_relations(PG_FUNCTION_ARGS)
{
#define RELATION_COLS	11
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	uint32		nused;

	require_preloaded();
	InitMaterializedSRF(fcinfo, 0);

	nused = guard_counters_are_current() ? pg_atomic_read_u32(&shared->nused) : 0;
	pg_read_barrier();			/* pairs with new_entry() */
	for (int i = 0; i < nused; i++)
	{
		RelationCounts c = read_entry(&shared->entry[i]);
		Datum		values[RELATION_COLS];
		bool		nulls[RELATION_COLS] = {0};
		int			col = 0;

		values[col++] = ObjectIdGetDatum(c.rlocator.dbOid);
		values[col++] = ObjectIdGetDatum(c.rlocator.spcOid);
		values[col++] = ObjectIdGetDatum(c.rlocator.relNumber);
		values[col++] = Int64GetDatum(total_requests(&c) - c.unseen);
		for (int v = 0; v < GUARD_NVERDICTS; v++)
			values[col++] = Int64GetDatum(c.verdict[v]);
		values[col++] = Int64GetDatum(c.unseen);
		values[col++] = LSNGetDatum(c.last_lsn);
		nulls[col - 1] = XLogRecPtrIsInvalid(c.last_lsn);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
