/* SPDX-License-Identifier: MIT */
/*
 * weather.h -- networks whose words change with time: chaos, then calm.
 *
 *     delay 20ms loss 50%; 2s: delay 10ms down 2s 4s; 5s: delay 20ms
 *
 * Phases are divided by semicolons; each but the first begins with the time at which its words come
 * to hold.  The last one is the calm, where there are two or more.
 */
#ifndef NOPAL_TEST_WEATHER_H
#define NOPAL_TEST_WEATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/draw.h"

enum { WEATHER_PHASES = 4, WEATHER_WORDS = 320, WEATHER_TEXT = 1280 };

struct weather {
	struct weather_phase {
		int64_t from_ns;
		char words[WEATHER_WORDS];
	} phase[WEATHER_PHASES];
	unsigned phases;
};

/* False: there is no such weather. */
bool weather_read(const char *text, struct weather *ret_weather);
void weather_write(const struct weather *weather, char *text, size_t room);
/* When the last change is over; 0: there is none. */
int64_t weather_calm_ns(const struct weather *weather);
/* Has any phase this word? */
bool weather_has(const struct weather *weather, const char *word);
/* Is nothing lost, overtaken or slow in the last phase?  A round trip of 2 s is, and a path that
 * was so slow before that its queue takes long. */
bool weather_is_calm(const struct weather *weather);
/* So long without a way through, so far, or so slow, that who has patience as by default may lose
 * it. */
bool weather_is_cruel(const struct weather *weather);

/* Needs of a composition of the network. */
struct weather_for {
	bool damages;  /* bytes may change on the way */
	uint32_t mtu;  /* packets of so many bytes pass, but where a phase says less */
	bool may_pace; /* it sends no faster than the network bears */
};
/* From perfect to cruel; the calm is slow only for who paces. */
void weather_draw(struct draw *from, const struct weather_for *what, struct weather *ret_weather);

#endif
