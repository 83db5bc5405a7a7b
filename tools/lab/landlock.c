/* SPDX-License-Identifier: MIT */
/*
 * landlock.c -- the kernel's Landlock, by its system calls.
 *
 * The constants are the kernel's (include/uapi/linux/landlock.h).  They stand here as a system's
 * header may be older than its kernel: rights that the header does not know must be refused, too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/landlock.h"

/* The same numbers on all machines. */
enum { LANDLOCK_CREATE = 444, LANDLOCK_ADD = 445, LANDLOCK_RESTRICT = 446 };
enum { LANDLOCK_ASK_VERSION = 1, LANDLOCK_PATH_BENEATH = 1 };

enum {
	LANDLOCK_EXECUTE = 1 << 0,
	LANDLOCK_WRITE_FILE = 1 << 1,
	LANDLOCK_READ_FILE = 1 << 2,
	LANDLOCK_READ_FOLDER = 1 << 3,
	LANDLOCK_REMOVE_FILE = 1 << 5,
	LANDLOCK_MAKE_FILE = 1 << 8,
	LANDLOCK_TRUNCATE = 1 << 14, /* version 3 */
	/* what a rule for a file, not a folder, can have */
	LANDLOCK_OF_FILES =
		LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE,
	LANDLOCK_ALL_TCP = 3,	 /* bind, connect: version 4 */
	LANDLOCK_ALL_SCOPES = 3, /* abstract sockets, signals: version 6 */
};

struct landlock_attributes {
	uint64_t files, tcp, scopes;
};
struct landlock_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

/* All rights about files that a version knows are the lowest bits, this many. */
static uint64_t landlock_all_files(long version)
{
	static const int bits[] = { 0, 13, 14, 15, 15, 16 };
	const long last = (long)(sizeof(bits) / sizeof(*bits)) - 1;

	return (UINT64_C(1) << bits[version < last ? version : last]) - 1;
}

int landlock_begin(struct landlock *landlock, char *why, size_t room)
{
	long version = syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_ASK_VERSION);
	struct landlock_attributes refused = { 0 };

	if (version < 1) {
		snprintf(why, room,
			 "this kernel has no Landlock (%s)\n  fix: Linux 5.13 or later, with "
			 "`landlock` among the modules of its parameter lsm=",
			 strerror(errno));
		return -ENOSYS;
	}
	landlock->files = landlock_all_files(version);
	refused.files = landlock->files;
	if (version >= 4)
		refused.tcp = LANDLOCK_ALL_TCP;
	if (version >= 6)
		refused.scopes = LANDLOCK_ALL_SCOPES;
	landlock->rules = (int)syscall(LANDLOCK_CREATE, &refused, sizeof(refused), 0);
	if (landlock->rules < 0) {
		snprintf(why, room, "Landlock refuses: %s", strerror(errno));
		return -errno;
	}
	return 0;
}

static int landlock_add(const struct landlock *landlock, int folder, const char *name, unsigned may,
			char *why, size_t room)
{
	struct landlock_beneath rule = { 0 };
	struct stat about;
	int error = 0;

	rule.parent = openat(folder, name, O_PATH | O_CLOEXEC);
	if (rule.parent < 0 || fstat(rule.parent, &about) != 0) {
		if (rule.parent >= 0)
			close(rule.parent);
		return 0;
	}
	if (may & (LANDLOCK_READ | LANDLOCK_RUN))
		rule.allowed |= LANDLOCK_READ_FILE | LANDLOCK_READ_FOLDER;
	if (may & LANDLOCK_RUN)
		rule.allowed |= LANDLOCK_EXECUTE;
	if (may & LANDLOCK_WRITE)
		rule.allowed |= LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_MAKE_FILE |
				LANDLOCK_REMOVE_FILE;
	if (!S_ISDIR(about.st_mode))
		rule.allowed &= LANDLOCK_OF_FILES;
	rule.allowed &= landlock->files;
	if (syscall(LANDLOCK_ADD, landlock->rules, LANDLOCK_PATH_BENEATH, &rule, 0) != 0) {
		error = errno;
		snprintf(why, room, "Landlock refuses a rule for %s: %s", name, strerror(error));
	}
	close(rule.parent);
	return -error;
}

int landlock_allow(const struct landlock *landlock, const char *path, unsigned may, char *why,
		   size_t room)
{
	return landlock_add(landlock, AT_FDCWD, path, may, why, room);
}

static bool landlock_ends(const char *name, const char *const *endings)
{
	size_t length = strlen(name);

	for (const char *const *ending = endings; ending && *ending; ending++) {
		size_t tail = strlen(*ending);

		if (length >= tail && strcmp(name + length - tail, *ending) == 0)
			return true;
	}
	return !endings;
}

int landlock_allow_files(const struct landlock *landlock, const char *folder,
			 const char *const *endings, unsigned may, char *why, size_t room)
{
	DIR *names = opendir(folder);
	const int links = may & LANDLOCK_LINKS ? 0 : AT_SYMLINK_NOFOLLOW;
	struct dirent *entry;
	struct stat about;
	int result = 0;

	if (!names)
		return 0;
	while (result == 0 && (entry = readdir(names))) {
		if (landlock_ends(entry->d_name, endings) &&
		    fstatat(dirfd(names), entry->d_name, &about, links) == 0 &&
		    S_ISREG(about.st_mode))
			result =
				landlock_add(landlock, dirfd(names), entry->d_name, may, why, room);
	}
	closedir(names);
	return result;
}

int landlock_enter(struct landlock *landlock, char *why, size_t room)
{
	int error = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(LANDLOCK_RESTRICT, landlock->rules, 0) != 0) {
		error = errno;
		snprintf(why, room, "Landlock refuses: %s", strerror(error));
	}
	close(landlock->rules);
	landlock->rules = -1;
	return -error;
}
