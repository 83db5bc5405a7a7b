/* SPDX-License-Identifier: MIT */
#include "compose/compose.h"
#include "registry/registry.h"
#include "support/compose_rig.h"
#include "support/test.h"

FAKE(f_drive, .provides = FAKE_ROLES({ "driver", true }));
FAKE(f_cut, .provides = FAKE_ROLES({ "message_segments", true }),
     .raises = FAKE_RAISES("SEGMENT_FROM_USER", "MSG_FROM_NET"),
     .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_FROM_USER, fake_on_message),
			       NOPAL_ON(SEGMENT_VERIFIED, fake_on_segment)));

int compose_rig_add(const struct nopal_microprotocol *const *fakes)
{
	struct nopal_problems problems = { 0 };

	nopal__registry_add(&f_drive, "test", &problems);
	nopal__registry_add(&f_cut, "test", &problems);
	for (; *fakes; fakes++)
		nopal__registry_add(*fakes, "test", &problems);
	nopal_problems_print(&problems, stderr);
	return problems.errors ? -1 : 0;
}

struct composing compose(const char *text)
{
	struct composing composing = { 0 };
	char whole[1024];

	snprintf(whole, sizeof(whole), "f_drive {} f_cut {}\n%s", text);
	composing.problems = (struct nopal_problems){ 0 };
	composing.composition =
		nopal__compose(nopal__config_parse(whole, "t.conf", NULL, &composing.problems),
			       &composing.problems);
	return composing;
}

void done(struct composing *composing)
{
	nopal__composition_free(composing->composition);
	nopal_problems_fini(&composing->problems);
}

struct composing good(const char *text)
{
	struct composing composing = compose(text);

	nopal_problems_print(&composing.problems, stderr);
	assert_int_equal(composing.problems.count, 0);
	assert_non_null(composing.composition);
	return composing;
}

void complains(const struct composing *composing, int line, const char *cause, const char *fix)
{
	for (size_t i = 0; i < composing->problems.count; i++) {
		const struct nopal_problem_entry *entry = &composing->problems.entries[i];

		if (entry->line == line && strstr(entry->cause, cause) && strstr(entry->fix, fix))
			return;
	}
	fail_msg("nothing in line %d says: %s (%s)", line, cause, fix);
}

void bad(const char *text, int line, const char *cause, const char *fix)
{
	struct composing composing = compose(text);

	complains(&composing, line, cause, fix);
	if (composing.problems.count != 1)
		nopal_problems_print(&composing.problems, stderr);
	assert_int_equal(composing.problems.count, 1);
	assert_int_equal(composing.problems.errors, 1);
	assert_null(composing.composition);
	done(&composing);
}

void warns(const char *text, int line, const char *cause, const char *fix)
{
	struct composing composing = compose(text);

	complains(&composing, line, cause, fix);
	assert_int_equal(composing.problems.errors, 0);
	assert_non_null(composing.composition);
	done(&composing);
}

const struct nopal_composed_layer *layer_of(const struct composing *one)
{
	return &one->composition->layers[0];
}

const struct nopal_member *member_of(const struct composing *composing, const char *name)
{
	const struct nopal_composed_layer *layer = layer_of(composing);

	for (size_t i = 0; i < layer->count; i++) {
		if (strcmp(layer->members[i].microprotocol->name, name) == 0)
			return &layer->members[i];
	}
	fail_msg("there is no %s", name);
	return NULL;
}
