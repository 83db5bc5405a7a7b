/* SPDX-License-Identifier: MIT */
/*
 * Every microprotocol of the registry alone, with `requires = auto`: in one of the places that a
 * layer can have it makes a good config, or it is refused for a reason of its own.
 */
#include <stdio.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "plan/plan.h"
#include "support/test.h"

#define BELOW "transport_driver {} resize {} retransmit {} virtual_circuit {} reliable_fifo {}"

/* A layer is the lowest; right above another; a stream's; above destinations. */
static const char *const places[] = {
	"requires = auto\n%s {}\n",
	"requires = auto\nlayer \"top\" { %s {} }\nlayer \"low\" { " BELOW " }\n",
	"requires = auto\nlayer \"top\" { multiplicity = per_stream "
	"stream_end {} %s {} }\nlayer \"low\" { " BELOW " }\n",
	"requires = auto\nlayer \"top\" { %s {} }\n"
	"layer \"low\" { multiplicity = per_destination " BELOW " }\n",
};
enum { PLACES = sizeof(places) / sizeof(*places), TEXT_ROOM = 512 };

/* Formats of other protocols have room for what they name alone: nothing that cuts messages goes
 * with them, and which of the others does is for whoever composes. */
static const struct {
	const char *name, *because;
} refused[] = {
	{ "plain_udp", "resize puts the attribute fragment on the wire" },
	{ "rtp", "resize puts the attribute fragment on the wire" },
};

static bool is_good(const char *place, const char *name, const char *because)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	char text[TEXT_ROOM];
	bool good, said = false;

	snprintf(text, sizeof(text), place, name);
	plan = nopal_plan_parse(text, "auto.conf", NULL, &problems);
	good = plan != NULL;
	for (size_t i = 0; because && i < problems.count; i++)
		said = said || strstr(problems.entries[i].cause, because);
	nopal_problems_fini(&problems);
	nopal_plan_unref(plan);
	return because ? !good && said : good;
}

static const char *reason_of(const char *name)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (strcmp(refused[i].name, name) == 0)
			return refused[i].because;
	return NULL;
}

TEST(test_each_alone_is_good_or_has_its_reason)
{
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const char *name = nopal_registry_at(i)->name;
		const char *because = reason_of(name);
		bool good = false;

		for (size_t p = 0; p < (because ? 1 : PLACES); p++)
			good = good || is_good(places[p], name, because);
		if (!good)
			fail_msg("%s with requires = auto", name);
	}
}

/* How many microprotocols declare themselves the standard one of this role? */
static unsigned standards_of(const char *role, size_t length)
{
	unsigned count = 0;

	for (size_t i = 0; i < nopal_registry_count(); i++)
		for (const char *at = nopal_registry_at(i)->standard; at && *at;) {
			size_t other = strcspn(at, "|");

			count += other == length && memcmp(at, role, length) == 0;
			at += other + (at[other] == '|');
		}
	return count;
}

TEST(test_each_role_has_one_standard_at_most)
{
	for (size_t i = 0; i < nopal_registry_count(); i++)
		for (const char *at = nopal_registry_at(i)->standard; at && *at;) {
			size_t length = strcspn(at, "|");

			assert_int_equal(standards_of(at, length), 1);
			at += length + (at[length] == '|');
		}
}
