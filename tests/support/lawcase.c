/* SPDX-License-Identifier: MIT */
#include "support/lawcase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compose/compose.h"
#include "support/composition.h"
#include "support/lines.h"
#include "support/said.h"

enum { SHRINK_RUNS = 4000, MIN_MESSAGES = 1 };

/* -------------------------------------------------------------------- as text */

static int64_t number_after(const char *text, const char *word, int64_t otherwise)
{
	const char *at = strstr(text, word);

	return at ? strtoll(at + strlen(word), NULL, 10) : otherwise;
}

static int64_t time_after(const char *text, const char *word)
{
	return number_after(text, word, 0) * NOPAL_MILLISECOND;
}

bool lawcase_read(const char *text, struct lawcase *ret_case)
{
	const char *weather = strstr(text, "# weather: ");
	char said[256];
	size_t length;

	if (strncmp(text, "# law: ", strlen("# law: ")) != 0 || !weather)
		return false;
	snprintf(said, sizeof(said), "%.*s", (int)strcspn(text, "\n"), text);
	weather += strlen("# weather: ");
	length = strcspn(weather, "\n");
	if (length >= sizeof(ret_case->weather))
		return false;
	*ret_case = (struct lawcase){
		.seed = (uint64_t)number_after(said, "seed ", 1),
		.pairs = (unsigned)number_after(said, "pairs ", 1),
		.messages = (uint32_t)number_after(said, "messages ", 20),
		.answers = (uint32_t)number_after(said, "answers ", 0),
		.spread_ns = time_after(said, "spread "),
		.cut_ns = time_after(said, "cut "),
		.plain = strstr(said, "plain") != NULL,
		.config = strdup(weather + length),
	};
	memcpy(ret_case->weather, weather, length);
	return ret_case->messages <= ORACLE_MESSAGES && ret_case->answers <= ORACLE_MESSAGES &&
	       ret_case->pairs <= ORACLE_PAIRS;
}

char *lawcase_text(const struct lawcase *one)
{
	char *cut = one->cut_ns ? said(", cut %lldms", (long long)(one->cut_ns / NOPAL_MILLISECOND))
				: said("%s", "");
	char *text = said("# law: seed %llu, pairs %u, messages %u, answers "
			  "%u, spread %lldms%s%s\n# weather: %s\n%s",
			  (unsigned long long)one->seed, one->pairs, one->messages, one->answers,
			  (long long)(one->spread_ns / NOPAL_MILLISECOND), cut,
			  one->plain ? ", plain" : "", one->weather, one->config);

	free(cut);
	return text;
}

void lawcase_free(struct lawcase *one)
{
	free(one->config);
	one->config = NULL;
}

bool lawcase_run(const struct lawcase *one, struct oracle *oracle, bool traced)
{
	const struct oracle_run run = {
		.config = one->config,
		.weather = one->weather,
		.seed = one->seed,
		.pairs = one->pairs,
		.messages = one->messages,
		.answers = one->answers,
		.spread_ns = one->spread_ns,
		.cut_ns = one->cut_ns,
		.plain = one->plain,
		.traced = traced,
		.trace_file = traced ? getenv("NOPAL_LAW_TRACE") : NULL,
	};
	bool good;

	nopal__order_seed = one->seed; /* of what is not ordered */
	good = oracle_run(oracle, &run);
	nopal__order_seed = 0;
	return good;
}

/* ------------------------------------------------------------------- shrinking */

struct shrink {
	struct lawcase *now;
	struct oracle *oracle;
	const char *kind; /* how it fails */
	unsigned runs;
	bool less; /* in this round */
};

/* Takes what `next` changes, where it still fails so; else leaves the case as it was. The config of
 * `next` goes to it, or is freed. */
static bool keep(struct shrink *shrink, struct lawcase *next)
{
	static struct oracle oracle;
	int line;
	bool fails = false;

	if (shrink->runs < SHRINK_RUNS && composition_is_good(next->config, &line)) {
		shrink->runs++;
		fails = !lawcase_run(next, &oracle, false) && oracle.kind == shrink->kind;
	}
	if (!fails) {
		if (next->config != shrink->now->config)
			free(next->config);
		return false;
	}
	if (next->config != shrink->now->config)
		free(shrink->now->config);
	*shrink->now = *next;
	*shrink->oracle = oracle;
	shrink->less = true;
	return true;
}

/* Takes over `config`, which may be NULL. */
static bool keep_config(struct shrink *shrink, char *config)
{
	struct lawcase next = *shrink->now;

	if (!config)
		return false;
	next.config = config;
	return keep(shrink, &next);
}

static int layer_end(const char *config, int line)
{
	while (lines_kind(config, line) != LINE_LAYER_END)
		line++;
	return line;
}

static void without_layers(struct shrink *shrink)
{
	const char *config = shrink->now->config;

	for (int line = lines_count(config); line > 0; line--) {
		config = shrink->now->config;
		if (lines_kind(config, line) == LINE_LAYER)
			keep_config(shrink, lines_without(config, line, layer_end(config, line)));
	}
}

