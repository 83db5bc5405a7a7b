/* SPDX-License-Identifier: MIT */
/*
 * serve_file.c -- files below a folder that are served, and the hashes of their blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "transfer/serve_file.h"

/* Lists of hashes that are kept though no session has the file, and hashes in them. */
enum { SERVE_FILES_MAX = 256, SERVE_HASHES_MAX = 8 << 20 };

/* -------------------------------------------------------------------- looking up */

/* Every name in the path but the last one is that of a folder. */
static int serve_file_find(int folder, const char *path, char *why)
{
	const char *refused = transfer_path_refused(path), *rest = path, *cause;
	char name[TRANSFER_TEXT_ROOM];
	int at = folder, error = 0;

	if (refused) {
		/* the path is not repeated: any byte may be in it */
		snprintf(why, TRANSFER_TEXT_ROOM, "%s", refused);
		return -1;
	}
	while (rest && at >= 0) {
		int above = at;
		struct stat now;

		transfer_path_next(&rest, name);
		at = openat(above, name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
				    (rest ? O_DIRECTORY : 0));
		error = errno;
		/* with O_DIRECTORY, the error of a link is ENOTDIR */
		if (at < 0 && error == ENOTDIR &&
		    fstatat(above, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(now.st_mode))
			error = ELOOP;
		if (above != folder)
			close(above);
	}
	if (at >= 0)
		return at;
	cause = strerror(error);
	if (error == ENOENT || error == ENOTDIR)
		cause = "there is no such file";
	else if (error == ELOOP)
		cause = "links are not followed";
	transfer_wrong(why, path, cause);
	return -1;
}

/* --------------------------------------------------------------------- contents */

static void serve_file_free(struct serve_files *files, struct serve_file *file)
{
	struct serve_file **at = &files->list;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	files->count--;
	source_close(&file->source);
	file_blocks_fini(&file->blocks);
	free(file);
}

static struct serve_file *serve_file_add(struct serve_files *files, const struct serve_file *like,
					 const struct source *source, char *why)
{
	struct serve_file *file = malloc(sizeof(*file));
	int fd = file ? fcntl(source->fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (file)
		*file = *like;
	if (fd < 0 || !source_take(&file->source, fd, source->name, why)) {
		snprintf(why, TRANSFER_TEXT_ROOM, "%.160s: the server: %s", source->name,
			 strerror(errno));
		if (fd >= 0)
			close(fd);
		free(file);
		return NULL;
	}
	file_blocks_init(&file->blocks, like->size);
	file->next = files->list;
	files->list = file;
	files->count++;
	return file;
}

struct serve_file *serve_file_open(struct serve_files *files, const char *name,
				   struct source *ret_source, char *why)
{
	int fd = serve_file_find(files->folder, name, why);
	struct serve_file like = { .state = SERVE_FILE_NEW }, *file = files->list;
	struct stat now = { 0 };
	struct serve_file *oldest = NULL;
	uint64_t hashes = 0;

	if (fd < 0)
		return NULL;
	if (!source_take(ret_source, fd, name, why)) {
		source_close(ret_source);
		return NULL;
	}
	if (!file_blocks_fit(ret_source->size)) {
		transfer_wrong(why, ret_source->name, "it is longer than 2 TiB");
		source_close(ret_source);
		return NULL;
	}
	fstat(fd, &now); /* source_take has done that before */
	like.device = now.st_dev;
	like.inode = now.st_ino;
	like.size = (uint64_t)now.st_size;
	like.mtime_ns = source_ns(&now.st_mtim);
	like.ctime_ns = source_ns(&now.st_ctim);
	while (file && (file->state == SERVE_FILE_FAILED || file->device != like.device ||
			file->inode != like.inode || file->size != like.size ||
			file->mtime_ns != like.mtime_ns || file->ctime_ns != like.ctime_ns))
		file = file->next;
	if (!file)
		file = serve_file_add(files, &like, ret_source, why);
	if (!file) {
		source_close(ret_source);
		return NULL;
	}
	file->users++;
	/* The oldest file that no session has any more; the list begins with the newest. */
	for (struct serve_file *at = files->list; at; at = at->next) {
		hashes += at->blocks.known;
		if (!at->users)
			oldest = at;
	}
	if (oldest && (files->count > SERVE_FILES_MAX || hashes > SERVE_HASHES_MAX))
		serve_file_free(files, oldest);
	return file;
}

void serve_file_close(struct serve_files *files, struct serve_file *file)
{
	file->users--;
	if (!file->users && file->state != SERVE_FILE_KNOWN)
		serve_file_free(files, file);
}

/* ---------------------------------------------------------------------- reading */

/* Reads and hashes the next blocks; false: `why`. */
static bool serve_file_read(struct serve_file *file)
{
	static uint8_t bytes[FILE_BLOCK_MAX];
	struct file_blocks *blocks = &file->blocks;
	struct source *source = &file->source;
	uint64_t end = source->offset + TRANSFER_STEP_BYTES;

	while (!file_blocks_are_known(blocks) && source->offset < end) {
		struct range range = file_blocks_range(blocks, blocks->known);
		size_t length;

		file_hash_init(&source->hash);
		while (source->offset < range.end)
			if (!source_read(source, bytes, (size_t)(range.end - source->offset),
					 &length, file->why))
				return false;
		if (!file_blocks_add(blocks, file_hash_value(&source->hash))) {
			snprintf(file->why, sizeof(file->why), "the server: out of memory");
			return false;
		}
	}
	return source_is_same(source, file->why);
}

struct serve_file *serve_file_step(struct serve_files *files)
{
	struct serve_file *file = files->list;

	while (file && file->state != SERVE_FILE_NEW)
		file = file->next;
	if (!file)
		return NULL;
	if (!serve_file_read(file)) {
		file->state = SERVE_FILE_FAILED;
	} else if (file_blocks_are_known(&file->blocks)) {
		file->state = SERVE_FILE_KNOWN;
		file->hash = file_blocks_root(&file->blocks);
		source_close(&file->source);
	}
	return file;
}

void serve_files_fini(struct serve_files *files)
{
	while (files->list)
		serve_file_free(files, files->list);
}
