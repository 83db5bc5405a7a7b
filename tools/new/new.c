/* SPDX-License-Identifier: MIT */
/*
 * new.c -- nopal new: source, config and test of a new microprotocol, which work as they are.
 *
 * The templates are a microprotocol `sample` of each family.  Its name is replaced, in small and in
 * capital letters, wherever it stands; no other word of a template may hold it.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "frame/compiler.h"
#include "frame/tool.h"

enum {
	NEW_LONGEST_NAME = 40,
	NEW_TEMPLATE_ROOM = 16384,
	NEW_FILE_MODE = 0666,	/* less the umask */
	NEW_SCRIPT_MODE = 0777, /* the same */
};
static const char new_sample[] = "sample", new_capitals[] = "SAMPLE";
static const char new_flags[] = "$(pkg-config --cflags nopal)";

static const struct tool_option new_options[] = {
	{ "in", 0, "DIR", "folder of the files, made if it is not there; default: ." },
	{ 0 },
};

static const char *const new_families[] = { "check",	"congestion",  "flow",	 "format",
					    "ordering", "reliability", "status", NULL };

/* Words of C, and of the compilers that define them, which name no struct and no function. */
static const char *const new_reserved[] = {
	"asm",	    "auto",	"bool",	   "break",  "case",   "char",	 "const",    "continue",
	"default",  "do",	"double",  "else",   "enum",   "extern", "false",    "float",
	"for",	    "goto",	"if",	   "inline", "int",    "i386",	 "linux",    "long",
	"register", "restrict", "return",  "short",  "signed", "sizeof", "static",   "struct",
	"switch",   "true",	"typedef", "typeof", "union",  "unix",	 "unsigned", "void",
	"volatile", "while",	"layer",   NULL,
};

/* One of the files to make. */
struct new_file {
	const char *parts[2]; /* templates, one after the other */
	const char *end;      /* of its name */
	mode_t mode;
};
enum { NEW_FILES = 3 };

/* All about one call. */
struct new_work {
	const char *family, *name;
	char capitals[NEW_LONGEST_NAME + 1];
	char *flags;	 /* with which plugins are compiled */
	char *templates; /* their folder */
	const char *folder;
};

/* ------------------------------------------------------------------------ words */

static bool new_is_word(const char *name)
{
	if (!islower((unsigned char)*name) || strlen(name) > NEW_LONGEST_NAME)
		return false;
	for (; *name; name++)
		if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) &&
		    *name != '_')
			return false;
	return true;
}

static bool new_is_in(const char *word, const char *const *list)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

/* Does a microprotocol provide the role `name`?  A relation to it would mean both. */
static bool new_is_role(const char *name)
{
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_role *role = nopal_registry_at(i)->provides;

		for (; role && role->name; role++)
			if (strcmp(role->name, name) == 0)
				return true;
	}
	return false;
}

static bool new_name_is_good(const char *name)
{
	const char *cause = NULL, *fix = "choose another name";

	if (!new_is_word(name)) {
		cause = "is no name of a microprotocol";
		fix = "begin with a small letter; take small letters, digits and _, 40 at most";
	} else if (new_is_in(name, new_reserved)) {
		cause = "is a word of C or of configs";
	} else if (strncmp(name, "nopal", strlen("nopal")) == 0) {
		cause = "begins like the names of Nopal itself";
	} else if (nopal_registry_find(name)) {
		cause = "is a microprotocol already; `nopal doc` describes it";
	} else if (new_is_role(name)) {
		cause = "is a role; `nopal list roles` has its microprotocols";
	}
	if (cause)
		fprintf(stderr, "nopal new: `%s` %s\n  fix: %s\n", name, cause, fix);
	return !cause;
}

static bool new_family_is_good(const char *family)
{
	const char *near;

	if (new_is_in(family, new_families))
		return true;
	near = nopal_nearest(family, new_families);
	fprintf(stderr, "nopal new: there is no template of the family `%s`\n  fix: ", family);
	if (near) {
		fprintf(stderr, "did you mean `%s`?\n", near);
		return false;
	}
	fputs("take one of:", stderr);
	for (const char *const *one = new_families; *one; one++)
		fprintf(stderr, " %s", *one);
	fputc('\n', stderr);
	return false;
}

/* ------------------------------------------------------------------------ files */

/* Writes `text` with what stands in the templates for the name and for the flags replaced. */
static void new_fill(const struct new_work *work, const char *text, FILE *out)
{
	const struct {
		const char *from, *to;
	} words[] = { { new_sample, work->name },
		      { new_capitals, work->capitals },
		      { new_flags, work->flags } };

	while (*text) {
		size_t i = 0, count = sizeof(words) / sizeof(*words);

		while (i < count && strncmp(text, words[i].from, strlen(words[i].from)) != 0)
			i++;
		if (i == count) {
			fputc(*text++, out);
		} else {
			fputs(words[i].to, out);
			text += strlen(words[i].from);
		}
	}
}

/* False: the template could not be read. */
static bool new_append(const struct new_work *work, const char *part, FILE *out)
{
	bool is_family = *part == '.';
	char *path = tool_printed("%s/%s%s", work->templates, is_family ? work->family : "", part);
	char *text = tool_need(calloc(1, NEW_TEMPLATE_ROOM));
	FILE *in = fopen(path, "r");
	bool good = in && fread(text, 1, NEW_TEMPLATE_ROOM - 1, in) > 0;

	if (good)
		new_fill(work, text, out);
	else
		fprintf(stderr, "nopal new: %s: %s\n  fix: install Nopal again\n", path,
			strerror(errno));
	if (in)
		fclose(in);
	free(text);
	free(path);
	return good;
}

