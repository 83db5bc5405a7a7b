/* SPDX-License-Identifier: MIT */
/*
 * properties.h -- properties of the messages that a tool sends, as rules of `--with` set them.
 *
 *   --with "deadline=200ms"                   every message
 *   --with "urgent=on,out_of_band=on every 5" messages 5, 10, 15 ...
 *   --with "attempts=1..3 share 20%"          a fifth of the messages, a random number each
 *   --with "label=index,after=index-1 from 2" by the message's number, which counts from 1
 *
 * Rules act in the order in which they are given; where two rules set one property, the later rule
 * counts.  Messages that have the same properties are of one class: a composition may promise
 * something else to each class (nopal_plan_service).
 */
#ifndef NOPAL_TOOL_PROPERTIES_H
#define NOPAL_TOOL_PROPERTIES_H

#include "frame/tool.h"

enum {
	PROPERTIES_MAX = 16, /* names; a class has a bit for each */
	PROPERTIES_RULES = 32,
	PROPERTIES_TEXT = 256, /* bytes of the names of a class */
};

/* The value of a property: a number, one of a range, or computed from the message's number. */
enum property_kind { PROPERTY_CONSTANT, PROPERTY_RANGE, PROPERTY_INDEX };
enum { PROPERTY_STEPS = 4 };
struct property_step {
	char op; /* of + - * %; 0 ends the steps */
	uint64_t operand;
};

struct property_rule {
	unsigned bit; /* of the property, in a class */
	enum property_kind kind;
	uint64_t from, to; /* PROPERTY_CONSTANT: `from` */
	struct property_step steps[PROPERTY_STEPS];
	uint64_t first, every; /* messages first, first + every, ... */
	uint32_t share_ppm;    /* of these */
};

struct properties {
	uint64_t seed;
	struct property_rule rules[PROPERTIES_RULES];
	unsigned rule_count;
	const char *names[PROPERTIES_MAX]; /* by bit; of the plan */
	unsigned which[PROPERTIES_MAX];	   /* as nopal_property() */
	unsigned name_count;
};

#define TOOL_WITH_OPTION                                                                           \
	{                                                                                          \
		"with", 0, "RULE",                                                                 \
			"properties of messages, as \"deadline=200ms every 5\"; may be repeated"   \
	}
/* A paragraph for the help of a tool that has the option. */
#define TOOL_WITH_HELP                                                                             \
	"\n--with sets properties of messages: NAME=VALUE[,NAME=VALUE...] [every N] [from N] "     \
	"[share P%].  `nopal explain CONF` lists the properties of a composition.  A value is a "  \
	"number or a time, on, off, never, A..B for a random one, or is computed from the "        \
	"message's number, which counts from 1: index, index-1, index*160, index%3.\n"

/* The rules of the texts, NULL-ended.  False: a problem was printed. */
bool properties_parse(const char *const *texts, const struct nopal_plan *plan, uint64_t seed,
		      struct properties *ret_properties);
/* The rules of the option --with. */
static inline bool properties_read(const struct tool_call *call, const struct nopal_plan *plan,
				   uint64_t seed, struct properties *ret_properties)
{
	return properties_parse(tool_values(call, "with"), plan, seed, ret_properties);
}
/* The properties of message `number`, which counts from 0; `ret_properties` has room for
 * PROPERTIES_MAX of them.  Returns how many there are.  The class has the bits of those that are
 * not 0. */
size_t properties_of(const struct properties *properties, uint64_t number,
		     struct nopal_property *ret_properties, unsigned *ret_class);
/* The value of a property of message `number`; 0: it has none of this name. */
uint64_t properties_value(const struct properties *properties, uint64_t number, const char *name);
/* The class of messages with all properties that some rule sets. */
static inline unsigned properties_all(const struct properties *properties)
{
	return (1u << properties->name_count) - 1;
}
/* The names of a class, joined by '|', as nopal_plan_service() takes them; NULL: none. */
const char *properties_names(const struct properties *properties, unsigned class,
			     char text[PROPERTIES_TEXT]);

#endif
