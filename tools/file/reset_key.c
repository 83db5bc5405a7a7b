/* SPDX-License-Identifier: MIT */
/*
 * reset_key.c -- the reset key of a receiver, kept beside its parts.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "file/reset_key.h"
#include "frame/tool.h"

enum { RESET_KEY_MODE = 0600, RESET_KEY_OTHERS = 0077, RESET_KEY_TEXT = 64 };

static enum reset_key key_refused(const char *path, const char *cause)
{
	tool_error("%s/%s: %s\n  fix: remove it, and another one is made", path, RESET_KEY_NAME,
		   cause);
	return RESET_KEY_REFUSED;
}

/* Writes a file of another name, which gets the key's name when it is whole.  Negative: errno
 * value; -EEXIST: another process was first. */
static int key_write(int folder, const char *name, const uint8_t *key)
{
	int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  RESET_KEY_MODE);
	ssize_t length;
	int error = 0;

	if (file < 0)
		return -errno;
	length = write(file, key, NOPAL_RESET_KEY_BYTES);
	if (length != NOPAL_RESET_KEY_BYTES)
		error = length < 0 ? -errno : -ENOSPC;
	else if (fchmod(file, RESET_KEY_MODE) || fsync(file) ||
		 linkat(folder, name, folder, RESET_KEY_NAME, 0))
		error = -errno;
	close(file);
	unlinkat(folder, name, 0);
	return error;
}

enum reset_key reset_key_keep(int folder, const char *path, uint8_t ret_key[NOPAL_RESET_KEY_BYTES])
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int file = openat(folder, RESET_KEY_NAME, flags), error;
	const char *fault;
	ssize_t length = -1;
	struct stat is;

	if (file < 0 && errno == ENOENT) {
		uint8_t key[NOPAL_RESET_KEY_BYTES];
		char name[RESET_KEY_TEXT];

		if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
			error = -EIO;
		} else {
			snprintf(name, sizeof(name), "%s.%ld", RESET_KEY_NAME, (long)getpid());
			unlinkat(folder, name, 0); /* of one that died on the way */
			error = key_write(folder, name, key);
		}
		if (error && error != -EEXIST) {
			fprintf(stderr,
				"note: %s/%s cannot be kept: %s: senders notice a restart later\n",
				path, RESET_KEY_NAME, strerror(-error));
			return RESET_KEY_NONE;
		}
		file = openat(folder, RESET_KEY_NAME, flags);
	}
	if (file < 0)
		return key_refused(path, strerror(errno));
	/* A key that others could have written, or read, is no secret. */
	if (fstat(file, &is))
		fault = strerror(errno);
	else if (!S_ISREG(is.st_mode) || is.st_size != NOPAL_RESET_KEY_BYTES)
		fault = "is no reset key: it has another length";
	else if (is.st_uid != geteuid())
		fault = "belongs to another user";
	else if (is.st_mode & RESET_KEY_OTHERS)
		fault = "others may read or write it";
	else
		fault = NULL;
	if (!fault)
		length = read(file, ret_key, NOPAL_RESET_KEY_BYTES);
	close(file);
	if (!fault && length != NOPAL_RESET_KEY_BYTES)
		fault = "cannot be read whole";
	return fault ? key_refused(path, fault) : RESET_KEY_KEPT;
}
