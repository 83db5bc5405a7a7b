/* SPDX-License-Identifier: MIT */
/* Views: who is there, the same at all, and since the same message. */
#include <string.h>

#include "support/draw.h"
#include "support/gathering.h"
#include "support/test.h"

static struct gathering all;

static int close_all(void **state)
{
	(void)state;
	gathering_close(&all);
	return 0;
}

EACH_TEST(NULL, close_all);

static const char config[] = GATHERING("total_order {} member_view {}");
static const char alone[] = GATHERING("member_view {}");

static uint64_t bit(uint32_t index)
{
	return UINT64_C(1) << all.one[index].id;
}

static void check_view(uint32_t index, uint32_t which, uint32_t number, uint64_t members)
{
	assert_true(which < all.one[index].views);
	assert_int_equal(all.one[index].view[which].number, number);
	assert_int_equal(all.one[index].view[which].members, members);
}

TEST(test_each_that_comes_is_a_view_of_all)
{
	int64_t number = 0, count = 0;

	gathering_open(&all, config, 3, "delay 10ms", 1);
	assert_int_equal(all.one[0].views, 3);
	assert_int_equal(all.one[1].views, 3);
	assert_int_equal(all.one[2].views, 2);
	assert_int_equal(all.one[3].views, 1);
	check_view(0, 0, 1, bit(1));
	check_view(1, 0, 1, bit(1));
	check_view(1, 1, 2, bit(1) | bit(2));
	check_view(2, 0, 2, bit(1) | bit(2));
	check_view(3, 0, 3, bit(1) | bit(2) | bit(3));
	for (uint32_t i = 0; i <= 3; i++) {
		assert_true(nopal_session_shared(all.one[i].session, "view", &number));
		assert_true(nopal_session_shared(all.one[i].session, "members", &count));
		assert_int_equal(number, 3);
		assert_int_equal(count, 3);
	}
}

/* --------------------------------------------------------------- in line with messages */

/* The view that one has by its number; NULL: it was not there. */
static const struct gathering_view *view_of(const struct gathering_one *one, uint32_t number)
{
	for (uint32_t i = 0; i < one->views; i++)
		if (one->view[i].number == number)
			return &one->view[i];
	return NULL;
}

/* Each view of one is the hub's, they come one by one, and each message is in the view that the hub
 * delivered it in, or would have. */
static void check_agrees(uint32_t index)
{
	const struct gathering_one *hub = &all.one[0], *one = &all.one[index];

	for (uint32_t i = 0; i < one->views; i++) {
		const struct gathering_view *there = view_of(hub, one->view[i].number);

		assert_non_null(there);
		assert_int_equal(one->view[i].members, there->members);
		assert_int_equal(one->view[i].number, one->view[0].number + i);
		assert_true(one->view[i].members & bit(index));
		/* the same messages were delivered since the first one */
		assert_int_equal(one->view[i].entries - one->view[0].entries,
				 there->entries - view_of(hub, one->view[0].number)->entries);
	}
	for (uint32_t i = 0; i < one->entries; i++) {
		const struct gathering_view *in = view_of(one, (uint32_t)one->log[i].view);

		assert_non_null(in);
		assert_true(in->entries <= i);
		assert_true(in == &one->view[one->views - 1] || in[1].entries > i);
	}
}

/* Three and the hub speak in turn; one goes, and a fourth comes. */
static void talk(uint32_t goes, uint32_t when, enum gathering_leaving how, uint32_t comes,
		 const char *link)
{
	gathering_prepare(&all, config, 4, "delay 10ms", 1);
	for (uint32_t i = 1; i <= 3; i++)
		gathering_add(&all, i);
	gathering_run(&all, NOPAL_SECOND);
	for (uint32_t i = 1; i <= 4; i++)
		gathering_link(&all, i, link);
	for (uint32_t i = 0; i < 8; i++) {
		if (i == when)
			gathering_leave(&all, goes, how);
		if (i == comes)
			gathering_add(&all, 4);
		if (all.one[i % 4].session)
			gathering_say(&all, i % 4);
		gathering_run(&all, 7 * NOPAL_MILLISECOND);
	}
	gathering_run(&all, 60 * NOPAL_SECOND);
}

