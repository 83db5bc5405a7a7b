/* SPDX-License-Identifier: MIT */
/*
 * serve_file.h -- files below a folder that are served, and the hashes of their blocks, each
 * computed once.
 *
 *   serve_file_open --> NEW --serve_file_step...--> KNOWN
 *                                             \--> FAILED
 *
 * A name is looked up one folder at a time, from the folder's descriptor, and no link is followed:
 * every served file is below the folder, whatever the names are.
 */
#ifndef NOPAL_SERVE_FILE_H
#define NOPAL_SERVE_FILE_H

#include <sys/types.h>

#include "file/file_blocks.h"
#include "file/source.h"

enum serve_file_state { SERVE_FILE_NEW, SERVE_FILE_KNOWN, SERVE_FILE_FAILED };

/* The contents of a file, known by its entry in the folder; several names may have the same. */
struct serve_file {
	struct serve_file *next; /* a file that was asked for before this one */
	dev_t device;
	ino_t inode;
	int64_t mtime_ns, ctime_ns;
	uint64_t size;
	enum serve_file_state state;
	unsigned users;
	struct source source;	   /* while it is new */
	struct file_blocks blocks; /* all known in state KNOWN */
	uint64_t hash;		   /* root of the blocks */
	char why[TRANSFER_TEXT_ROOM];
};

struct serve_files {
	int folder;
	struct serve_file *list;
	unsigned count;
};

/* Opens a file: *ret_source is the caller's own.  NULL: `why`. */
struct serve_file *serve_file_open(struct serve_files *files, const char *name,
				   struct source *ret_source, char *why);
void serve_file_close(struct serve_files *files, struct serve_file *file);
/* Reads on in a new file; NULL: no session waits for one. */
struct serve_file *serve_file_step(struct serve_files *files);
void serve_files_fini(struct serve_files *files);

#endif
