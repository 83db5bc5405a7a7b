/* SPDX-License-Identifier: MIT */
#include "support/weather.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>

enum {
	CHAOS_MIN_MS = 300,
	CHAOS_MAX_MS = 4000,
	PERFECT_PERCENT = 12,
	USUAL_MTU = 1500,
};

/* ---------------------------------------------------------------------- as text */

static bool read_time(const char **text, int64_t *ret_ns)
{
	const char *colon = strchr(*text, ':');
	struct nopal_problems problems = { 0 };
	char word[32];
	bool good;

	if (!colon || (size_t)(colon - *text) >= sizeof(word))
		return false;
	snprintf(word, sizeof(word), "%.*s", (int)(colon - *text), *text);
	*text = colon + 1;
	good = nopal_quantity_parse(word, NOPAL_TIME, "time", ret_ns, &problems) == 0;
	nopal_problems_fini(&problems);
	return good;
}

static bool is_link(const char *words)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };
	bool good;

	good = nopal_link_parse(words, &forward, &reverse, &problems) == 0;
	nopal_problems_fini(&problems);
	return good;
}

bool weather_read(const char *text, struct weather *ret_weather)
{
	memset(ret_weather, 0, sizeof(*ret_weather));
	while (ret_weather->phases < WEATHER_PHASES) {
		struct weather_phase *phase = &ret_weather->phase[ret_weather->phases];
		size_t length;

		text += strspn(text, " ");
		if (ret_weather->phases++ &&
		    (!read_time(&text, &phase->from_ns) || phase->from_ns <= phase[-1].from_ns))
			return false;
		text += strspn(text, " ");
		length = strcspn(text, ";");
		if (length >= sizeof(phase->words))
			return false;
		memcpy(phase->words, text, length);
		if (!is_link(phase->words))
			return false;
		text += length;
		if (!*text)
			return true;
		text++;
	}
	return false;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t room,
							 const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, room - length, format, arguments);
	va_end(arguments);
}

void weather_write(const struct weather *weather, char *text, size_t room)
{
	*text = '\0';
	for (unsigned i = 0; i < weather->phases; i++) {
		if (i)
			append(text, room, "; %lldms: ",
			       (long long)(weather->phase[i].from_ns / NOPAL_MILLISECOND));
		append(text, room, "%s", weather->phase[i].words);
	}
}

int64_t weather_calm_ns(const struct weather *weather)
{
	return weather->phase[weather->phases - 1].from_ns;
}

bool weather_has(const struct weather *weather, const char *word)
{
	for (unsigned i = 0; i < weather->phases; i++)
		if (strstr(weather->phase[i].words, word))
			return true;
	return false;
}

bool weather_is_calm(const struct weather *weather)
{
	static const char *const wild[] = { "loss",    "limit",	    "corrupt", "down",
					    "reorder", "duplicate", "rate",    "delay 1s" };
	const char *words = weather->phase[weather->phases - 1].words;

	if (weather_has(weather, "kbit")) /* what stands in line comes late */
		return false;
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++)
		if (strstr(words, wild[i]))
			return false;
	return true;
}

bool weather_is_cruel(const struct weather *weather)
{
	static const char *const cruel[] = {
		"loss 5",   "loss 2",  "loss 3",  "loss gemodel", "loss 100", "down",	 "limit",
		"delay 1s", "mtu 200", "mtu 620", "mtu 1280",	  "10kbit",   "100kbit",
	};

	for (size_t i = 0; i < sizeof(cruel) / sizeof(*cruel); i++)
		if (weather_has(weather, cruel[i]))
			return true;
	return false;
}

/* ------------------------------------------------------------------------ draws */

static const char *const delays[] = {
	"100us",      "1ms",   "10ms", "20ms 15ms",
	"50ms",	      "300ms", "1s",   "30ms 10ms distribution normal",
	"100ms 90ms",
};
static const char *const rates[] = { "10kbit", "100kbit", "1mbit", "20mbit" };
static const char *const limits[] = { "2", "8", "40" };
static const char *const losses[] = {
	"1%", "5%", "20%", "50%", "gemodel 3% 50%", "gemodel 1% 10% 100%"
};
static const char *const shares[] = { "1%", "5%", "30%" };
static const char *const sizes[] = { "200", "620", "1280" };

