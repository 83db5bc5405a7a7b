/* SPDX-License-Identifier: MIT */
/*
 * part_state.c -- the state file beside a part, the disk below it, and the parts that an earlier
 * run has left in a folder.
 *
 *   nopal-part 1 ID SIZE OFFSET OWNER	 hex, decimal, decimal, hex
 *
 * OFFSET bytes from the start are on disk.  OWNER, where it is known, is the address whose bytes
 * they are; earlier versions had none.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "file/part_state.h"

enum {
	PART_HEX_DIGITS = 2 * PART_OWNER_BYTES,
	PART_HEX_BASE = 16,
	PART_BLOCK_BYTES = 512, /* of st_blocks, whatever the file system has */
};

/* ----------------------------------------------------------------- the state file */

int part_write_state(const struct part *part, uint64_t offset)
{
	int folder = part->folder.fd, error = 0;
	char text[PART_STATE_ROOM], owner[PART_HEX_DIGITS + 1] = "";
	ssize_t length;
	int fd = openat(folder, part->new_name,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, PART_MODE);

	if (fd < 0)
		return -errno;
	for (int i = 0; part->owned && i < PART_OWNER_BYTES; i++)
		snprintf(owner + 2 * i, sizeof("00"), "%02x", part->owner[i]);
	length = snprintf(text, sizeof(text), "nopal-part 1 %016llx %llu %llu%s%s\n",
			  (unsigned long long)part->id, (unsigned long long)part->size,
			  (unsigned long long)offset, part->owned ? " " : "", owner);
	if (write(fd, text, (size_t)length) != length)
		error = errno ? -errno : -EIO;
	if (close(fd) && !error)
		error = -errno;
	if (!error && renameat(folder, part->new_name, folder, part->state_name))
		error = -errno;
	if (error)
		unlinkat(folder, part->new_name, 0);
	return error;
}

struct state {
	unsigned long long id, size, offset;
	bool owned;
	uint8_t owner[PART_OWNER_BYTES];
};

static bool state_read(int folder, const char *name, struct state *ret_state)
{
	char text[PART_STATE_ROOM], owner[PART_HEX_DIGITS + 1] = "";
	ssize_t length;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	if (sscanf(text, "nopal-part 1 %16llx %20llu %20llu %32[0-9a-f]", &ret_state->id,
		   &ret_state->size, &ret_state->offset, owner) < 3)
		return false;
	ret_state->owned = strspn(owner, "0123456789abcdef") == PART_HEX_DIGITS;
	for (int i = 0; ret_state->owned && i < PART_OWNER_BYTES; i++) {
		char byte[] = { owner[2 * i], owner[2 * i + 1], '\0' };

		ret_state->owner[i] = (uint8_t)strtoul(byte, NULL, PART_HEX_BASE);
	}
	return true;
}

static uint64_t disk_bytes(const struct stat *about)
{
	return (uint64_t)about->st_blocks * PART_BLOCK_BYTES;
}

uint64_t part_read_state(const struct part *part)
{
	struct state state;

	return state_read(part->folder.fd, part->state_name, &state) && state.id == part->id &&
			       state.size == part->size && state.offset <= part->size
		       ? state.offset
		       : 0;
}

uint64_t part_found_bytes(const struct part *part, uint8_t ret_owner[PART_OWNER_BYTES])
{
	struct state state;
	struct stat now;

	if (!part->ours || fstat(part->fd, &now) ||
	    !state_read(part->folder.fd, part->state_name, &state) || !state.owned)
		return 0;
	memcpy(ret_owner, state.owner, PART_OWNER_BYTES);
	return disk_bytes(&now);
}

void part_set_owner(struct part *part, const uint8_t owner[PART_OWNER_BYTES])
{
	memcpy(part->owner, owner, PART_OWNER_BYTES);
	part->owned = true;
}

/* ------------------------------------------------------------------------ the disk */

uint64_t part_free_bytes(int folder)
{
	struct statvfs disk;

	/* some file systems do not tell */
	if (fstatvfs(folder, &disk) || disk.f_blocks == 0)
		return INT64_MAX;
	return (uint64_t)disk.f_bavail * disk.f_frsize;
}

bool part_has_room(const struct part *part)
{
	struct stat now;
	uint64_t there;

	if (fstat(part->fd, &now))
		return false;
	there = disk_bytes(&now);
	return there >= part->size || part->size - there <= part_free_bytes(part->folder.fd);
}

void part_reserve_ahead(struct part *part, uint64_t end)
{
	uint64_t more = end;

	if (end <= part->reserved)
		return;
	if (more < PART_AHEAD_MIN)
		more = PART_AHEAD_MIN;
	if (more > PART_AHEAD_MAX)
		more = PART_AHEAD_MAX;
	if (more > part->size - end)
		more = part->size - end;
	part->reserved = end + more;
	/* a full disk is an error of the write */
	if (more && fallocate(part->fd, FALLOC_FL_KEEP_SIZE, (off_t)end, (off_t)more))
		part->reserved = part->size;
}

uint64_t part_keep_what_came(const struct part *part)
{
	const struct ranges *ranges = &part->ranges;
	uint64_t end = part->reserved;
	struct stat now;

	if (fstat(part->fd, &now))
		return 0;
	/* Room reserved behind the beginning is released.  Where that fails, it stays reserved. */
	if (part->started && !part->by_blocks) {
		int error = 0;

		if (ranges->count > 0 && ranges->list[0].from < end)
			end = ranges->list[0].from;
		if (ranges->count > 0 && end > part->whole)
			error = fallocate(part->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					  (off_t)part->whole, (off_t)(end - part->whole));
		else
			error = ftruncate(part->fd, now.st_size);
		if (!error && fstat(part->fd, &now))
			return 0;
	}
	if (now.st_size == 0)
		return 0;
	/* a short one may lie in its inode */
	return now.st_blocks > 0 ? disk_bytes(&now) : (uint64_t)now.st_size;
}

/* ---------------------------------------------------------------------- the folder */

void part_sweep(int folder, part_sweep_found *found, void *user)
{
	size_t prefix = strlen(TRANSFER_PREFIX), suffix = strlen(TRANSFER_PART_SUFFIX);
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	if (!open) {
		if (again >= 0)
			close(again);
		return;
	}
	while ((entry = readdir(open))) {
		const char *name = entry->d_name;
		size_t length = strlen(name);
		char state_name[TRANSFER_TEXT_ROOM];
		struct state state;
		struct stat now;
		int fd;

		if (length <= prefix + suffix ||
		    length - suffix + strlen(TRANSFER_STATE_SUFFIX) >= sizeof(state_name) ||
		    strncmp(name, TRANSFER_PREFIX, prefix) != 0 ||
		    strcmp(name + length - suffix, TRANSFER_PART_SUFFIX) != 0)
			continue;
		snprintf(state_name, sizeof(state_name), "%.*s%s", (int)(length - suffix), name,
			 TRANSFER_STATE_SUFFIX);
		fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		/* A part that another transfer has open is locked, and left alone. */
		if (fd >= 0 && fstat(fd, &now) == 0 && S_ISREG(now.st_mode) &&
		    flock(fd, LOCK_EX | LOCK_NB) == 0) {
			if (now.st_size == 0) {
				unlinkat(folder, name, 0);
				unlinkat(folder, state_name, 0);
			} else if (state_read(folder, state_name, &state) && state.owned) {
				found(user, state.owner, disk_bytes(&now));
			}
		}
		if (fd >= 0)
			close(fd);
	}
	closedir(open);
}
