/* SPDX-License-Identifier: MIT */
/*
 * parameter_file.c -- what lies in the file that a parameter names.
 *
 * The file is read once, with the config: sessions do no I/O.  Its bytes are a secret, so nothing
 * of them goes into canonical text, problems or explanations.  There are at least 128 bits, as many
 * as the weakest cipher that its key is for (RFC 5869, 3.3: a key is no better than what it is made
 * of), and nobody but its owner writes it, nor anybody reads it who is not of its group.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compose/composing.h"

enum {
	FILE_MIN_BYTES = 16,
	FILE_MAX_BYTES = 64 << 10,
	FILE_OTHERS = S_IWGRP | S_IWOTH | S_IROTH,
	FILE_MODE = 07777,
};

/* By the plain calls: a stream would have a second copy. */
static ssize_t file_read(const char *path, uint8_t *bytes, mode_t *ret_mode)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	ssize_t length = -1;
	size_t all = 0;

	if (file < 0)
		return -errno;
	while (all < FILE_MAX_BYTES && (length = read(file, bytes + all, FILE_MAX_BYTES - all)) > 0)
		all += (size_t)length;
	if (length < 0 || fstat(file, &about))
		length = -errno;
	else
		*ret_mode = about.st_mode;
	close(file);
	return length < 0 ? length : (ssize_t)all;
}

bool nopal__parameter_file_read(struct nopal_arena *arena, const char *path,
				const struct nopal_config_key *key,
				struct nopal_file_bytes *ret_file, struct nopal_problems *problems)
{
	const char *beside = key->place.file;
	const char *slash = beside ? strrchr(beside, '/') : NULL;
	const char *whole =
		*path == '/' || !slash
			? path
			: nopal__printed(arena, "%.*s/%s", (int)(slash - beside), beside, path);
	const char *fix = "name a file that is there; a path is from where the config lies";
	const char *wrong = NULL;
	uint8_t *bytes = nopal__zeroed_secret(arena, FILE_MAX_BYTES);
	ssize_t length;
	mode_t mode = 0;

	if (!bytes)
		return false;
	length = file_read(whole, bytes, &mode);
	if (length < 0) {
		wrong = strerror((int)-length);
	} else if (mode & FILE_OTHERS) {
		fix = nopal__printed(arena, "chmod 600 %s", whole);
		wrong = nopal__printed(arena,
				       "it holds a secret, and others may %s it: its mode is %04o",
				       mode & (S_IWGRP | S_IWOTH) ? "write" : "read",
				       (unsigned)(mode & FILE_MODE));
	} else if (length < FILE_MIN_BYTES) {
		fix = nopal__printed(
			arena, "head -c 32 /dev/urandom > %s, and the same file on the other side",
			whole);
		wrong = nopal__printed(arena, "%zd bytes are no secret; it takes %d", length,
				       FILE_MIN_BYTES);
	} else if (length == FILE_MAX_BYTES) {
		wrong = "the file is too long";
	}
	if (wrong)
		nopal__problem_at(problems, key->place, fix, "%s = %s: %s", key->name, whole,
				  wrong);
	else
		*ret_file = (struct nopal_file_bytes){ bytes, (size_t)length };
	return ret_file->bytes;
}
