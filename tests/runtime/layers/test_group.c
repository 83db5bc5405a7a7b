/* SPDX-License-Identifier: MIT */
/* One to many: destinations come and go, and each copy has one outcome. */
#include <errno.h>

#include "session/endpoint_sessions.h"
#include "support/many.h"
#include "support/test.h"

static struct many many;

TEST(test_all_have_what_was_sent)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.opened, 1);
	for (int i = 0; i < 20; i++)
		assert_int_equal(many_send_bytes(&many, 5000, 0), 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 20);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(many.end[i].opened, 1);
		assert_int_equal(many.end[i].delivered, 20);
	}
	many_close(&many);
}

/* Messages sent before anybody was there go to all that are members then. */
TEST(test_what_is_sent_at_once_waits_for_the_opening)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms", 1);
	assert_int_equal(many_send(&many), 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(many.end[i].delivered, 1);
	many_close(&many);
}

TEST(test_payload_is_stored_once)
{
	struct nopal_buffer *buffer = nopal_buffer_new(60000);

	many_open(&many, MANY_RELIABLE("fan_out {}"), 8, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	memset(nopal_buffer_bytes(buffer), '7', 60000);
	assert_int_equal(
		nopal_send_message(many.group,
				   &(struct nopal_outgoing){ .buffer = buffer, .length = 60000 }),
		0);
	many_run(&many, 15 * NOPAL_MILLISECOND);
	/* ours, the group's, and one a destination or more: no copy was made */
	assert_true(buffer->references >= 8);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	assert_int_equal(buffer->references, 1);
	nopal_buffer_unref(buffer);
	many_close(&many);
}

/* A window of two segments for each destination; the rest of the message waits for its acks. */
TEST(test_unsent_message_of_a_group_is_unsent_until_a_copy_of_it_has_left)
{
	many_open(&many,
		  "layer \"group\" {\n transport_driver {}\n whole_messages {}\n fan_out {}\n}\n"
		  "layer \"each\" {\n multiplicity = per_destination\n transport_driver {}\n"
		  " virtual_circuit {}\n resize {}\n sequenced_segments {}\n positive_ack {}\n"
		  " retransmission_timer {}\n rtt_estimation {}\n retransmit {}\n"
		  " windowed_cc {}\n tcp_congestion { initial = 2seg }\n reliable_fifo {}\n}\n",
		  3, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	nopal_session_set_budget(many.group, &(struct nopal_budget){ .unsent_messages = 1 });
	assert_int_equal(many_send_bytes(&many, 5000, 0), 0);
	assert_int_equal(many_send_bytes(&many, 5000, 0), -EAGAIN);
	many_run(&many, 15 * NOPAL_MILLISECOND);
	assert_int_equal(many_send_bytes(&many, 5000, 0), -EAGAIN);
	many_run(&many, 10 * NOPAL_MILLISECOND);
	assert_int_equal(many_send_bytes(&many, 5000, 0), 0);
	assert_int_equal(nopal_withdraw(many.group, many.sent - 1), -ENOTSUP);
	many_close(&many);
}

/* Each has what all have, and the bytes are there once. */
TEST(test_a_thousand_destinations)
{
	enum { THOUSAND = 1000, BYTES = 100000 };
	struct nopal_buffer *buffer = nopal_buffer_new(BYTES);

	many_open(&many, MANY_RELIABLE("fan_out {}"), THOUSAND, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_write(0, (char *)nopal_buffer_bytes(buffer), BYTES);
	many.length[0] = BYTES;
	assert_int_equal(
		nopal_send_message(many.group,
				   &(struct nopal_outgoing){ .buffer = buffer, .length = BYTES }),
		0);
	many.sent++;
	assert_true(buffer->references >= THOUSAND);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(buffer->references, 1);
	nopal_buffer_unref(buffer);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	for (uint32_t i = 0; i < THOUSAND; i++) {
		assert_int_equal(many.end[i].delivered, 1);
		assert_int_equal(many.end[i].wrong, 0);
	}
	nopal_session_close(many.group);
	many_run(&many, 10 * NOPAL_SECOND);
	assert_int_equal(many.end_code, NOPAL_ENDED_WELL);
	many_close(&many);
}

TEST(test_one_alone_is_spoken_to)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_send_bytes(&many, 0, (uint64_t)many.end[1].id), 0);
	assert_int_equal(many_send_bytes(&many, 0, 77), 0); /* nobody */
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[0].delivered + many.end[2].delivered, 0);
	assert_int_equal(many.end[1].delivered, 1);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(many.outcome[1], NOPAL_OUTCOME_LOST);
	many_close(&many);
}

TEST(test_answers_say_whose_they_are)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms", 1);
	many.echo = true;
	assert_int_equal(many_send(&many), 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.answers, 3);
	assert_int_equal(many_send_bytes(&many, 0, (uint64_t)many.end[2].id), 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.answers, 4);
	assert_int_equal(many.answer_from, many.end[2].id);
	many_close(&many);
}

