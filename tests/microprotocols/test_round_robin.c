/* SPDX-License-Identifier: MIT */
/* Streams of one flow take turns: none has the path to itself because it was first. */
#include "support/one_flow.h"
#include "support/test.h"

enum { MANY = 10, BYTES = 400000 };

#define CONFIG(upper)                                                                              \
	"layer \"stream\" { multiplicity = per_stream\n" STREAM upper                              \
	"\n}\nlayer \"flow\" {\n" FLOW "}\n"
static const char IN_TURNS[] = CONFIG("round_robin { block = 8 }");
static const char AT_ONCE[] = CONFIG("");

static char bytes[BYTES];

/* Each stream sends its message in the same instant; when the first and the last of them are there,
 * since then. */
static void send_all(const char *config, int64_t *ret_first_ns, int64_t *ret_last_ns)
{
	int64_t sent_ns;

	pair_open(config, "rate 20mbit delay 10ms limit 200");
	for (uint32_t i = 0; i < MANY; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(NOPAL_SECOND);
	sent_ns = nopal_world_now(pair.world);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(nopal_send(pair.here[i].session, bytes, BYTES, 0), 0);
	flow_pair_run(30 * NOPAL_SECOND);
	*ret_first_ns = INT64_MAX;
	*ret_last_ns = 0;
	for (uint32_t i = 0; i < MANY; i++) {
		int64_t took_ns = pair.there[i].last_ns - sent_ns;

		assert_int_equal(pair.there[i].bytes, BYTES + 5);
		if (took_ns < *ret_first_ns)
			*ret_first_ns = took_ns;
		if (took_ns > *ret_last_ns)
			*ret_last_ns = took_ns;
	}
	pair_close();
}

TEST(test_streams_share_the_path)
{
	int64_t first_ns, last_ns, alone_first_ns, alone_last_ns;

	send_all(AT_ONCE, &alone_first_ns, &alone_last_ns);
	assert_true(alone_first_ns < alone_last_ns / 4); /* who was first */
	send_all(IN_TURNS, &first_ns, &last_ns);
	assert_true(first_ns > last_ns / 10 * 9);
	assert_true(last_ns < alone_last_ns / 10 * 12); /* turns cost little */
}

/* Half of a second of others' segments is in line before it. */
TEST(test_what_is_urgent_waits_for_no_turn)
{
	const struct nopal_property urgent = { 0, 1 };
	struct nopal_property property = urgent;
	int64_t sent_ns;

	pair_open(IN_TURNS, "rate 20mbit delay 10ms limit 200");
	for (uint32_t i = 0; i < MANY; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(NOPAL_SECOND);
	for (uint32_t i = 1; i < MANY; i++)
		nopal_send(pair.here[i].session, bytes, BYTES, 0);
	flow_pair_run(300 * NOPAL_MILLISECOND);
	property.which = nopal_property(pair.plan, "urgent");
	sent_ns = nopal_world_now(pair.world);
	assert_int_equal(nopal_send_message(pair.here[0].session,
					    &(struct nopal_outgoing){ .bytes = "now",
								      .length = 3,
								      .properties = &property,
								      .property_count = 1 }),
			 0);
	flow_pair_run(10 * NOPAL_SECOND);
	assert_string_equal(pair.there[0].text, "now");
	/* behind what the network holds already: its queue and the path */
	assert_true(pair.there[0].last_ns - sent_ns <
		    10 * NOPAL_MILLISECOND + 200 * 600 * NOPAL_MICROSECOND);
	pair_close();
}

/* As much as the path takes and more, from all streams but the first. */
static void load(int64_t duration_ns)
{
	int64_t until_ns = nopal_world_now(pair.world) + duration_ns;

	while (nopal_world_now(pair.world) < until_ns) {
		for (uint32_t i = 1; i < MANY; i++)
			while (nopal_session_send_room(pair.here[i].session) > BYTES)
				nopal_send(pair.here[i].session, bytes, BYTES, 0);
		flow_pair_run(10 * NOPAL_MILLISECOND);
	}
}

/* An urgent message now and then: the longest that one was on its way. */
static int64_t urge(bool loaded)
{
	struct nopal_property urgent = { 0, 1 };
	int64_t max_ns = 0;

	pair_open("extends = \"streams\"\n", "rate 50mbit delay 20ms limit 1000");
	urgent.which = nopal_property(pair.plan, "urgent");
	for (uint32_t i = 0; i < MANY; i++)
		open_stream(i);
	if (loaded)
		say(0, "hello");
	flow_pair_run(NOPAL_SECOND);
	if (loaded)
		load(2 * NOPAL_SECOND);
	for (uint32_t n = 0; n < 250; n++) {
		int64_t sent_ns = nopal_world_now(pair.world), took_ns;

		assert_int_equal(
			nopal_send_message(pair.here[0].session,
					   &(struct nopal_outgoing){ .bytes = bytes,
								     .length = 100,
								     .properties = &urgent,
								     .property_count = 1 }),
			0);
		if (loaded)
			load(60 * NOPAL_MILLISECOND);
		else
			flow_pair_run(60 * NOPAL_MILLISECOND);
		assert_int_equal(pair.there[0].delivered, n + 1 + loaded);
		took_ns = pair.there[0].last_ns - sent_ns;
		if (took_ns > max_ns)
			max_ns = took_ns;
	}
	pair_close();
	return max_ns;
}

/* Below the streams nothing is in line that it has to wait for, and what is in the network's queue
 * is less than a round trip of it. */
TEST(test_what_is_urgent_takes_a_round_trip_more_at_most)
{
	int64_t idle_ns = urge(false), loaded_ns = urge(true);

	assert_in_range(idle_ns, 20 * NOPAL_MILLISECOND, 21 * NOPAL_MILLISECOND);
	assert_in_range(loaded_ns, idle_ns, idle_ns + 40 * NOPAL_MILLISECOND);
}

TEST(test_a_stream_that_breaks_gives_up_its_turn)
{
	pair_open(IN_TURNS, "rate 20mbit delay 10ms limit 200");
	for (uint32_t i = 0; i < 4; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(NOPAL_SECOND);
	for (uint32_t i = 0; i < 4; i++)
		nopal_send(pair.here[i].session, bytes, BYTES, 0);
	flow_pair_run(60 * NOPAL_MILLISECOND);
	nopal_session_abort(pair.here[1].session, "enough");
	nopal_session_abort(pair.here[3].session, "enough");
	flow_pair_run(20 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(pair.there[i].bytes == BYTES + 5, i % 2 == 0);
	pair_close();
}

/* Below is nobody who says whether something waits to leave. */
TEST(test_a_flow_without_a_window_gives_turns_at_once)
{
	pair_open(
		"layer \"stream\" { multiplicity = per_stream\n" STREAM
		" round_robin {}\n}\nlayer \"flow\" {\n"
		" transport_driver {} virtual_circuit {} resize {}\n"
		" sequenced_segments {} positive_ack {} retransmission_timer {} rtt_estimation {}\n"
		" retransmit {} checksum {}\n}\n",
		"rate 20mbit delay 10ms loss 5%");
	for (uint32_t i = 0; i < 3; i++)
		open_stream(i);
	for (uint32_t i = 0; i < 3; i++)
		nopal_send(pair.here[i].session, bytes, BYTES / 10, 0);
	flow_pair_run(20 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(pair.there[i].bytes, BYTES / 10);
	pair_close();
}

/* The stream's own resends: it takes segments in order alone, and its flow has none. */
TEST(test_what_a_stream_sends_again_waits_for_no_turn)
{
	pair_open("layer \"stream\" { multiplicity = per_stream\n"
		  " transport_driver {} stream_end {} resize {}\n"
		  " sequenced_segments {} go_back_n {} windowed_cc {}\n"
		  " tcp_congestion {} round_robin {}\n}\n"
		  "layer \"flow\" {\n" FLOW "}\n",
		  "delay 10ms loss 10%");
	open_stream(0);
	nopal_send(pair.here[0].session, bytes, BYTES, 0);
	flow_pair_run(60 * NOPAL_SECOND);
	assert_int_equal(pair.there[0].bytes, BYTES);
	assert_int_equal(pair.here[0].arrived, 1);
	pair_close();
}
