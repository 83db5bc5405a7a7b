/* SPDX-License-Identifier: MIT */
/* The address of a channel: who may open it and join, and what leaves for one of IPv6. */
#include <errno.h>

#include "engine/turn.h"
#include "session/endpoint_sessions.h"
#include "support/many.h"
#include "support/test.h"

ALL_TESTS(IPv4, NULL, NULL);
ALL_TESTS(IPv6, many_of_ipv6, NULL);

static struct many many;

#define PLAIN MANY_CHANNEL("", "report = 1ms", "fan_out {}")

enum { UDP_IPV6 = 1452 }; /* of 1500 bytes of IP */

/* --------------------------------------------------------- who may open and join */

static struct nopal_address parsed(const char *text)
{
	struct nopal_address address;

	assert_int_equal(nopal_address_parse(text, &address, NULL), 0);
	return address;
}

/* A group of the family that is not the channel's. */
static struct nopal_address other_group(void)
{
	return parsed(many_cast6 ? "239.1.2.3:9077" : MANY_GROUP6);
}

/* Opens a group with one destination, which joins the channel. */
static void begin(void)
{
	many_open(&many, PLAIN, 1, "delay 1ms", 1);
	many_run(&many, NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 1);
}

static struct nopal_address group_address(void)
{
	return parsed(many_cast6 ? MANY_GROUP6 : "239.77.0.1:9077");
}

static struct nopal_address host_address(void)
{
	return parsed(many_cast6 ? "[fd00::1]:9077" : "10.0.0.1:9077");
}

TEST(test_who_may_open)
{
	const struct nopal_address group = group_address(), host = host_address();
	bool outermost;
	int64_t id;

	begin();
	outermost = nopal__turn_begin(many.world);
	id = nopal_channel_open(many.group, 0, &group, 1);
	assert_true(id > 0 && id <= UINT32_MAX);
	assert_true(nopal_channel_reaches(many.group, 0));
	assert_int_equal(nopal_channel_open(many.group, 0, &group, 1), id);
	assert_int_equal(nopal_channel_open(many.group, 1, &group, 1), -ENOTCONN);
	assert_int_equal(nopal_channel_open(many.group, 0, &host, 1), -EINVAL);
	assert_int_equal(nopal_channel_open(many.end[0].session, 0, &group, 1), -EINVAL);
	nopal__turn_end(many.world, outermost);
	assert_int_equal(many_send_bytes(&many, 100, 0), 0);
	many_run(&many, NOPAL_SECOND);
	assert_true(many_has(&many, 0, 0, 1));
	many_close(&many);
}

TEST(test_who_may_join)
{
	const struct nopal_address group = group_address(), other = other_group(),
				   host = host_address();
	struct nopal_session *receiver;
	bool outermost;
	uint32_t id;

	begin();
	receiver = many.end[0].session;
	outermost = nopal__turn_begin(many.world);
	id = (uint32_t)nopal_channel_open(many.group, 0, &group, 1);
	assert_int_equal(nopal_channel_join(receiver, &group, id), 0);
	assert_int_equal(nopal_channel_join(receiver, &group, id + 1), -EEXIST);
	assert_int_equal(nopal_channel_join(receiver, &host, id), -EINVAL);
	assert_int_equal(nopal_channel_join(receiver, &other, id), -EAFNOSUPPORT);
	assert_int_equal(nopal_channel_join(many.group, &group, id), -EINVAL);
	nopal__turn_end(many.world, outermost);
	assert_int_equal(many_send_bytes(&many, 100, 0), 0);
	many_run(&many, NOPAL_SECOND);
	assert_true(many_has(&many, 0, 0, 1));
	many_close(&many);
}

/* Nobody is there, or nobody of its family. */
TEST(test_towards_nobody_there_is_no_channel)
{
	const struct nopal_address group = group_address(), other = other_group();
	bool outermost;

	many_prepare(&many, PLAIN, 1, "delay 1ms", 1);
	outermost = nopal__turn_begin(many.world);
	assert_int_equal(nopal_channel_open(many.group, 0, &group, 1), -ENOTCONN);
	assert_true(many_add(&many, 0) > 0);
	assert_int_equal(nopal_channel_open(many.group, 0, &other, 1), -EAFNOSUPPORT);
	assert_false(nopal_channel_reaches(many.group, 0));
	nopal__turn_end(many.world, outermost);
	many_close(&many);
}

/* ------------------------------------------------------- longer than IPv6 takes */

static const struct nopal_world_ops *real_ops;
static struct nopal_world_ops ops;
static uint32_t cut_by_ip, too_long;

static enum nopal_transmitted note_length(struct nopal_world *world,
					  struct nopal_endpoint *endpoint,
					  const struct nopal_train *train)
{
	uint32_t length =
		train->stride && train->stride < train->length ? train->stride : train->length;

	if (!nopal_address_is_v4(train->to) && length > UDP_IPV6) {
		cut_by_ip += train->fragments;
		too_long += !train->fragments;
	}
	return real_ops->transmit(world, endpoint, train);
}

/* Waiting segments were cut for IPv4 when the first by IPv6 opens the channel. */
TEST(test_what_was_cut_for_ipv4_leaves_in_fragments)
{
	const enum many_family family = many_family;
	const bool cast6 = many_cast6;

	many_family = MANY_MIXED;
	many_cast6 = true;
	many_prepare(&many,
		     MANY_CHANNEL("", "",
				  "fan_out {} rate_cc {} slowest_receiver { "
				  "initial = 1Mbit most = 1Mbit }"),
		     2, "delay 10ms", 1);
	many_family = family;
	many_cast6 = cast6;
	real_ops = many.world->ops;
	ops = *real_ops;
	ops.transmit = note_length;
	many.world->ops = &ops;
	cut_by_ip = too_long = 0;
	assert_true(many_add(&many, 0) > 0);
	many_run(&many, NOPAL_SECOND);
	for (int i = 0; i < 10; i++) /* 160 ms each */
		assert_int_equal(many_send_bytes(&many, 20000, 0), 0);
	many_run(&many, 200 * NOPAL_MILLISECOND);
	assert_true(many_add(&many, 1) > 0);
	many_run(&many, 20 * NOPAL_SECOND);
	assert_int_equal(many_hearing(&many), 1);
	assert_true(many_has(&many, 0, 0, 10));
	assert_true(many.end[1].delivered > 5);
	assert_int_equal(many.end[1].wrong + many.end[1].late, 0);
	assert_true(cut_by_ip > 0);
	assert_int_equal(too_long, 0);
	many.world->ops = real_ops;
	many_close(&many);
}
