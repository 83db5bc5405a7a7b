/* SPDX-License-Identifier: MIT */
/*
 * config_values.c -- the values of a scanned config, by libconfuse.
 *
 * The scan gave every statement a name of its own, n0, n1, ..., so the option
 * table is made from the scan: keys are lists of strings (one word is a list
 * of one), sections hold the options of the items in them.  What libconfuse
 * still adds is its reading of quotes, escapes and ${VARIABLES}.
 */
#include "config_values.h"

#include <confuse.h>
#include <stdlib.h>
#include <string.h>

/* libconfuse hands its error function no pointer of ours: a config is read in
 * one go by one thread. */
static _Thread_local struct {
	const char *file;
	struct nopal_problems *problems;
} values_errors;

static void values_on_error(cfg_t *cfg, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));
static void values_on_error(cfg_t *cfg, const char *format, va_list arguments)
{
	char *cause = nopal__vprinted(format, arguments);

	nopal_problems_add(values_errors.problems, values_errors.file,
			   cfg->line, "put the value in double quotes", "%s",
			   cause);
	free(cause);
}

/* Options of the items in `parent`; each section's own before it. */
static cfg_opt_t *values_options(const struct nopal_scan *scan, int parent)
{
	cfg_opt_t end = CFG_END();
	cfg_opt_t *options = NULL;
	size_t count = 0;

	for (size_t i = 0; i < scan->count; i++) {
		const struct nopal_scan_item *item = &scan->items[i];
		char *name;

		if (item->parent != parent)
			continue;
		name = nopal__zeroed(NOPAL_SCAN_NAME_ROOM, 1);
		nopal__scan_name(i, name);
		options = nopal__one_more(options, count, sizeof(*options));
		if (item->section) {
			cfg_opt_t section =
				CFG_SEC(name, values_options(scan, (int)i),
					item->titled ? CFGF_TITLE | CFGF_MULTI
						     : CFGF_MULTI);

			options[count++] = section;
		} else {
			cfg_opt_t key = CFG_STR_LIST(name, 0, CFGF_NODEFAULT);

			options[count++] = key;
		}
	}
	options = nopal__one_more(options, count, sizeof(*options));
	options[count] = end;
	return options;
}

static void values_options_free(cfg_opt_t *options)
{
	for (cfg_opt_t *option = options; option->name; option++) {
		if (option->type == CFGT_SEC)
			values_options_free(option->subopts);
		free((char *)option->name);
	}
	free(options);
}

static void values_copy(cfg_t *cfg, const char *name,
			struct nopal__values *values)
{
	unsigned size = cfg_size(cfg, name);

	values->words = nopal__zeroed(size, sizeof(*values->words));
	for (unsigned i = 0; i < size; i++) {
		const char *word = cfg_getnstr(cfg, name, i);

		if (word)
			values->words[values->count++] = nopal__copy(word);
	}
}

/* A section's title becomes its value. */
static void values_take(const struct nopal_scan *scan, cfg_t *cfg, int parent,
			struct nopal__values *values)
{
	for (size_t i = 0; cfg && i < scan->count; i++) {
		const struct nopal_scan_item *item = &scan->items[i];
		char name[NOPAL_SCAN_NAME_ROOM];
		cfg_t *section;

		if (item->parent != parent)
			continue;
		nopal__scan_name(i, name);
		values[i].list = item->list;
		if (!item->section) {
			values_copy(cfg, name, &values[i]);
			continue;
		}
		section =
			cfg_size(cfg, name) ? cfg_getnsec(cfg, name, 0) : NULL;
		if (section && item->titled) {
			values[i].words = nopal__zeroed(1, sizeof(char *));
			values[i].words[values[i].count++] =
				nopal__copy(cfg_title(section));
		}
		values_take(scan, section, (int)i, values);
	}
}

struct nopal__values *nopal__values_read(const struct nopal_scan *scan,
					 const char *file,
					 struct nopal_problems *problems)
{
	struct nopal__values *values =
		nopal__zeroed(scan->count, sizeof(*values));
	cfg_opt_t *options = values_options(scan, -1);
	cfg_t *cfg = cfg_init(options, CFGF_NONE);

	values_errors.file = file;
	values_errors.problems = problems;
	if (cfg) {
		cfg_set_error_function(cfg, values_on_error);
		cfg_parse_buf(cfg, scan->text.text);
		values_take(scan, cfg, -1, values);
		cfg_free(cfg);
	}
	values_options_free(options);
	return values;
}

void nopal__values_fini(struct nopal__values *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < values[i].count; j++)
			free((char *)values[i].words[j]);
		free(values[i].words);
	}
	free(values);
}
