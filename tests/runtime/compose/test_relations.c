/* SPDX-License-Identifier: MIT */
/*
 * relations.c, usage.c: needs, conflicts, writers and readers, the dead.
 */
#include <stdlib.h>
#include <string.h>

#include "compose/compose.h"
#include "support/compose_rig.h"
#include "support/test.h"

FAKE(f_needy, .needs = FAKE_RELATIONS({ "f_status|f_report", "no status" }));
FAKE(f_status_b, .provides = FAKE_ROLES({ "f_status", true }));
FAKE(f_status_a, .provides = FAKE_ROLES({ "f_status", true }), .standard = "f_status",
     .needs = FAKE_RELATIONS({ "f_deep", "it is deep" }));
FAKE(f_below, .provides = FAKE_ROLES({ "f_deep", false }), .standard = "f_other|f_deep");
FAKE(f_choosy, .needs = FAKE_RELATIONS({ "f_choice", "it wants one" }));
FAKE(f_choice_a, .provides = FAKE_ROLES({ "f_choice", false }));
FAKE(f_misspelt, .excludes = FAKE_RELATIONS({ "f_statsu", "a slip of the pen" }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment,
					.before = "f_deeep|f_status")));
FAKE(f_enemy, .excludes = FAKE_RELATIONS({ "f_status", "they fight" }));
struct f_wary_parameters {
	int64_t sure;
};
FAKE(f_wary,
     .excludes = FAKE_RELATIONS({ "f_status", "it may hurt", "sure" },
				{ "f_deep", "it does hurt" }),
     .parameters_size = sizeof(struct f_wary_parameters),
     .parameters = (const struct nopal_parameter[]){
	     { .name = "sure", .unit = NOPAL_SWITCH, .initial = "off", .doc = "it will not hurt" },
	     { 0 } });
FAKE(f_writer, .attributes = FAKE_ATTRIBUTES({ .name = "f_number", .access = NOPAL_WRITE }));
FAKE(f_writer_too, .attributes = FAKE_ATTRIBUTES({ .name = "f_number", .access = NOPAL_WRITE }));
FAKE(f_reader, .attributes = FAKE_ATTRIBUTES({ .name = "f_number", .access = NOPAL_READ }));
FAKE(f_optional,
     .attributes = FAKE_ATTRIBUTES({ .name = "f_number", .access = NOPAL_READ_OPTIONAL }));
FAKE(f_numbers, .attributes = FAKE_ATTRIBUTES(
			{ .name = "packet_number", .access = NOPAL_READ, .wire_bytes = 4 }));
FAKE(f_share, .shared = FAKE_SHARED({ .name = "f_rate", .access = NOPAL_WRITE }));
FAKE(f_use, .shared = FAKE_SHARED({ .name = "f_rate", .access = NOPAL_READ }));
FAKE(f_stuck, .holds = FAKE_HOLDS({ "for ever", NOPAL_SEND }));

static const struct nopal_microprotocol *const fakes[] = {
	&f_needy,      &f_status_b, &f_status_a, &f_below,    &f_enemy,	   &f_writer,
	&f_writer_too, &f_reader,   &f_optional, &f_numbers,  &f_share,	   &f_use,
	&f_stuck,      &f_wary,	    &f_choosy,	 &f_choice_a, &f_misspelt, NULL,
};

static int add_fakes(void **state)
{
	(void)state;
	return compose_rig_add(fakes);
}

ALL_TESTS(tests, add_fakes, NULL);

/* ---------------------------------------------------------------------- relations */

TEST(test_needs)
{
	struct composing composing;

	bad("\nf_needy {}", 3, "f_needy needs f_status|f_report: no status",
	    "one of: f_status_a {}, f_status_b {}");
	bad("f_status_a {}", 2, "f_status_a needs f_deep: it is deep", "add f_below {}");
	composing = good("f_needy {} f_status_b {}");
	done(&composing);
}

TEST(test_layers_need_driver_and_segments)
{
	struct nopal_problems problems = { 0 };
	struct composing composing = { 0 };

	assert_null(nopal__compose(nopal__config_parse("f_below {}", "t.conf", NULL, &problems),
				   &problems));
	composing.problems = problems;
	complains(&composing, 0, "has no driver", "transport_driver {}");
	complains(&composing, 0, "has no message_segments", "one of: ");
	assert_int_equal(problems.count, 2);
	nopal_problems_fini(&problems);
	assert_null(nopal__compose(nopal__config_parse("", "t.conf", NULL, &problems), &problems));
	composing.problems = problems;
	complains(&composing, 0, "names no microprotocol", "transport_driver");
	nopal_problems_fini(&problems);
	assert_null(nopal__compose(NULL, &problems));
}

