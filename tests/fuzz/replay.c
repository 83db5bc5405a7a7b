/* SPDX-License-Identifier: MIT */
/*
 * replay.c -- the main() of a fuzz target without libFuzzer: runs the target once over each file
 * that is named, and over each file of a folder that is named.  A sanitizer or an abort of the
 * target ends the program at the input that it is about, whose name is the last line on standard
 * error.
 *
 * Exit: 0 all inputs ran, 2 a file could not be read, or there was none.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"

enum { LONGEST = 1 << 20, EXIT_UNREADABLE = 2 };

static unsigned replayed;

static bool unreadable(const char *path)
{
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return false;
}

/* On the heap and exactly as long, so that a read beyond it is seen. */
static void replay_bytes(const uint8_t *bytes, size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);

	if (!exact)
		abort();
	memcpy(exact, bytes, length);
	LLVMFuzzerTestOneInput(exact, length);
	free(exact);
	replayed++;
}

static bool replay_file(const char *path)
{
	static uint8_t bytes[LONGEST];
	FILE *file = fopen(path, "rbe");
	size_t length;

	if (!file)
		return unreadable(path);
	length = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	fprintf(stderr, "%s\n", path);
	replay_bytes(bytes, length);
	return true;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* In the order of their names. */
static bool replay_folder(const char *path, struct dirent **entries, int count)
{
	char file[4096];
	bool good = true;

	for (int i = 0; i < count; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		good = replay_file(file) && good;
		free(entries[i]);
	}
	free(entries);
	return good;
}

static bool replay(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_visible, alphasort);

	return count < 0 ? replay_file(path) : replay_folder(path, entries, count);
}

int main(int argc, char **argv)
{
	bool good = true;

	for (int i = 1; i < argc; i++)
		good = replay(argv[i]) && good;
	fprintf(stderr, "%u inputs\n", replayed);
	return good && replayed ? EXIT_SUCCESS : EXIT_UNREADABLE;
}
