/* SPDX-License-Identifier: MIT */
/*
 * order.c, cycles.c: the run order of handlers, and events without end.
 */
#include <stdlib.h>
#include <string.h>

#include "compose/compose.h"
#include "registry/registry.h"
#include "support/compose_rig.h"
#include "support/test.h"

FAKE(f_echo, .raises = FAKE_RAISES("SEGMENT_FROM_NET"),
     .bindings = FAKE_BINDINGS(NOPAL_ON(MSG_FROM_NET, fake_on_message)));
FAKE(f_rebuild, .raises = FAKE_RAISES("SEGMENT_FROM_NET", "SEGMENT_TO_NET"),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_FROM_NET, fake_on_segment),
			       NOPAL_ON(SEGMENT_TO_NET, fake_on_segment)));

#define LOST(...) FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment, __VA_ARGS__))
FAKE(f_nobody);
FAKE(f_order_a, .bindings = LOST(.after = "f_late|f_nobody"));
FAKE(f_order_b, .bindings = LOST(.kinds = NOPAL_DATA));
FAKE(f_order_c, .bindings = LOST(.before = "f_order_b"),
     .provides = FAKE_ROLES({ "f_late", false }));
FAKE(f_round_a, .bindings = LOST(.before = "f_round_b"));
FAKE(f_round_b, .bindings = LOST(.before = "f_round_c"));
FAKE(f_round_c, .bindings = LOST(.before = "f_round_a"));
FAKE(f_apart,
     .bindings = LOST(.kinds = NOPAL_REPLIES, .before = "f_order_b", .after = "f_order_b"));

static const struct nopal_microprotocol *const fakes[] = {
	&f_echo,    &f_rebuild, &f_order_a, &f_order_b, &f_order_c, &f_round_a,
	&f_round_b, &f_round_c, &f_apart,   &f_nobody,	NULL,
};

static int add_fakes(void **state)
{
	(void)state;
	return compose_rig_add(fakes);
}

ALL_TESTS(tests, add_fakes, NULL);

/* ------------------------------------------------------------------------- cycles */

TEST(test_storms)
{
	struct composing composing;

	bad("f_echo {}", 2,
	    "SEGMENT_FROM_NET (runtime) > SEGMENT_VERIFIED (f_cut) > "
	    "MSG_FROM_NET (f_echo) > SEGMENT_FROM_NET",
	    "remove one");
	composing = good("f_rebuild {}"); /* what it raises comes from itself */
	done(&composing);
}

/* -------------------------------------------------------------------------- order */

static void runs(const struct composing *composing, const char *expected)
{
	enum { ROOM = 8 };
	struct nopal_ordered order[ROOM];
	size_t count = nopal__compose_order(layer_of(composing), NOPAL_SEGMENT_LOST, order, ROOM);
	char names[256] = "";

	for (size_t i = 0; i < count; i++) {
		strcat(names, layer_of(composing)->members[order[i].member].microprotocol->name);
		strcat(names, " ");
	}
	assert_string_equal(names, expected);
}

TEST(test_order)
{
	struct composing composing = good("f_order_b {} f_order_a {} f_order_c {}");

	runs(&composing, "f_order_c f_order_a f_order_b ");
	assert_int_equal(nopal__compose_order(layer_of(&composing), NOPAL_SEGMENT_LOST, NULL, 0),
			 3);
	assert_int_equal(nopal__compose_order(layer_of(&composing), NOPAL_SEGMENT_DONE, NULL, 0),
			 0);
	done(&composing);
	composing = good("f_order_b {} f_order_a {}");
	runs(&composing, "f_order_a f_order_b ");
	done(&composing);
}

TEST(test_order_permuted)
{
	struct composing composing = good("f_order_b {} f_order_a {} f_order_c {}");
	bool swapped = false;
	struct nopal_ordered order[3];

	for (nopal__order_seed = 1; nopal__order_seed < 20; nopal__order_seed++) {
		nopal__compose_order(layer_of(&composing), NOPAL_SEGMENT_LOST, order, 3);
		/* f_order_c stays first: that is declared */
		assert_int_equal(order[0].member, 4);
		swapped = swapped || order[1].member == 2;
	}
	nopal__order_seed = 0;
	assert_true(swapped);
	done(&composing);
}

TEST(test_order_in_circles)
{
	struct composing composing;

	bad("f_round_a {} f_round_b {} f_round_c {}", 2,
	    "handlers of SEGMENT_LOST cannot be ordered: f_round", "contradict");
	composing = good("f_round_a {} f_round_b {}");
	done(&composing);
}

TEST(test_kinds_that_never_rendezvous)
{
	struct composing composing = good("f_apart {} f_order_b {}");

	runs(&composing, "f_apart f_order_b ");
	done(&composing);
}

TEST(test_events_by_name)
{
	assert_int_equal(nopal__event_find("SEGMENT_LOST"), NOPAL_SEGMENT_LOST);
	assert_int_equal(nopal__event_find("segment_lost"), NOPAL_NO_EVENT);
	assert_int_equal(nopal__event_find(""), NOPAL_NO_EVENT);
}