static void check_talk(uint32_t goes)
{
	const struct gathering_one *hub = &all.one[0];

	assert_int_equal(hub->views, 5); /* three came, one more, and one went */
	assert_int_equal(hub->view[4].members, (bit(1) | bit(2) | bit(3) | bit(4)) & ~bit(goes));
	for (uint32_t i = 1; i <= 4; i++) {
		if (i == goes)
			continue;
		check_agrees(i);
		assert_int_equal(all.one[i].view[all.one[i].views - 1].number, 5);
		gathering_agrees_from(&all, i, hub->entries - all.one[i].entries);
	}
	gathering_agrees_from(&all, goes % 3 + 1, 0);
	assert_true(hub->entries >= 6);
}

TEST(test_those_that_stay_agree_on_views_whoever_goes_and_comes)
{
	static const char *const links[] = { "delay 10ms", "delay 10ms loss mask 0x15",
					     "delay 10ms 5ms loss 10% duplicate 5%" };

	for (uint32_t goes = 1; goes <= 3; goes++)
		for (uint32_t when = 0; when < 8; when++)
			for (int how = 0; how < GATHERING_LEAVINGS; how++)
				for (uint32_t comes = 0; comes < 8; comes += 3) {
					talk(goes, when, (enum gathering_leaving)how, comes,
					     links[(when + comes) % 3]);
					check_talk(goes);
				}
}

/* ------------------------------------------------------------------ coming and going */

enum { CHURN_HOSTS = 5, CHURN_STEPS = 120, CHURN_SEEDS = 25 };

static bool is_member(uint32_t index)
{
	struct nopal_destination_info infos[CHURN_HOSTS];
	size_t count = nopal_destinations(all.one[0].session, infos, CHURN_HOSTS);

	for (size_t i = 0; i < count; i++)
		if (infos[i].id == all.one[index].id)
			return true;
	return false;
}

static void churn_once(struct draw *from)
{
	uint32_t index = 1 + (uint32_t)draw_below(from, CHURN_HOSTS);
	bool member = all.one[index].id && is_member(index);

	switch (draw_below(from, 12)) {
	case 0:
		if (!member && !all.one[index].session)
			gathering_add(&all, index);
		break;
	case 1:
		if (member)
			gathering_leave(
				&all, index,
				(enum gathering_leaving)draw_below(from, GATHERING_LEAVINGS));
		break;
	case 2:
		gathering_link(&all, index, "delay 10ms 5ms loss 10% duplicate 5%");
		break;
	case 3:
		gathering_say(&all, 0);
		break;
	default:
		if (all.one[index].session)
			gathering_say(&all, index);
	}
	gathering_run(&all, (int64_t)draw_below(from, 20) * NOPAL_MILLISECOND);
}

/* From its first message to the last one of all it has what the hub had, in places and views. */
static void check_life(uint32_t index)
{
	const struct gathering_one *hub = &all.one[0], *one = &all.one[index];
	uint32_t there = 0;

	assert_int_equal(one->wrong, 0);
	assert_int_equal(one->view[one->views - 1].number, hub->view[hub->views - 1].number);
	assert_int_equal(one->view[one->views - 1].members, hub->view[hub->views - 1].members);
	check_agrees(index);
	if (!one->entries)
		return;
	while (there < hub->entries && hub->log[there].place != one->log[0].place)
		there++;
	assert_int_equal(one->entries, hub->entries - there);
	for (uint32_t i = 0; i < one->entries; i++) {
		assert_int_equal(one->log[i].place, hub->log[there + i].place);
		assert_int_equal(one->log[i].who, hub->log[there + i].who);
		assert_int_equal(one->log[i].number, hub->log[there + i].number);
	}
}

