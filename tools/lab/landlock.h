/* SPDX-License-Identifier: MIT */
/*
 * landlock.h -- which files a process may reach, by the kernel's Landlock.
 *
 *	landlock_begin   nothing is allowed
 *	landlock_allow   files and folders by their paths
 *	landlock_enter   from now on, for this process and all that it starts; there is no way back
 *
 * Where the kernel knows them, the walls also keep in TCP connections, abstract sockets and
 * signals.
 */
#ifndef NOPAL_LAB_LANDLOCK_H
#define NOPAL_LAB_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Rights of a process to a file, or to all files below a folder: bits. */
enum landlock_may {
	LANDLOCK_READ = 1,
	LANDLOCK_RUN = 2,   /* and read */
	LANDLOCK_WRITE = 4, /* also make and remove them */
	LANDLOCK_LINKS = 8, /* a link in a folder counts as the file that it leads to */
};

struct landlock {
	int rules;	/* a descriptor */
	uint64_t files; /* kinds of access that this kernel can refuse */
};

/* Negative: this kernel has no Landlock, and `why` says so with the fix. */
int landlock_begin(struct landlock *landlock, char *why, size_t room);
/* A path that is not there is no error.  Negative: the kernel refused, and `why` says so. */
int landlock_allow(const struct landlock *landlock, const char *path, unsigned may, char *why,
		   size_t room);
/* The regular files that lie directly in a folder and whose names end in one of the
 * `endings` (NULL-ended; NULL: any), but nothing in folders below it. */
int landlock_allow_files(const struct landlock *landlock, const char *folder,
			 const char *const *endings, unsigned may, char *why, size_t room);
/* Also takes away the right to gain privileges by a program.  The rules' descriptor is closed. */
int landlock_enter(struct landlock *landlock, char *why, size_t room);

#endif
