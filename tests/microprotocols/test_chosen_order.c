/* SPDX-License-Identifier: MIT */
/* Streams of bytes and partially reliable messages on one flow, and both kinds on one stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/one_flow.h"
#include "support/test.h"

enum { EACH = 400, LONG = 4000, KINDS = 4 };

static const char MIXED[] =
	"layer \"connection\" { multiplicity = per_stream\n"
	" transport_driver {} stream_end {} resize {} sequenced_segments {}\n"
	" windowed_flow { buffer = 64KiB } round_robin { block = 4 } chosen_order {}\n}\n"
	"layer \"flow\" {\n" FLOW " partial_reliability {}\n}\n";

/* Kinds of messages, by the first letter of their text. */
static const char letters[KINDS + 1] = "sdum";
static const struct kind {
	bool unordered, mortal;
} kinds[KINDS] = {
	{ false, false }, /* of a stream */
	{ false, true },
	{ true, false },
	{ true, true }, /* of UDT's messaging */
};

static struct {
	uint32_t count[KINDS], overtaken[KINDS];
	int last[KINDS], last_ordered;
	bool has[KINDS][LONG];
	bool order_is_broken, comes_twice;
	int64_t last_ns[KINDS];
} got;

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	char text[TEXT] = "";
	long number;
	size_t kind;

	(void)session, (void)user;
	nopal_message_copy(message, 0, text, TEXT - 1);
	kind = (size_t)(strchr(letters, text[0]) - letters);
	number = strtol(text + 1, NULL, 10);
	assert_true(kind < KINDS && number >= 0 && number < LONG);
	got.comes_twice |= got.has[kind][number];
	got.has[kind][number] = true;
	got.overtaken[kind] += number < got.last[kind];
	got.last[kind] = (int)number;
	got.last_ns[kind] = nopal_world_now(pair.world);
	got.count[kind]++;
	if (kinds[kind].unordered)
		return;
	got.order_is_broken |= number < got.last_ordered;
	got.last_ordered = (int)number;
}

static void *on_accepted(struct nopal_session *session, void *user)
{
	(void)session, (void)user;
	return &pair.there[pair.accepted++];
}

static void on_ended(struct nopal_session *session, enum nopal_end code, const char *text,
		     void *user)
{
	struct end *end = user;

	(void)session, (void)text;
	end->ended++;
	end->code = (int)code;
}

static const struct nopal_callbacks accepts = {
	.accepted = on_accepted,
	.received = on_received,
	.ended = on_ended,
};

static void begin(const char *words, uint32_t streams)
{
	memset(&got, 0, sizeof(got));
	pair_prepare(MIXED, words, &accepts);
	for (uint32_t i = 0; i < streams; i++)
		open_stream(i);
	flow_pair_run(NOPAL_SECOND);
}

static int tell(uint32_t stream, unsigned kind, int number, int64_t lasts_ns)
{
	const struct nopal_property properties[] = {
		{ nopal_property(pair.plan, "unordered"), kinds[kind].unordered },
		{ nopal_property(pair.plan, "deadline"),
		  kinds[kind].mortal ? (uint64_t)lasts_ns : 0 },
	};
	char text[TEXT];
	int length = snprintf(text, sizeof(text), "%c%d", letters[kind], number);

	assert_true(properties[0].which && properties[1].which);
	return nopal_send_message(pair.here[stream].session,
				  &(struct nopal_outgoing){ .bytes = text,
							    .length = (size_t)length,
							    .properties = properties,
							    .property_count = 2 });
}

/* Closes so many streams, which end well at both sides. */
static void end(uint32_t streams)
{
	for (uint32_t i = 0; i < streams; i++)
		nopal_session_close(pair.here[i].session);
	flow_pair_run(60 * NOPAL_SECOND);
	for (uint32_t i = 0; i < streams; i++) {
		assert_int_equal(pair.here[i].ended, 1);
		assert_int_equal(pair.here[i].code, NOPAL_ENDED_WELL);
		assert_int_equal(pair.there[i].ended, 1);
		assert_int_equal(pair.there[i].code, NOPAL_ENDED_WELL);
	}
	assert_false(got.order_is_broken);
	assert_false(got.comes_twice);
	pair_close();
}

