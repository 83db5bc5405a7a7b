/* SPDX-License-Identifier: MIT */
/*
 * parameter_file.c -- what lies in the file that a parameter names.
 *
 * It is read once, with the config: sessions do no I/O.  What it holds may be a
 * secret, so nothing of it goes into canonical text, problems or explanations.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "composing.h"
#include "session.h"

enum { FILE_MOST_BYTES = 64 << 10 };

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
			   "name a file that is there and not empty; a path "
			   "is from where the config lies",
			   "%s = %s: %s", key->name, path, why);
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
	if (!in || ferror(in))
		file_say(key, whole, strerror(errno), problems);
	else if (!file.length)
		file_say(key, whole, "the file is empty", problems);
	else if (file.length == FILE_MOST_BYTES)
		file_say(key, whole, "the file is too long", problems);
	else
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