TEST(test_those_that_live_agree_however_others_come_and_go)
{
	uint32_t lives = 0;

	for (uint64_t seed = 1; seed <= CHURN_SEEDS; seed++) {
		struct draw from = draw_of(seed);

		gathering_prepare(&all, config, CHURN_HOSTS, "delay 10ms", seed);
		gathering_add(&all, 1);
		gathering_run(&all, NOPAL_SECOND);
		for (unsigned i = 0; i < CHURN_STEPS && all.one[0].session; i++)
			churn_once(&from);
		gathering_run(&all, 60 * NOPAL_SECOND);
		for (uint32_t i = 1; all.one[0].session && i <= CHURN_HOSTS; i++)
			if (all.one[i].session && is_member(i)) {
				check_life(i);
				lives++;
			}
	}
	assert_true(lives >= CHURN_SEEDS);
}

/* ------------------------------------------------------------------- of one that comes */

TEST(test_who_never_answers_comes_and_goes)
{
	gathering_prepare(&all, config, 2, "delay 10ms", 1);
	gathering_link(&all, 2, "loss 100%");
	gathering_add(&all, 1);
	gathering_add(&all, 2);
	gathering_say(&all, 0);
	gathering_run(&all, 60 * NOPAL_SECOND);
	gathering_say(&all, 0);
	gathering_run(&all, NOPAL_SECOND);
	assert_int_equal(all.one[0].views, 3);
	assert_int_equal(all.one[1].views, 3);
	check_view(1, 2, 3, bit(1));
	assert_int_equal(all.one[1].log[0].view, 2);
	assert_int_equal(all.one[1].log[1].view, 3);
	check_agrees(1);
}

TEST(test_who_comes_again_is_another_member)
{
	uint32_t old;

	gathering_open(&all, config, 2, "delay 10ms", 1);
	old = (uint32_t)all.one[2].id;
	nopal_destination_remove(all.one[0].session, old, false);
	gathering_run(&all, 5 * NOPAL_SECOND);
	gathering_add(&all, 2);
	gathering_run(&all, NOPAL_SECOND);
	assert_int_equal(all.one[2].lives, 2);
	assert_true(all.one[2].id > old);
	check_view(1, 2, 3, bit(1));
	check_view(1, 3, 4, bit(1) | bit(2));
	check_view(2, 0, 4, bit(1) | bit(2));
}

/* ------------------------------------------------------------------------- by itself */

/* Without an order of all a view comes between the same messages of the hub: they have no place. */
TEST(test_views_are_in_line_with_messages_of_the_hub)
{
	gathering_open(&all, alone, 3, "delay 10ms loss 10%", 1);
	for (uint32_t i = 0; i < 5; i++)
		gathering_say(&all, 0);
	nopal_destination_remove(all.one[0].session, (uint32_t)all.one[3].id, true);
	for (uint32_t i = 0; i < 5; i++)
		gathering_say(&all, 0);
	gathering_run(&all, 10 * NOPAL_SECOND);
	check_view(1, 3, 4, bit(1) | bit(2));
	check_view(2, 2, 4, bit(1) | bit(2));
	assert_int_equal(all.one[1].view[3].privately, 5);
	assert_int_equal(all.one[2].view[2].privately, 5);
	assert_int_equal(all.one[1].privately, 10);
	assert_int_equal(all.one[2].privately, 10);
}

TEST(test_a_group_that_closes_has_no_views_any_more)
{
	gathering_open(&all, config, 3, "delay 10ms", 1);
	nopal_session_close(all.one[0].session);
	gathering_run(&all, 10 * NOPAL_SECOND);
	assert_int_equal(all.one[0].views, 3);
	for (uint32_t i = 0; i <= 3; i++) {
		assert_true(all.one[i].ended);
		assert_int_equal(all.one[i].end, NOPAL_ENDED_WELL);
		assert_int_equal(all.one[i].view[all.one[i].views - 1].number, 3);
	}
}