/* -------------------------------------------------------------- membership */

TEST(test_who_comes_later_gets_what_is_sent_later)
{
	many_prepare(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms", 1);
	assert_int_equal(many_add(&many, 0), 1);
	assert_int_equal(many_add(&many, 1), 2);
	assert_int_equal(nopal_destination_add(many.group, &many.end[1].address), -EEXIST);
	many_run(&many, NOPAL_SECOND);
	many_send(&many);
	assert_int_equal(many_add(&many, 2), 3);
	many_send(&many);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	assert_int_equal(many.end[0].delivered, 2);
	assert_int_equal(many.end[2].delivered, 1);
	assert_int_equal(many.end[2].newest, 1);
	many_close(&many);
}

TEST(test_nobody_waits_for_who_was_removed)
{
	struct nopal_destination_info infos[4];

	many_open(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_cut(&many, 1);
	many_send(&many);
	many_run(&many, 100 * NOPAL_MILLISECOND);
	assert_int_equal(many.outcome_count[0], 0);
	assert_int_equal(nopal_destination_remove(many.group, 2, false), 0);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_destinations(many.group, infos, 4), 3);
	many_run(&many, 120 * NOPAL_SECOND); /* it is silent, and ends */
	assert_int_equal(many.end[1].ended, 1);
	assert_int_not_equal(many.end[1].end, NOPAL_ENDED_WELL);
	assert_int_equal(nopal_destinations(many.group, infos, 4), 2);
	assert_int_equal(infos[1].id, 3);
	assert_int_equal(many.ended, 0);
	assert_int_equal(nopal_destination_remove(many.group, 2, false), -ENOENT);
	many_close(&many);
}

/* In good order: what it was given still arrives there. */
TEST(test_removed_in_good_order_or_at_once)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_send_bytes(&many, 50000, 0);
	assert_int_equal(nopal_destination_remove(many.group, 1, false), 0);
	assert_int_equal(nopal_destination_remove(many.group, 2, true), 0);
	many_send(&many);
	many_run(&many, 2 * NOPAL_SECOND);
	assert_int_equal(many.end[0].delivered, 1);
	assert_int_equal(many.end[0].end, NOPAL_ENDED_WELL);
	assert_int_equal(many.end[1].seen[1], 0);
	assert_int_equal(many.end[1].end, NOPAL_ABORTED);
	assert_int_equal(many.end[2].delivered, 2);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	many_close(&many);
}

/* A destination that is being removed gets no new message, by its id neither. */
TEST(test_who_is_leaving_is_not_spoken_to)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 2, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_send_bytes(&many, 50000, 0);
	assert_int_equal(nopal_destination_remove(many.group, 2, false), 0);
	many_send_bytes(&many, 0, 2);
	assert_int_equal(many.outcome_count[1], 1);
	assert_int_equal(many.outcome[1], NOPAL_OUTCOME_LOST);
	many_send(&many);
	many_run(&many, 2 * NOPAL_SECOND);
	assert_int_equal(many.end[1].delivered, 1);
	assert_int_equal(many.end[1].end, NOPAL_ENDED_WELL);
	assert_int_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(many.outcome[2], NOPAL_OUTCOME_DELIVERED);
	many_close(&many);
}

/* ------------------------------------------------------------- life and end */

TEST(test_it_closes_in_good_order)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms loss 5%", 3);
	for (int i = 0; i < 10; i++)
		many_send_bytes(&many, 20000, 0);
	nopal_session_close(many.group);
	many_run(&many, 30 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 10);
	assert_int_equal(many.ended, 1);
	assert_int_equal(many.end_code, NOPAL_ENDED_WELL);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(many.end[i].delivered, 10);
		assert_int_equal(many.end[i].ended, 1);
		assert_null(many.end[i].session);
	}
	many_close(&many);
}

TEST(test_it_breaks_with_the_last_destination)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 2, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_cut(&many, 0);
	many_cut(&many, 1);
	many_send(&many);
	many_run(&many, 120 * NOPAL_SECOND);
	assert_int_equal(many.outcome_count[0], 1);
	assert_int_not_equal(many.outcome[0], NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(many.ended, 1);
	assert_int_not_equal(many.end_code, NOPAL_ENDED_WELL);
	many_close(&many);
}

TEST(test_an_abort_ends_all)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 3, "delay 10ms", 1);
	many_run(&many, NOPAL_SECOND);
	many_send(&many);
	nopal_session_abort(many.group, "enough");
	assert_int_equal(many.ended, 1);
	assert_int_equal(many.end_code, NOPAL_ABORTED);
	assert_int_equal(many.outcome_count[0], 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(many.end[i].ended, 1);
	many_run(&many, NOPAL_SECOND);
	for (uint32_t i = 0; i < 3; i++)
		assert_null(many.end[i].session);
	many_close(&many);
}