TEST(test_a_stream_and_messages_share_one_flow)
{
	begin("delay 10ms loss 10%", 2);
	assert_int_equal(flows(0), 1);
	for (int i = 0; i < EACH; i++) {
		assert_int_equal(tell(0, 0, i, 0), 0);
		assert_int_equal(tell(1, 3, i, 30 * NOPAL_MILLISECOND), 0);
		flow_pair_run(NOPAL_MILLISECOND);
	}
	flow_pair_run(10 * NOPAL_SECOND);
	assert_int_equal(flows(0), 1);
	assert_int_equal(got.count[0], EACH); /* all, in order */
	assert_int_equal(got.overtaken[0], 0);
	assert_in_range(got.count[3], EACH / 2, EACH - 1); /* some were given up */
	assert_true(got.overtaken[3] > 0);
	end(2);
}

/* All kinds on one stream, with several losses: what was given up leaves no gap. */
TEST(test_kinds_may_be_mixed_on_one_stream)
{
	static const char *const links[] = { "delay 5ms loss 1%", "delay 10ms 5ms loss 5%",
					     "delay 10ms 9ms loss 20%", "delay 30ms loss 40%" };

	for (unsigned link = 0; link < sizeof(links) / sizeof(*links); link++) {
		begin(links[link], 1);
		for (int i = 0; i < EACH; i++) {
			assert_int_equal(
				tell(0, (unsigned)(i * i / 3) % KINDS, i, 25 * NOPAL_MILLISECOND),
				0);
			flow_pair_run(2 * NOPAL_MILLISECOND);
		}
		flow_pair_run(60 * NOPAL_SECOND);
		for (int i = 0; i < EACH; i++) {
			unsigned kind = (unsigned)(i * i / 3) % KINDS;

			assert_true(got.has[kind][i] || kinds[kind].mortal);
		}
		end(1);
	}
}

/* The message with a place is lost, and its stream waits; those without come at once. */
TEST(test_an_unordered_message_waits_for_nobody)
{
	int64_t sent_ns;

	begin("delay 10ms", 1);
	assert_int_equal(tell(0, 0, 0, 0), 0);
	flow_pair_run(NOPAL_SECOND);
	sent_ns = nopal_world_now(pair.world);
	pair_change("loss 100%");
	assert_int_equal(tell(0, 0, 1, 0), 0);
	pair_change("delay 10ms");
	assert_int_equal(tell(0, 0, 2, 0), 0);
	assert_int_equal(tell(0, 2, 3, 0), 0);
	flow_pair_run(NOPAL_SECOND);
	assert_int_equal(got.last_ns[2] - sent_ns, 10 * NOPAL_MILLISECOND);
	assert_int_equal(got.count[0], 3);
	assert_true(got.last_ns[0] - sent_ns > 20 * NOPAL_MILLISECOND);
	end(1);
}

/* Neither the window nor the numbers of a stream end by what was given up below it. */
TEST(test_a_stream_lives_on_what_was_given_up)
{
	begin("delay 10ms loss 30%", 1);
	for (int i = 0; i < LONG; i++) {
		assert_int_equal(tell(0, i % 2 ? 1 : 3, i, 15 * NOPAL_MILLISECOND), 0);
		flow_pair_run(5 * NOPAL_MILLISECOND);
	}
	flow_pair_run(10 * NOPAL_SECOND);
	assert_int_equal(tell(0, 0, LONG - 1, 0), 0);
	flow_pair_run(10 * NOPAL_SECOND);
	assert_int_equal(got.count[0], 1);
	assert_in_range(got.count[1] + got.count[3], LONG / 4, LONG - LONG / 10);
	end(1);
}
