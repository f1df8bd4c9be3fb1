# pg_prefetch_guard: build, install and test with PGXS.
#
#	make [PG_CONFIG=...]		build
#	make install				install into that server
#	make installcheck			test what is installed, on servers of its own
#	make check-unit				test the parts that need no server
#	make bench-unit				measure what one decision costs
#	make lab					build the client programs in test/lab
#	make check-clang			see that clang has nothing to warn of
#
# ./run does all of this from nothing.

MODULE_big = pg_prefetch_guard
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard $(srcdir)src/*.c)))
PGFILEDESC = "pg_prefetch_guard - guards standbys against useless recovery prefetch"

EXTENSION = pg_prefetch_guard
DATA = sql/pg_prefetch_guard--1.0.sql

# Callbacks do not need all that they are given, and the server's own idiom is
# "for (int i = 0; i < lengthof(array); i++)".
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -fvisibility=hidden

# clang remarks on the flags and headers of a server that was built with gcc.
ifneq ($(findstring clang,$(CC)),)
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-attributes \
	-Wno-ignored-optimization-argument
endif

# pg_regress and the TAP tests start their own servers from what is installed.
# pg_regress runs twice: on a server that has the library preloaded, and
# (installcheck-not-preloaded) on one that has not.
REGRESS = surface privileges settings wait_lsn
REGRESS_OPTS = --inputdir=test --outputdir=tmp_regress \
	--temp-instance=tmp_regress/instance --temp-config=test/regress.conf
TAP_TESTS = 1
PROVE_TESTS ?= $(sort $(wildcard test/t/*.pl))
EXTRA_CLEAN = tmp_check tmp_regress tmp_unit $(LAB_PROGRAMS)

# Client programs; some tests run them.
LAB_PROGRAMS = test/lab/wait_bench test/lab/wait_stress

# No bitcode: queries call nothing here that would be worth inlining.
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Makefile.global, just included, sets this and PROVE_FLAGS, which is the user's.
PG_PROVE_FLAGS += -I $(srcdir)/test/perl

$(OBJS): $(wildcard src/*.h)

installcheck-not-preloaded:
	mkdir -p tmp_regress/not_preloaded
	$(pg_regress_installcheck) --inputdir=test --outputdir=tmp_regress/not_preloaded \
		--temp-instance=tmp_regress/not_preloaded/instance --dbname=$(CONTRIB_TESTDB) not_preloaded
ifneq ($(REGRESS),)
installcheck: installcheck-not-preloaded
endif
.PHONY: installcheck-not-preloaded

# The parts that need no server: tests print TAP lines, benchmarks figures.
UNIT_DIR = tmp_unit
UNIT_TESTS = lookahead_test streams_test libc_hook_test libc_hook_lazy_test
UNIT_BENCHES = decision_bench
UNIT_HEADERS = $(wildcard test/unit/*.h src/*.h)
UNIT_COMPILE = $(CC) $(CFLAGS) $(CPPFLAGS) -Isrc

$(UNIT_DIR)/%.o: test/unit/%.c $(UNIT_HEADERS)
	@mkdir -p $(UNIT_DIR)
	$(UNIT_COMPILE) -c -o $@ $<

$(UNIT_DIR)/lookahead_test: $(addprefix $(UNIT_DIR)/,lookahead_test.o queue.o tap.o) src/lookahead.o
$(UNIT_DIR)/streams_test: $(addprefix $(UNIT_DIR)/,streams_test.o tap.o) src/streams.o
$(UNIT_DIR)/libc_hook_test: $(addprefix $(UNIT_DIR)/,libc_hook_test.o tap.o) src/libc_hook.o
$(UNIT_DIR)/libc_hook_lazy_test: $(addprefix $(UNIT_DIR)/,libc_hook_test.o tap.o) src/libc_hook.o
$(UNIT_DIR)/libc_hook_lazy_test: LDFLAGS += -Wl,-z,lazy
$(UNIT_DIR)/decision_bench: $(addprefix $(UNIT_DIR)/,decision_bench.o tap.o) src/lookahead.o src/streams.o
$(addprefix $(UNIT_DIR)/,$(UNIT_TESTS) $(UNIT_BENCHES)):
	$(UNIT_COMPILE) $(LDFLAGS) -o $@ $^

check-unit: $(addprefix $(UNIT_DIR)/,$(UNIT_TESTS)) all
	$(PROVE) $(PG_PROVE_FLAGS) $(PROVE_FLAGS) -v -e '' \
		$(addprefix $(UNIT_DIR)/,$(UNIT_TESTS)) test/unit/exports_test.sh

bench-unit: $(addprefix $(UNIT_DIR)/,$(UNIT_BENCHES))
	for bench in $^; do $$bench || exit; done

.PHONY: check-unit bench-unit

lab: $(LAB_PROGRAMS)
installcheck: lab
$(LAB_PROGRAMS): %: %.c test/lab/client.h
	$(CC) -O2 -g -Wall -Wextra -I$(includedir) -o $@ $< -L$(libdir) -lpq -lpthread -lm
.PHONY: lab

# The server's headers suit the compiler that it was built with.
check-clang:
	$(CLANG) -fsyntax-only -Werror $(PG_CFLAGS) $(CPPFLAGS:-I%=-isystem %) $(OBJS:.o=.c)
.PHONY: check-clang
