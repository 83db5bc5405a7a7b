/* SPDX-License-Identifier: MIT */
/*
 * selection.h -- a layer in the making: which microprotocols of the registry are in it, which are
 * not, which value each enumerated parameter has; and the search for what else it must hold to be
 * whole.
 *
 * All is read from descriptors: roles, needs, exclusions, variables with one writer.  The search is
 * exhaustive: where it finds nothing, no layer at this place holds what was selected.  What
 * descriptors alone cannot say, as how two parameters go together, nopal_plan_parse decides.
 */
#ifndef NOPAL_TEST_SELECTION_H
#define NOPAL_TEST_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nopal/microprotocol.h>

enum { KIT_PARTS = 192, KIT_SETTINGS = 8 };

/* A parameter with few values: a word or a switch. */
struct kit_setting {
	const struct nopal_parameter *parameter;
	unsigned values, initial;
};

struct kit_part {
	const struct nopal_microprotocol *microprotocol;
	struct kit_setting settings[KIT_SETTINGS];
	unsigned setting_count;
};

/* Why two microprotocols are not in one layer. */
enum kit_conflict {
	KIT_NO_CONFLICT,
	KIT_EXCLUSION,
	KIT_ONE_ROLE,
	KIT_ONE_WRITER,
};

struct kit {
	struct kit_part parts[KIT_PARTS];
	unsigned count;
	uint8_t conflict[KIT_PARTS][KIT_PARTS]; /* enum kit_conflict */
	/* 1 + the first's setting that lifts its exclusion of the second; 0: none */
	uint8_t lift[KIT_PARTS][KIT_PARTS];
};

enum standing { STANDING_OPEN, STANDING_IN, STANDING_OUT };

struct selection {
	const struct kit *kit;
	uint8_t standing[KIT_PARTS];		/* enum standing */
	uint8_t value[KIT_PARTS][KIT_SETTINGS]; /* 1 + its index; 0: not chosen */
	/* Roles that its place gives, joined by '|'. */
	const char *stands_on;
	bool to_many; /* it speaks to many: only who keeps nothing of a peer fits */
};

/* How a search went that found nothing. */
struct selection_search {
	/* set by the caller */
	bool parse;	       /* ask nopal_plan_parse of each that seems whole */
	const int *preference; /* (optional) by part: the highest is tried first */
	/* what came of it */
	bool excluded; /* what lifts an exclusion is off */
	bool refused;  /* one seemed whole, and was refused */
	bool given_up; /* there were too many of these */
	unsigned parses;
	char text[160]; /* the need that nobody could meet, or the refusal */
};

/* The registry's present contents, but for what tests have put into it, whose names begin with an
 * article, unless `all`. */
void kit_take_stock(struct kit *kit, bool all);
/* The word of a value, as one would write it; into `text`. */
void kit_value_word(const struct kit_setting *setting, unsigned value, char *text, size_t room);

/* Adds what is needed, of what is open, and sets what lifts an exclusion; false:
 * that cannot be, and the selection is as it was. */
bool selection_complete(struct selection *selection, struct selection_search *search);
/* Does a part that is in forbid this one? */
enum kit_conflict selection_conflict(const struct selection *selection, unsigned part);
/* Has it a place here, beside those that are in? */
bool selection_fits(const struct selection *selection, unsigned part);
/* Does the checker take it?  If not, its first word on it goes into `text`. */
bool selection_is_good(const struct selection *selection, char *text, size_t room);
/* As a config; the caller frees. */
char *selection_text(const struct selection *selection);

#endif