static enum tool_exit new_cannot(const char *path)
{
	bool is_there = errno == EEXIST;

	fprintf(stderr, "nopal new: %s: %s\n  fix: %s\n", path, strerror(errno),
		is_there ? "choose another name, or move the file: nothing is overwritten"
			 : "name a folder that takes files with --in DIR");
	return is_there ? TOOL_BAD_INPUT : TOOL_ENVIRONMENT;
}

static enum tool_exit new_write(const struct new_work *work, const struct new_file *file,
				const char *path)
{
	int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file->mode);
	FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	enum tool_exit result = TOOL_GOOD;
	bool failed;

	if (descriptor < 0)
		return new_cannot(path);
	tool_need(out);
	for (size_t i = 0; i < sizeof(file->parts) / sizeof(*file->parts); i++)
		if (file->parts[i] && result == TOOL_GOOD && !new_append(work, file->parts[i], out))
			result = TOOL_ENVIRONMENT;
	failed = ferror(out) != 0;
	if ((fclose(out) || failed) && result == TOOL_GOOD)
		result = new_cannot(path);
	if (result != TOOL_GOOD)
		unlink(path);
	return result;
}

/* All files, or none. */
static enum tool_exit new_write_all(const struct new_work *work)
{
	static const struct new_file files[NEW_FILES] = {
		{ { ".c" }, ".c", NEW_FILE_MODE },
		{ { ".conf" }, ".conf", NEW_FILE_MODE },
		{ { "test.sh", ".expect" }, "_test.sh", NEW_SCRIPT_MODE },
	};
	enum tool_exit result = TOOL_GOOD;
	size_t written = 0;

	if (mkdir(work->folder, NEW_SCRIPT_MODE) < 0 && errno != EEXIST)
		return new_cannot(work->folder);
	while (written < NEW_FILES && result == TOOL_GOOD) {
		char *path = tool_printed("%s/%s%s", work->folder, work->name, files[written].end);

		result = new_write(work, &files[written], path);
		free(path);
		written += result == TOOL_GOOD;
	}
	while (result != TOOL_GOOD && written > 0) {
		char *path =
			tool_printed("%s/%s%s", work->folder, work->name, files[--written].end);

		unlink(path);
		free(path);
	}
	return result;
}

/* A program that is not installed has neither a folder of templates nor a nopal.pc. */
static void new_find(struct new_work *work)
{
	char *probe = tool_printed("%s/test.sh", nopal_installed(NOPAL_INSTALLED_TEMPLATES));

	if (access(probe, R_OK) == 0) {
		work->templates = tool_printed("%s", nopal_installed(NOPAL_INSTALLED_TEMPLATES));
		work->flags = tool_printed("%s", new_flags);
	} else {
		work->templates = tool_printed("%s/tools/new/templates", compiler_sources());
		work->flags = tool_printed("-I'%s/runtime'", compiler_sources());
	}
	free(probe);
}

static enum tool_exit new_run(const struct tool_call *call)
{
	const char *folder = tool_value(call, "in");
	struct new_work work = { .family = call->words[0],
				 .name = call->words[1],
				 .folder = folder && *folder ? folder : "." };
	bool family_is_good = new_family_is_good(work.family);
	enum tool_exit result;

	if (!new_name_is_good(work.name) || !family_is_good)
		return TOOL_BAD_INPUT;
	for (size_t i = 0; work.name[i]; i++)
		work.capitals[i] = (char)toupper((unsigned char)work.name[i]);
	new_find(&work);
	result = new_write_all(&work);
	if (result == TOOL_GOOD)
		printf("%s.c, %s.conf and %s_test.sh are in %s; run there:\n"
		       "  cc -shared -fPIC -Wall -o %s.so %s.c %s\n"
		       "  nopal explain %s.conf\n"
		       "  ./%s_test.sh\n",
		       work.name, work.name, work.name, work.folder, work.name, work.name,
		       work.flags, work.name, work.name);
	free(work.templates);
	free(work.flags);
	return result;
}

const struct tool tool_new = {
	.name = "new",
	.words = "check|congestion|flow|format|ordering|reliability|status NAME",
	.summary = "begin a microprotocol: source, config and test that work",
	.help = "Writes NAME.c, a short microprotocol of the family; NAME.conf, a composition "
		"with it;\nand NAME_test.sh, which builds it, checks the config, and runs it in "
		"virtual time.\nAll three work at once, and are there to be changed. Nothing is "
		"overwritten.\n\n"
		"  check        breaks the session when too many messages in a row are missing\n"
		"  congestion   a window that grows each round trip, and is cut by a loss\n"
		"  flow         lets segments go at a fixed rate\n"
		"  format       a header of 4 bytes of its own\n"
		"  ordering     drops a message that comes behind a later one\n"
		"  reliability  sends each segment twice\n"
		"  status       the mean of the round trips, and a timeout by it\n\n"
		"  nopal new congestion my_window\n"
		"  nopal new ordering my_order --in course/my_order",
	.min_words = 2,
	.max_words = 2,
	.options = new_options,
	.run = new_run,
};