/* The words of one direction. */
static void chaos_draw(struct draw *from, bool damages, int64_t from_ms, int64_t until_ms,
		       char *text, size_t room)
{
	append(text, room, "delay %s", DRAW_ONE(from, delays));
	if (draw_happens(from, 30)) {
		append(text, room, " rate %s", DRAW_ONE(from, rates));
		if (draw_happens(from, 40))
			append(text, room, " limit %s", DRAW_ONE(from, limits));
	}
	if (draw_happens(from, 60))
		append(text, room, " loss %s%s", DRAW_ONE(from, losses),
		       draw_happens(from, 15) ? " ecn" : "");
	if (draw_happens(from, 30))
		append(text, room, " duplicate %s", DRAW_ONE(from, shares));
	if (damages && draw_happens(from, 30))
		append(text, room, " corrupt %s", DRAW_ONE(from, shares));
	if (draw_happens(from, 30))
		append(text, room, " reorder %s", DRAW_ONE(from, shares));
	if (draw_happens(from, 10) && !strstr(text, "mtu"))
		append(text, room, " mtu %s", DRAW_ONE(from, sizes));
	if (draw_happens(from, 15))
		append(text, room, " down %lldms %lldms", (long long)from_ms, (long long)until_ms);
}

/* Loses nothing; those that come last are slow. */
static const char *const calms[] = {
	"delay 20ms",
	"delay 20ms",
	"delay 20ms",
	"delay 1ms",
	"delay 1s",
	"delay 0ms",
	"rate 10kbit delay 50ms",
	"delay 5ms rate 1mbit",
};
enum { SLOW_CALMS = 2, CALMS = sizeof(calms) / sizeof(*calms) };

static void phase_begin(const struct weather_for *what, struct weather_phase *phase)
{
	if (what->mtu > USUAL_MTU)
		append(phase->words, sizeof(phase->words), "mtu %u ", what->mtu);
}

static void phase_draw(struct draw *from, const struct weather_for *what, int64_t end_ns,
		       struct weather_phase *phase)
{
	int64_t from_ms = phase->from_ns / NOPAL_MILLISECOND;
	int64_t end_ms = end_ns / NOPAL_MILLISECOND;
	size_t room = sizeof(phase->words);

	phase_begin(what, phase);
	if (draw_happens(from, 70)) {
		chaos_draw(from, what->damages, from_ms, end_ms, phase->words, room);
		return;
	}
	append(phase->words, room, "fwd: ");
	chaos_draw(from, what->damages, from_ms, end_ms, phase->words, room);
	append(phase->words, room, " rev: ");
	chaos_draw(from, what->damages, from_ms, end_ms, phase->words, room);
}

void weather_draw(struct draw *from, const struct weather_for *what, struct weather *ret_weather)
{
	struct weather_phase *phase = ret_weather->phase;
	unsigned chaos = 0;

	memset(ret_weather, 0, sizeof(*ret_weather));
	if (!draw_happens(from, PERFECT_PERCENT))
		chaos = 1 + (unsigned)draw_below(from, WEATHER_PHASES - 1);
	for (unsigned i = 0; i < chaos; i++) {
		phase[i + 1].from_ns =
			phase[i].from_ns +
			(int64_t)(CHAOS_MIN_MS + draw_below(from, CHAOS_MAX_MS - CHAOS_MIN_MS)) *
				NOPAL_MILLISECOND;
		phase_draw(from, what, phase[i + 1].from_ns, &phase[i]);
	}
	phase_begin(what, &phase[chaos]);
	append(phase[chaos].words, sizeof(phase->words), "%s",
	       calms[draw_below(from, what->may_pace ? CALMS : CALMS - SLOW_CALMS)]);
	ret_weather->phases = chaos + 1;
}