/* Its world ends with everything under way: nothing leaks. */
TEST(test_the_world_may_end_first)
{
	many_open(&many, MANY_RELIABLE("fan_out {}"), 5, "delay 10ms loss 20%", 7);
	for (int i = 0; i < 30; i++)
		many_send_bytes(&many, 9000, 0);
	many_run(&many, 60 * NOPAL_MILLISECOND);
	nopal_destination_remove(many.group, 2, true);
	many_close(&many);
}

TEST(test_a_session_with_one_peer_is_a_group_of_one)
{
	static const struct nopal_callbacks none;
	struct nopal_session *session;
	struct nopal_destination_info info;

	many_prepare(&many, MANY_RELIABLE("fan_out {}"), 1, "delay 10ms", 1);
	session = nopal_open(many.endpoint, many.plan, &many.end[0].address, &none, NULL);
	assert_non_null(session);
	assert_int_equal(nopal_destinations(session, &info, 1), 1);
	assert_int_equal(nopal_send(session, "7 ", 2, 0), 0);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many.end[0].newest, 7);
	assert_int_equal(nopal_destination_add(many.end[0].session, &many.end[0].address), -EINVAL);
	assert_true(nopal_session_counters(session)->datagrams_out > 1);
	many_close(&many);
}

/* ------------------------------------------------------------ both families */

enum { UDP_IPV4 = 1472, UDP_IPV6 = 1452 }; /* of 1500 bytes of IP */

/* The longest datagram that left whole, by family, and how many could be cut. */
static struct transmitted {
	uint32_t longest[2], cut[2];
} transmitted;
static const struct nopal_world_ops *real_ops;

static enum nopal_transmitted note_transmission(struct nopal_world *world,
						struct nopal_endpoint *endpoint,
						const struct nopal_train *train)
{
	bool ipv6 = !nopal_address_is_v4(train->to);
	uint32_t length =
		train->stride && train->stride < train->length ? train->stride : train->length;

	transmitted.cut[ipv6] += train->fragments;
	if (!train->fragments && length > transmitted.longest[ipv6])
		transmitted.longest[ipv6] = length;
	return real_ops->transmit(world, endpoint, train);
}

static void transmit_from(const char *config, enum many_family family, const size_t *lengths,
			  uint32_t count)
{
	struct nopal_world_ops ops;

	memset(&transmitted, 0, sizeof(transmitted));
	many_family = family;
	many_open(&many, config, 2, "delay 10ms", 1);
	many_family = MANY_V4;
	real_ops = many.world->ops;
	ops = *real_ops;
	ops.transmit = note_transmission;
	many.world->ops = &ops;
	many_run(&many, NOPAL_SECOND);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(many_send_bytes(&many, lengths[i], 0), 0);
	many_run(&many, 10 * NOPAL_SECOND);
	for (uint32_t i = 0; i < many.count; i++)
		assert_true(many_has(&many, i, 0, count));
	many.world->ops = real_ops;
	many_close(&many);
}

/* The header of IPv6 takes 20 bytes more of the MTU. */
TEST(test_what_is_cut_fits_the_mtu_of_its_family)
{
	static const size_t lengths[] = { 20000, 100, 1400, 1440, 1500, 9000 };
	enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
	const char *config = MANY_RELIABLE("fan_out {}");

	transmit_from(config, MANY_V4, lengths, LENGTHS);
	assert_int_equal(transmitted.longest[0], UDP_IPV4);
	transmit_from(config, MANY_V6, lengths, LENGTHS);
	assert_int_equal(transmitted.longest[0], 0);
	assert_int_equal(transmitted.longest[1], UDP_IPV6);
	transmit_from(config, MANY_MIXED, lengths, LENGTHS);
	assert_int_equal(transmitted.longest[0], UDP_IPV4);
	assert_int_equal(transmitted.longest[1], UDP_IPV6);
	assert_int_equal(transmitted.cut[0] + transmitted.cut[1], 0);
}

/* Segments that nobody cuts leave in fragments of IP where it is too long for IPv6. */
TEST(test_a_whole_message_too_long_for_ipv6)
{
	struct nopal_plan *plan = many_plan(MANY_PLAIN("fan_out {}"));
	const size_t max = (size_t)nopal_plan_info(plan)->message_limit;

	nopal_plan_unref(plan);
	assert_true(max > UDP_IPV6 - 100);
	transmit_from(MANY_PLAIN("fan_out {}"), MANY_MIXED, &max, 1);
	assert_in_range(transmitted.longest[0], UDP_IPV6 + 1, UDP_IPV4);
	assert_int_equal(transmitted.cut[0], 0);
	assert_int_equal(transmitted.cut[1], 1);
	assert_true(transmitted.longest[1] <= UDP_IPV6);
}