/* A part alone, or with all that the checker then complains of. */
static void without_parts(struct shrink *shrink)
{
	for (int line = lines_count(shrink->now->config); line > 0; line--) {
		char *less;

		if (lines_kind(shrink->now->config, line) != LINE_PART)
			continue;
		less = lines_without(shrink->now->config, line, line);
		if (keep_config(shrink, strdup(less)) ||
		    keep_config(shrink, composition_mended(less, 0)))
			line = lines_count(shrink->now->config) < line
				       ? lines_count(shrink->now->config) + 1
				       : line;
		free(less);
	}
}

static void without_settings(struct shrink *shrink)
{
	for (int line = lines_count(shrink->now->config); line > 0; line--) {
		const char *config = shrink->now->config;

		if (lines_kind(config, line) != LINE_PART || !lines_settings(config, line) ||
		    keep_config(shrink, lines_plain(config, line)))
			continue;
		for (int i = lines_settings(config, line); i-- > 0; config = shrink->now->config)
			keep_config(shrink, lines_without_setting(config, line, i));
	}
}

/* One layer in place of the multiplicity, where it does as well. */
static void without_multiplicity(struct shrink *shrink)
{
	for (int line = lines_count(shrink->now->config); line > 0; line--) {
		char name[32];

		lines_name(shrink->now->config, line, name, sizeof(name));
		if (strcmp(name, "multiplicity") == 0)
			keep_config(shrink, lines_without(shrink->now->config, line, line));
	}
}

/* -------------------------------------------------------------------- network */

static void keep_weather(struct shrink *shrink, const struct weather *weather)
{
	struct lawcase next = *shrink->now;

	weather_write(weather, next.weather, sizeof(next.weather));
	keep(shrink, &next);
}

static void without_phases(struct shrink *shrink)
{
	struct weather weather;

	weather_read(shrink->now->weather, &weather);
	for (unsigned i = weather.phases; i-- > 0 && weather.phases > 1;) {
		struct weather less = weather;
		int64_t from_ns = weather.phase[i].from_ns;

		memmove(&less.phase[i], &less.phase[i + 1],
			(WEATHER_PHASES - 1 - i) * sizeof(less.phase[0]));
		less.phases--;
		if (i == 0)
			less.phase[0].from_ns = from_ns;
		keep_weather(shrink, &less);
		weather_read(shrink->now->weather, &weather);
	}
}

/* Removes `count` words from the `first` of a phase on; false: it has no such. */
static bool cut_words(struct weather_phase *phase, unsigned first, unsigned count)
{
	char *at = phase->words, *to;

	while (first--) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	if (!*at)
		return false;
	for (to = at; count--; to += strspn(to, " "))
		to += strcspn(to, " ");
	memmove(at, to, strlen(to) + 1);
	return true;
}

static void without_words(struct shrink *shrink, unsigned count)
{
	struct weather weather;

	weather_read(shrink->now->weather, &weather);
	for (unsigned i = 0; i < weather.phases; i++)
		for (unsigned word = 0;; word++) {
			struct weather less, read;
			char text[WEATHER_TEXT];

			weather_read(shrink->now->weather, &less);
			if (!cut_words(&less.phase[i], word, count))
				break;
			weather_write(&less, text, sizeof(text));
			if (weather_read(text, &read))
				keep_weather(shrink, &less);
		}
}

/* ---------------------------------------------------------------------- words */

static void fewer(struct shrink *shrink, uint32_t *of, uint32_t min)
{
	struct lawcase *now = shrink->now, next;
	size_t at = (size_t)((char *)of - (char *)now);

	for (uint32_t step = *of / 2; step; step /= 2)
		while (*of >= step + min) {
			next = *now;
			*(uint32_t *)(void *)((char *)&next + at) -= step;
			if (!keep(shrink, &next))
				break;
		}
}

static void less_said(struct shrink *shrink)
{
	struct lawcase next = *shrink->now;

	next.plain = true;
	if (!shrink->now->plain)
		keep(shrink, &next);
	next = *shrink->now;
	next.cut_ns = 0;
	if (shrink->now->cut_ns)
		keep(shrink, &next);
	fewer(shrink, &shrink->now->pairs, 1);
	fewer(shrink, &shrink->now->messages, MIN_MESSAGES);
	fewer(shrink, &shrink->now->answers, 0);
	next = *shrink->now;
	next.spread_ns = 0;
	if (shrink->now->spread_ns)
		keep(shrink, &next);
}

void lawcase_shrink(struct lawcase *one, struct oracle *oracle)
{
	struct shrink shrink = {
		.now = one,
		.oracle = oracle,
		.kind = oracle->kind,
	};

	do {
		shrink.less = false;
		without_layers(&shrink);
		without_parts(&shrink);
		without_settings(&shrink);
		without_multiplicity(&shrink);
		without_phases(&shrink);
		for (unsigned count = 4; count; count--)
			without_words(&shrink, count);
		less_said(&shrink);
	} while (shrink.less && shrink.runs < SHRINK_RUNS);
}
