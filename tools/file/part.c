/* SPDX-License-Identifier: MIT */
/*
 * part.c -- a file that is being received, on disk.
 *
 * The folder is a descriptor, and every name in it is opened without following links, so nothing
 * outside is ever touched.  Bytes are hashed as they come; those that come early are hashed from
 * the file when the gap before them has closed.  Pieces are written from where they arrived, by
 * pwritev: putting them together first was no faster, however small they are.  Calls that block for
 * long (fsync) run in a thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "file/part_state.h"

enum { PART_SAVE_BYTES = 4 << 20 }; /* progress that is worth a save */
#define PART_SAVE_NS (250 * NOPAL_MILLISECOND)

/* Both return false: `why` is written. */
static bool part_wrong(char *why, const struct part *part, const char *cause)
{
	return transfer_wrong(why, part->name, cause);
}

static bool part_failed(char *why, const struct part *part, int error)
{
	return part_wrong(why, part, strerror(error));
}

/* ------------------------------------------------------------------- opening */

static struct part *part_new(const struct part_folder *folder, const struct transfer_note *offer)
{
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	part->folder = *folder;
	part->id = offer->id;
	part->size = offer->size;
	part->mtime_ns = offer->mtime_ns;
	part->fd = -1;
	file_hash_init(&part->hash);
	/* transfer_name_refused left room for the decorations */
	snprintf(part->name, sizeof(part->name), "%s", offer->text);
	snprintf(part->file_name, sizeof(part->file_name), "%s%.200s%s", TRANSFER_PREFIX,
		 offer->text, TRANSFER_PART_SUFFIX);
	snprintf(part->state_name, sizeof(part->state_name), "%s%.200s%s", TRANSFER_PREFIX,
		 offer->text, TRANSFER_STATE_SUFFIX);
	snprintf(part->new_name, sizeof(part->new_name), "%s%.200s%s", TRANSFER_PREFIX, offer->text,
		 TRANSFER_NEW_SUFFIX);
	part->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (part->done_fd < 0) {
		free(part);
		return NULL;
	}
	return part;
}

/* Is there a file of that name, and might it be the same? */
static enum transfer_verdict part_open_existing(struct part *part, char *why)
{
	struct stat now;