TEST(test_conflicts)
{
	struct composing composing;

	bad("f_enemy {}\nf_status_b {}", 3, "f_enemy and f_status_b exclude each other: they fight",
	    "remove f_enemy or f_status_b");
	bad("f_status_b {}\nf_enemy {}", 3, "exclude each other", "remove");
	bad("f_wary {}\nf_status_b {}", 3, "it may hurt", ", or set f_wary.sure = on");
	composing = good("f_wary { sure = on } f_status_b {}");
	done(&composing);
	bad("f_below {}\nf_wary { sure = on }", 3, "it does hurt", "remove");
	bad("f_status_b {}\nf_status_a {} f_below {}", 3, "both provide f_status",
	    "keep one of f_status_b, f_status_a");
}

TEST(test_automatic)
{
	struct composing composing = compose("requires = auto\nf_needy {}");
	const struct nopal_member *added;

	assert_int_equal(composing.problems.errors, 0);
	assert_int_equal(composing.problems.count, 2);
	complains(&composing, 3, "added f_status_a, because f_needy needs f_status|f_report",
		  "f_status_a {}");
	complains(&composing, 3, "added f_below, because f_status_a", "f_below");
	added = member_of(&composing, "f_below");
	assert_string_equal(added->added_for, "f_deep");
	assert_null(member_of(&composing, "f_needy")->added_for);
	done(&composing);
}

/* The only provider is not taken where it does not declare itself the standard. */
TEST(test_automatic_without_a_standard_is_refused)
{
	bad("requires = auto\nf_choosy {}", 3, "f_choosy needs f_choice", "add f_choice_a {}");
}

TEST(test_unknown_words_are_warned_of)
{
	struct composing composing = compose("f_status_b {}\nf_misspelt {}");

	assert_int_equal(composing.problems.errors, 0);
	assert_int_equal(composing.problems.count, 2);
	complains(&composing, 3, "an exclusion of f_misspelt names `f_statsu`", "f_status");
	complains(&composing, 3, "`before` of f_misspelt names `f_deeep`", "f_deep");
	done(&composing);
}

TEST(test_automatic_avoids_conflicts)
{
	struct composing composing = compose("requires = auto\nf_needy {}\nf_enemy {}");

	complains(&composing, 3, "f_needy needs", "one of");
	assert_int_equal(composing.problems.errors, 1);
	done(&composing);
}

TEST(test_automatic_from_nothing)
{
	struct nopal_problems problems = { 0 };
	struct composing composing = { 0 };

	composing.composition =
		nopal__compose(nopal__config_parse("requires = auto\nsequenced_messages {}",
						   "t.conf", NULL, &problems),
			       &problems);
	composing.problems = problems;
	assert_non_null(composing.composition);
	complains(&composing, 0, "added resize, because the layer needs", "resize");
	done(&composing);
}

/* -------------------------------------------------------------------------- usage */

TEST(test_writers_and_readers)
{
	struct composing composing;

	bad("\nf_reader {}", 3, "f_reader reads the attribute f_number, which nobody writes",
	    "add f_writer {} or f_writer_too {}");
	bad("f_use {}", 2, "reads the shared variable f_rate", "f_share {}");
	bad("f_reader {} f_writer {}\nf_writer_too {}", 3,
	    "f_writer and f_writer_too both write the attribute f_number", "keep one");
	composing = good("f_reader {} f_writer {}");
	done(&composing);
	composing = good("f_optional {}");
	done(&composing);
	composing = good("f_numbers {}"); /* the runtime's own */
	done(&composing);
}

TEST(test_dead_ones)
{
	struct composing composing;

	warns("f_share {}", 2, "f_share is there for nothing", "remove it");
	warns("f_writer {}", 2, "f_writer is there for nothing", "read");
	composing = good("f_share {} f_use {} f_writer {} f_optional {}");
	done(&composing);
}

TEST(test_holds_for_ever)
{
	bad("f_stuck {}", 2, "a send bit that nobody can ever complete", "handler");
}
