/* SPDX-License-Identifier: MIT */
/*
 * parameter_file.c -- what lies in the file that a parameter names.
 *
 * It is read once, with the config: sessions do no I/O.  What it holds is a
 * secret, so nothing of it goes into canonical text, problems or explanations.
 * It has at least 128 bits, as many as the weakest cipher that its key is for (RFC
 * 5869, 3.3: a key is no better than what it is made of), and nobody but its
 * owner writes it, nor anybody reads it who is not of its group.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "composing.h"
#include "session.h"

enum {
	FILE_LEAST_BYTES = 16,
	FILE_MOST_BYTES = 64 << 10,
	FILE_OTHERS = S_IWGRP | S_IWOTH | S_IROTH,
	FILE_MODE = 07777,
	FILE_FIX_ROOM = 4096,
};

/* Caller frees. */
static char *file_path(const char *path, const char *beside)
{
	const char *slash = beside ? strrchr(beside, '/') : NULL;

	if (*path == '/' || !slash)
		return nopal__copy(path);
	return nopal__printed("%.*s/%s", (int)(slash - beside), beside, path);
}

static void file_say(const struct nopal_config_key *key, const char *path,
		     const char *why, struct nopal_problems *problems)
{
	nopal_problems_add(problems, key->place.file, key->place.line,
			   "name a file that is there; a path is from where "
			   "the config lies",
			   "%s = %s: %s", key->name, path, why);
}

static void file_say_mode(const struct nopal_config_key *key, const char *path,
			  mode_t mode, struct nopal_problems *problems)
{
	char fix[FILE_FIX_ROOM];

	snprintf(fix, sizeof(fix), "chmod 600 %s", path);
	nopal_problems_add(problems, key->place.file, key->place.line, fix,
			   "%s = %s: it holds a secret, and others may %s it: "
			   "its mode is %04o",
			   key->name, path,
			   mode & (S_IWGRP | S_IWOTH) ? "write" : "read",
			   (unsigned)(mode & FILE_MODE));
}

static void file_say_short(const struct nopal_config_key *key, const char *path,
			   size_t length, struct nopal_problems *problems)
{
	char fix[FILE_FIX_ROOM];

	snprintf(fix, sizeof(fix),
		 "head -c 32 /dev/urandom > %s, and the same file on the other "
		 "side",
		 path);
	nopal_problems_add(problems, key->place.file, key->place.line, fix,
			   "%s = %s: %zu bytes are no secret; it takes %d",
			   key->name, path, length, FILE_LEAST_BYTES);
}

/* Of a file that was read; false: it was said why not. */
static bool file_is_fit(FILE *in, size_t length,
			const struct nopal_config_key *key, const char *path,
			struct nopal_problems *problems)
{
	struct stat about;

	if (ferror(in) || fstat(fileno(in), &about))
		file_say(key, path, strerror(errno), problems);
	else if (about.st_mode & FILE_OTHERS)
		file_say_mode(key, path, about.st_mode, problems);
	else if (length < FILE_LEAST_BYTES)
		file_say_short(key, path, length, problems);
	else if (length == FILE_MOST_BYTES)
		file_say(key, path, "the file is too long", problems);
	else
		return true;
	return false;
}

bool nopal__parameter_file_read(const char *path,
				const struct nopal_config_key *key,
				struct nopal_file *ret_file,
				struct nopal_problems *problems)
{
	char *whole = file_path(path, key->place.file);
	FILE *in = fopen(whole, "rb");
	struct nopal_file file = { 0 };

	if (in) {
		setvbuf(in, NULL, _IONBF, 0); /* no second copy */
		file.bytes = nopal__zeroed(FILE_MOST_BYTES, 1);
		file.length = fread(file.bytes, 1, FILE_MOST_BYTES, in);
	}
	if (!in)
		file_say(key, whole, strerror(errno), problems);
	else if (file_is_fit(in, file.length, key, whole, problems))
		*ret_file = file;
	if (!ret_file->bytes)
		nopal__parameter_file_forget(&file);
	if (in)
		fclose(in);
	free(whole);
	return ret_file->bytes;
}

void nopal__parameter_file_forget(struct nopal_file *file)
{
	if (file->bytes)
		explicit_bzero(file->bytes, file->length);
	free(file->bytes);
	*file = (struct nopal_file){ 0 };
}

const uint8_t *nopal_file(const struct nopal_session *session,
			  const struct nopal_part *part, unsigned which,
			  size_t *ret_length)
{
	const struct nopal_layer *layer = nopal__core(session)->layer;
	const struct nopal_composed_layer *composed =
		&layer->plan->composition->layers[layer->index];
	const struct nopal_file *file =
		&composed->members[part->index - layer->first_part]
			 .files[which];

	*ret_length = file->length;
	return file->bytes;
}