	if (fstatat(part->folder.fd, part->name, &now, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return TRANSFER_YES;
		part_failed(why, part, errno);
		return TRANSFER_NO;
	}
	if (!S_ISREG(now.st_mode)) {
		part_wrong(why, part, "is there, and is no plain file");
		return TRANSFER_NO;
	}
	if (part->folder.overwrite && part_read_state(part) > 0)
		return TRANSFER_YES; /* its replacement has begun, and goes on */
	if ((uint64_t)now.st_size == part->size)
		part->fd = openat(part->folder.fd, part->name,
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (part->fd < 0 && !part->folder.overwrite) {
		part_wrong(why, part, part->folder.differs);
		return TRANSFER_NO;
	}
	part->existing = part->fd >= 0;
	part->found = part->existing ? part->size : 0;
	return TRANSFER_YES;
}

static enum transfer_verdict part_open_file(struct part *part, char *why)
{
	struct stat now, named;

	part->fd = openat(part->folder.fd, part->file_name,
			  O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, PART_MODE);
	if (part->fd < 0 || fstat(part->fd, &now)) {
		part_failed(why, part, errno);
		return TRANSFER_NO;
	}
	if (!S_ISREG(now.st_mode)) {
		transfer_wrong(why, part->file_name, "is there, and is no plain file");
		return TRANSFER_NO;
	}
	/* the transfer that had the lock before may have renamed the part since it was opened */
	if (flock(part->fd, LOCK_EX | LOCK_NB) ||
	    fstatat(part->folder.fd, part->file_name, &named, AT_SYMLINK_NOFOLLOW) ||
	    named.st_dev != now.st_dev || named.st_ino != now.st_ino) {
		part_wrong(why, part, "another transfer of it is running");
		return TRANSFER_LATER;
	}
	part->ours = true;
	part->found = part_read_state(part);
	if (part->found > (uint64_t)now.st_size)
		part->found = 0;
	if (part_has_room(part))
		return TRANSFER_YES;
	part_wrong(why, part, "is longer than what is free on the disk");
	return TRANSFER_NO;
}

enum transfer_verdict part_open(const struct part_folder *folder, const struct transfer_note *offer,
				struct part **ret_part, char *why)
{
	const char *refused = transfer_name_refused(offer->text);
	struct part *part;
	enum transfer_verdict verdict;

	if (refused) {
		snprintf(why, TRANSFER_TEXT_ROOM, "%s", refused);
		return TRANSFER_NO;
	}
	if (offer->size > folder->limit) {
		transfer_wrong(why, offer->text, "is longer than recv --limit takes");
		return TRANSFER_NO;
	}
	part = part_new(folder, offer);
	if (!part) {
		transfer_wrong(why, offer->text, strerror(ENOMEM));
		return TRANSFER_NO;
	}
	verdict = part_open_existing(part, why);
	if (verdict == TRANSFER_YES && !part->existing)
		verdict = part_open_file(part, why);
	if (verdict == TRANSFER_YES)
		*ret_part = part;
	else
		part_close(part, true);
	return verdict;
}

/* ------------------------------------------------------------------ checking */

/* Hashes the part's bytes from `*at` on, before `end`; false: they cannot be read. */
static bool part_hash_bytes(struct part *part, struct file_hash *hash, uint64_t *at, uint64_t end)
{
	while (*at < end) {
		uint64_t left = end - *at;
		size_t room = left < sizeof(part->bytes) ? (size_t)left : sizeof(part->bytes);
		ssize_t got = pread(part->fd, part->bytes, room, (off_t)*at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		file_hash_update(hash, part->bytes, (size_t)got);
		*at += (uint64_t)got;
	}
	return true;
}

bool part_check(struct part *part, uint64_t *ret_offset, uint64_t *ret_hash)
{
	uint64_t left = part->found - part->whole;
	uint64_t step = left < TRANSFER_STEP_BYTES ? left : TRANSFER_STEP_BYTES;

	if (!part_hash_bytes(part, &part->hash, &part->whole, part->whole + step)) {
		part->found = 0; /* the file begins anew */
		part->whole = 0;
		file_hash_init(&part->hash);
	}
	if (part->whole < part->found)
		return false;
	*ret_offset = part->found;
	*ret_hash = file_hash_value(&part->hash);
	return true;
}

/* The gap has closed: the bytes behind it are hashed from the file. */
static bool part_join_ranges(struct part *part)
{
	struct ranges *ranges = &part->ranges;

	while (ranges->count > 0 && ranges->list[0].from <= part->whole) {
		if (!part_hash_bytes(part, &part->hash, &part->whole, ranges->list[0].end))
			return false;
		ranges_drop_first(ranges);
	}
	return true;
}

bool part_leave_existing(struct part *part, char *why)
{
	if (part->existing) {
		if (!part->folder.overwrite)
			return part_wrong(why, part, part->folder.differs);
		close(part->fd);
		part->existing = false;
		if (part_open_file(part, why) != TRANSFER_YES)
			return false;
	}
	part->whole = 0;
	file_hash_init(&part->hash);
	return true;
}

bool part_start(struct part *part, uint64_t offset, char *why)
{
	int error;

	if (offset != 0 && offset != part->found)
		return part_wrong(why, part, "the sender began elsewhere");
	if (part->existing && offset == part->size && part->found == part->size) {
		part->here = true;
		return true;
	}
	if (offset == 0 && !part_leave_existing(part, why))
		return false;
	part->saved = part->reserved = offset;
	if (part->ranges.count == 0 && ftruncate(part->fd, (off_t)offset))
		return part_failed(why, part, errno);
	error = part_write_state(part, offset);
	if (error)
		return part_failed(why, part, -error);
	part->started = true;
	return part_join_ranges(part) || part_failed(why, part, errno);
}

/* ------------------------------------------------------------------- writing */

/* Until all is written: a disk that fills up writes short.  False: errno. */
static bool part_put(int fd, const struct iovec *pieces, size_t count, uint64_t offset)
{
	size_t skip = 0; /* bytes of the first piece that are written */

	while (count > 0) {
		struct iovec some[IOV_MAX];
		size_t few = count < IOV_MAX ? count : IOV_MAX;
		ssize_t wrote;

		memcpy(some, pieces, few * sizeof(*some));
		some[0].iov_base = (char *)some[0].iov_base + skip;
		some[0].iov_len -= skip;
		wrote = pwritev(fd, some, (int)few, (off_t)offset);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return false;
		offset += (uint64_t)wrote;
		skip += (size_t)wrote;
		while (count > 0 && skip >= pieces->iov_len) {
			skip -= pieces->iov_len;
			pieces++;
			count--;
		}
	}
	return true;
}

bool part_write(struct part *part, uint64_t offset, const struct iovec *pieces, size_t count,
		char *why)
{
	struct ranges *ranges = &part->ranges;
	uint64_t length = 0;

	for (size_t i = 0; i < count; i++)
		length += pieces[i].iov_len;
	if (part->here || length == 0 || offset > part->size || length > part->size - offset ||
	    (part->started && offset < part->whole))
		return part_wrong(why, part, "bytes that are not its own");
	if (!part->started) {
		/* Before the START, bytes are written where they belong; the START tells which of
		 * them count.  Bytes beyond the beginning that was found belong to no file. */
		if (part->existing && !part_leave_existing(part, why))
			return false;
		if (ranges->count == 0 && ftruncate(part->fd, (off_t)part->found))
			return part_failed(why, part, errno);
	}
	if (part->by_blocks) {
		part->written += length;
	} else if (!part->started || offset > part->whole) {
		if (!ranges_add(ranges, offset, offset + length))
			return part_wrong(why, part, "bytes twice, or too scattered");
	} else if (ranges->count > 0 && ranges->list[0].from < offset + length) {
		return part_failed(why, part, EBADMSG);
	} else {
		part_reserve_ahead(part, offset + length);
	}
	if (!part_put(part->fd, pieces, count, offset))
		return part_failed(why, part, errno);
	if (part->by_blocks || !part->started || offset > part->whole)
		return true;
	/* The next bytes from the start: hashed as they are. */
	for (size_t i = 0; i < count; i++)
		file_hash_update(&part->hash, pieces[i].iov_base, pieces[i].iov_len);
	part->whole += length;
	return part_join_ranges(part) || part_failed(why, part, errno);
}

bool part_write_message(struct part *part, uint64_t offset, const struct nopal_message *message,
			uint64_t skip, char *why)
{
	size_t total = nopal_message_pieces(message), count = 0;
	struct iovec some[IOV_MAX];
	uint64_t bytes = 0;

	for (size_t i = 0; i < total; i++) {
		uint32_t length;
		const uint8_t *piece = nopal_message_piece(message, i, &length);
		size_t passed = skip < length ? (size_t)skip : length;

		skip -= passed;
		if (passed < length)
			some[count++] = (struct iovec){ (void *)(uintptr_t)(piece + passed),
							length - passed };
		bytes += length - passed;
		if (!count || (count < IOV_MAX && i + 1 < total))
			continue;
		if (!part_write(part, offset, some, count, why))
			return false;
		offset += bytes;
		bytes = count = 0;
	}
	return true;
}

size_t part_ranges(const struct part *part, struct range ret_ranges[TRANSFER_RANGES_MAX])
{
	size_t count = part->whole > 0;

	ret_ranges[0] = (struct range){ .end = part->whole };
	memcpy(ret_ranges + count, part->ranges.list, part->ranges.count * sizeof(*ret_ranges));
	return count + part->ranges.count;
}

/* -------------------------------------------------------------------- blocks */

/* A block is here when its hash is the file's; no state of an earlier run is believed.  So a part
 * of another version gives the blocks that both versions have. */

bool part_block_hash(struct part *part, const struct range *block, uint64_t *ret_hash)
{
	uint64_t at = block->from;
	struct file_hash hash;

	file_hash_init(&hash);
	if (!part_hash_bytes(part, &hash, &at, block->end))
		return false;
	*ret_hash = file_hash_value(&hash);
	return true;
}

bool part_start_blocks(struct part *part, char *why)
{
	struct stat now;

	/* A part longer than the file is cut: bytes beyond its end are in no block.  Room for the
	 * whole file is taken now, so that the disk is not full in the middle. */
	if (fstat(part->fd, &now) ||
	    ((uint64_t)now.st_size > part->size && ftruncate(part->fd, (off_t)part->size)) ||
	    (part->size > 0 && fallocate(part->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)part->size) &&
	     errno != EOPNOTSUPP && errno != ENOSYS))
		return part_failed(why, part, errno);
	unlinkat(part->folder.fd, part->state_name, 0);
	part->started = part->by_blocks = true;
	return true;
}

/* ------------------------------------------------------------------- threads */

static int part_run_commit(const struct part *part)
{
	struct timespec times[] = {
		{ .tv_nsec = UTIME_NOW },
		{ .tv_sec = (time_t)(part->mtime_ns / PART_NS_PER_S),
		  .tv_nsec = (long)(part->mtime_ns % PART_NS_PER_S) },
	};
	int error, folder;

	if (times[1].tv_nsec >= 0)
		futimens(part->fd, times); /* the file is good without its time */
	if (fsync(part->fd))
		return -errno;
	/* Under its own name at last, and over an existing file only on request. */
	folder = part->folder.fd;
	if (part->folder.overwrite)
		error = renameat(folder, part->file_name, folder, part->name) ? -errno : 0;
	else if (renameat2(folder, part->file_name, folder, part->name, RENAME_NOREPLACE) == 0)
		error = 0;
	else if (errno != EINVAL && errno != ENOSYS)
		error = -errno;
	else if (linkat(folder, part->file_name, folder, part->name, 0))
		error = -errno;
	else
		error = unlinkat(folder, part->file_name, 0) ? -errno : 0;
	if (error)
		return error;
	unlinkat(part->folder.fd, part->state_name, 0);
	return fsync(part->folder.fd) ? -errno : 0;
}

static void *part_run(void *user)
{
	struct part *part = user;
	uint64_t one = 1;

	if (part->job == PART_COMMITTING)
		part->job_error = part_run_commit(part);
	else if (fdatasync(part->fd))
		part->job_error = -errno;
	else if (!part->by_blocks)
		part->job_error = part_write_state(part, part->job_offset);
	if (write(part->done_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		part->job_error = -EIO;
	return NULL;
}

static uint64_t part_progress(const struct part *part)
{
	return part->by_blocks ? part->written : part->whole;
}

void part_begin(struct part *part, enum part_job job)
{
	part->job = job;
	part->job_error = 0;
	part->job_offset = part_progress(part);
	if (pthread_create(&part->thread, NULL, part_run, part) == 0)
		return;
	part_run(part); /* without a thread */
	part->thread = pthread_self();
}

void part_save_sometimes(struct part *part, int64_t now_ns)
{
	if (part->job != PART_NO_JOB || part->here ||
	    part_progress(part) - part->saved < PART_SAVE_BYTES ||
	    now_ns - part->saved_ns < PART_SAVE_NS)
		return;
	part->saved_ns = now_ns;
	part_begin(part, PART_SAVING);
}

int part_finish(struct part *part)
{
	uint64_t done;

	if (part->job == PART_NO_JOB)
		return 0;
	if (!pthread_equal(part->thread, pthread_self()))
		pthread_join(part->thread, NULL);
	if (read(part->done_fd, &done, sizeof(done)) < 0 && !part->job_error)
		part->job_error = -EIO;
	if (part->job == PART_SAVING && !part->job_error)
		part->saved = part->job_offset;
	part->committed = part->job == PART_COMMITTING && !part->job_error;
	part->job = PART_NO_JOB;
	return part->job_error;
}

bool part_is_empty(const struct part *part)
{
	return !part->existing && part->found == 0 && part->whole == 0 && part->ranges.count == 0 &&
	       part->written == 0;
}

uint64_t part_close(struct part *part, bool keep)
{
	uint64_t kept = 0;

	part_finish(part);
	if (part->ours && !part->committed) {
		if (keep)
			kept = part_keep_what_came(part);
		if (!kept) {
			unlinkat(part->folder.fd, part->file_name, 0);
			unlinkat(part->folder.fd, part->state_name, 0);
		} else if (part->started && part->whole > part->saved) {
			part_write_state(part, part->whole);
		}
	}
	if (part->fd >= 0)
		close(part->fd);
	close(part->done_fd);
	free(part);
	return kept;
}
