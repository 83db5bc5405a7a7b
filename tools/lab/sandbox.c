/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c -- the walls, one after another: descriptors, limits, user, files, calls.
 *
 * The order matters.  Rules about files are made while all files can be reached; the user changes
 * before the files and the calls are kept in; the filter of calls comes last, as it would forbid
 * the others.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <link.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/filter.h"
#include "lab/landlock.h"
#include "lab/sandbox.h"

enum {
	SANDBOX_NOBODY = 65534,
	SANDBOX_DESCRIPTORS = 64,
	SANDBOX_STACK_BYTES = 8 << 20,
	SANDBOX_CLOSE_RANGE = 436, /* the same number on all machines */
};

/* Where the reason is put. */
struct sandbox_why {
	char *text;
	size_t room;
};

static int sandbox_cannot(struct sandbox_why why, const char *what)
{
	int error = errno ? errno : EPERM;

	snprintf(why.text, why.room, "cannot %s: %s", what, strerror(error));
	return -error;
}

/* ------------------------------------------------------------------------ files */

struct sandbox_objects {
	const struct landlock *landlock;
	struct sandbox_why why;
};

/* A sanitizer reads the objects for the names of functions.  The program itself has no name. */
static int sandbox_allow_object(struct dl_phdr_info *object, size_t size, void *context)
{
	const struct sandbox_objects *objects = context;
	const char *path = *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";

	(void)size;
	return landlock_allow(objects->landlock, path, LANDLOCK_READ, objects->why.text,
			      objects->why.room);
}

static int sandbox_allow(const struct sandbox *sandbox, struct landlock *landlock,
			 struct sandbox_why why)
{
	struct sandbox_objects objects = { .landlock = landlock, .why = why };
	int result = landlock_begin(landlock, why.text, why.room);

	for (const char *const *path = sandbox->readable; result == 0 && path && *path; path++)
		result = landlock_allow(landlock, *path, LANDLOCK_READ, why.text, why.room);
	if (result == 0)
		result = dl_iterate_phdr(sandbox_allow_object, &objects);
	return result;
}

/* ------------------------------------------------------------------ descriptors */

static int sandbox_by_number(const void *one, const void *other)
{
	return *(const int *)one - *(const int *)other;
}

/* Closes the gaps between those that stay. */
static int sandbox_close_others(const struct sandbox *sandbox, int rules, struct sandbox_why why)
{
	int kept[SANDBOX_DESCRIPTORS];
	size_t count = 0;
	unsigned from = 0;

	for (size_t i = 0; i < sandbox->descriptor_count && count < SANDBOX_DESCRIPTORS - 1; i++)
		kept[count++] = sandbox->descriptors[i];
	kept[count++] = rules;
	qsort(kept, count, sizeof(*kept), sandbox_by_number);
	for (size_t i = 0; i <= count; i++) {
		const unsigned to = i < count ? (unsigned)kept[i] : UINT32_MAX;

		if (from < to &&
		    syscall(SANDBOX_CLOSE_RANGE, from, i < count ? to - 1 : to, 0) != 0)
			return sandbox_cannot(why, "close descriptors");
		from = to + 1;
	}
	return 0;
}

/* ----------------------------------------------------------------------- limits */

static int sandbox_limit(const struct sandbox *sandbox, struct sandbox_why why)
{
	/* a sanitizer's shadow is address space without end, also where this program has one */
	const bool shadowed = sandbox->memory_bytes == 0 || dlsym(RTLD_DEFAULT, "__asan_init");
	const struct {
		unsigned resource;
		int64_t most;
		bool unbound;
	} limits[] = {
		{ RLIMIT_FSIZE, sandbox->file_bytes, false },
		{ RLIMIT_NOFILE, SANDBOX_DESCRIPTORS, false },
		{ RLIMIT_CORE, 0, false },
		{ RLIMIT_NPROC, 0, false },
		{ RLIMIT_STACK, SANDBOX_STACK_BYTES, false },
		{ RLIMIT_MEMLOCK, 0, false },
		{ RLIMIT_AS, sandbox->memory_bytes, shadowed },
		{ RLIMIT_CPU, sandbox->processor_seconds, sandbox->processor_seconds == 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct rlimit had, limit = { .rlim_cur = (rlim_t)limits[i].most };

		if (limits[i].unbound || getrlimit(limits[i].resource, &had) != 0)
			continue;
		if (limit.rlim_cur > had.rlim_max)
			limit.rlim_cur = had.rlim_max;
		limit.rlim_max = limit.rlim_cur;
		if (setrlimit(limits[i].resource, &limit) != 0)
			return sandbox_cannot(why, "set a limit");
	}
	return 0;
}

/* ------------------------------------------------------------------------- user */

/* Root becomes nobody.  In a namespace that knows no nobody it stays root without capabilities,
 * who is an ordinary user outside.  The child dies with its parent. */
static int sandbox_drop(struct sandbox_why why)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const pid_t parent = getppid();
	bool dropped = true;

	if (geteuid() == 0)
		dropped = (setgroups(0, NULL) == 0 || errno == EPERM) &&
			  (setresgid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) == 0 ||
			   errno == EINVAL) &&
			  (setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) == 0 ||
			   errno == EINVAL);
	if (!dropped || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(__NR_capset, &header, none) != 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
		return sandbox_cannot(why, "give up privileges");
	return 0;
}

/* Nobody must be able to reach what root could. */
static int sandbox_look(const struct sandbox *sandbox, struct sandbox_why why)
{
	for (const char *const *path = sandbox->readable; path && *path; path++) {
		if (access(*path, R_OK) != 0 && errno == EACCES) {
			snprintf(why.text, why.room,
				 "the user nobody cannot read %s\n  fix: chmod o+rX on it and the "
				 "folders above it, or do not grade as root",
				 *path);
			return -EACCES;
		}
	}
	return 0;
}

int sandbox_enter(const struct sandbox *sandbox, char *why, size_t room)
{
	const struct sandbox_why out = { .text = why, .room = room };
	struct landlock landlock = { .rules = -1 };
	int result = sandbox_allow(sandbox, &landlock, out);

	if (result == 0)
		result = sandbox_close_others(sandbox, landlock.rules, out);
	if (result == 0)
		result = sandbox_limit(sandbox, out);
	if (result == 0)
		result = sandbox_drop(out);
	if (result == 0)
		result = sandbox_look(sandbox, out);
	if (result == 0)
		result = landlock_enter(&landlock, why, room);
	if (result == 0)
		result = filter_enter(sandbox->ret_call, why, room);
	return result;
}
