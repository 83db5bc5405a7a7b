/* SPDX-License-Identifier: MIT */
/* Sent messages in numbers: counters, memory that is held, and limits. */
#include <errno.h>
#include <string.h>

#include "engine/message.h"
#include "support/fakes.h"
#include "support/failing.h"
#include "support/kept.h"
#include "support/records.h"
#include "support/test.h"

EACH_TEST(NULL, own_rig_close);

FAKE(m_gate, .holds = FAKE_HOLDS({ "the test", NOPAL_SEND, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_LOST, fake_on_segment)));

static const char KEPT[] = "transport_driver {}\nfixed_size {}\nm_keeper {}\n";
static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n";
#define LOWER                                                                                      \
	"layer \"lower\" {\n  transport_driver {}\n  fixed_size {}\n"                              \
	"  m_keeper {}\n"
/* A message of the upper layer is a segment of the lower one. */
static const char SINKS[] = "layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n"
			    "  m_gate {}\n}\n" LOWER "}\n";
static const char MADE[] =
	"layer \"upper\" {\n  transport_driver {}\n  fixed_size {}\n}\n" LOWER "  a_tap {}\n}\n";

static struct nopal_awake *awake;

static void begin(const char *config)
{
	kept_open(config);
	awake = rig_awake(session);
}

static struct nopal_awake *below(void)
{
	return rig_awake(&nopal__composite(session)->below->session);
}

TEST(test_what_is_sent_is_counted)
{
	begin(KEPT);
	rig_send_bytes(&rig, 10);
	rig_send_bytes(&rig, 5);
	assert_int_equal(awake->counters.messages_sent, 2);
	assert_int_equal(awake->counters.bytes_sent, 15);
	assert_int_equal(awake->unfinished, 2);
	assert_int_equal(awake->unfinished_bytes, 15);
	assert_int_equal(nopal_session_send_room(session), awake->send_limit - 15);
	settle(2, NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(awake->unfinished_bytes, 5);
	assert_int_equal(awake->counters.bytes_sent, 15);
}

TEST(test_messages_have_a_length)
{
	static const uint8_t bytes[1500];
	uint64_t limit;

	begin(KEPT);
	limit = nopal__composite(session)->layer->plan->info.message_limit;
	assert_int_equal(nopal_send(session, bytes, limit + 1, 0), -EMSGSIZE);
	assert_int_equal(nopal_send(session, bytes, limit, 0), 0);
	rig.plan->info.message_min = 2;
	assert_int_equal(nopal_send(session, bytes, 1, 0), -EINVAL);
	assert_int_equal(nopal_send(session, bytes, 2, 0), 0);
	assert_int_equal(awake->counters.messages_sent, 2);
}

/* The bytes go with the message; without memory, or room for it, there is none. */
TEST(test_a_message_that_was_not_sent_holds_nothing)
{
	struct nopal_buffer *buffer = nopal_buffer_new(5);
	uint64_t held;
	int error;

	begin(KEPT);
	rig_send(&rig, "x");
	settle(2, NOPAL_OUTCOME_DELIVERED);
	held = awake->bytes_held;
	failing_from(1, false);
	error = nopal_send(session, "x", 1, 0);
	assert_int_equal(failing_stop(), 1);
	assert_int_equal(error, -ENOBUFS);
	awake->budget.objects = 0;
	assert_int_equal(nopal_send_message(session, &(struct nopal_outgoing){ .buffer = buffer,
									       .length = 5 }),
			 -ENOBUFS);
	assert_int_equal(buffer->references, 1);
	assert_int_equal(nopal_send(session, "x", 1, 0), -ENOBUFS);
	assert_int_equal(awake->bytes_held, held);
	assert_int_equal(awake->unfinished, 0);
	assert_int_equal(awake->counters.messages_sent, 1);
	nopal_buffer_unref(buffer);
}

/* --------------------------------------------------------- while it opens */

static void begin_opening(void)
{
	static const struct rig_options lost = { .link = "delay 10ms loss 100%",
						 .stay_closed = true };
	struct nopal_address peer;

	rig_open(&rig, CIRCUIT, &lost);
	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	session = nopal_open(rig.opener.endpoint, rig.plan, &peer, NULL, NULL);
	awake = rig_awake(session);
}

TEST(test_what_waited_leaves_no_list_behind)
{
	uint64_t before;

	begin_opening();
	before = awake->bytes_held;
	for (int i = 0; i < 40; i++)
		assert_int_equal(nopal_send(session, "x", 1, 0), 0);
	assert_int_equal(awake->waiting_open_count, 40);
	assert_int_equal(awake->waiting_open_room, 64);
	assert_int_equal(awake->bytes_held - before, 40 + 64 * sizeof(*awake->waiting_open));
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 40);
	awake = rig_awake(session);
	assert_null(awake->waiting_open);
	assert_int_equal(awake->bytes_held, before);
	assert_int_equal(awake->unfinished, 0);
	assert_int_equal(awake->messages.alive, 0);
}

TEST(test_what_cannot_wait_was_not_sent)
{
	begin_opening();
	awake->budget.bytes = awake->bytes_held + 10;
	assert_int_equal(nopal_send(session, "x", 1, 0), -ENOBUFS);
	assert_int_equal(awake->unfinished, 0);
	assert_int_equal(awake->unfinished_bytes, 0);
	assert_int_equal(awake->messages.alive, 0);
	assert_int_equal(awake->counters.messages_sent, 0);
	assert_int_equal(awake->counters.bytes_sent, 0);
}

/* ------------------------------------------------------------ to a layer below */

TEST(test_a_segment_that_sinks_is_the_lower_layers)
{
	const struct nopal_segment *segment;
	const struct record *freed;
	uint64_t raises;

	rig_add(&m_gate);
	begin(SINKS);
	rig_send_bytes(&rig, 10);
	raises = below()->counters.raises;
	records_start(rig.world);
	nopal_release(rig_at(session, "m_gate"), rig_segment(session, 2), NOPAL_SEND);
	records_stop(rig.world);
	assert_int_equal(awake->segments.alive, 0);
	assert_int_equal(below()->segments.alive, 1);
	assert_int_equal(below()->messages.alive, 0);
	segment = nopal__pool_oldest(&below()->segments);
	assert_true(segment->taken);
	assert_false(segment->below);
	assert_null(segment->message);
	assert_int_equal(segment->number, below()->numbered);
	assert_int_equal(segment->packet_number, 0);
	assert_int_equal(segment->transmissions, 1);
	assert_int_equal(segment->pins, 0);
	assert_int_equal(segment->body.length, 10);
	assert_int_equal(below()->counters.messages_sent, 1);
	assert_int_equal(below()->counters.bytes_sent, 10);
	assert_int_equal(below()->unfinished_bytes, 10);
	freed = record_of(NOPAL_TRACED_FREE, 0);
	assert_int_equal(freed->session, nopal__composite(session)->local_id);
	assert_int_equal(freed->a, 2);
	assert_non_null(record_of(NOPAL_TRACED_RAISE, NOPAL_SEGMENT_FROM_USER));
	assert_true(below()->counters.raises > raises);
}

TEST(test_a_message_below_is_the_segment_above)
{
	const struct nopal_segment *segment;
	const struct nopal_message *message;

	begin(MADE);
	rig_send_bytes(&rig, 10);
	assert_int_equal(awake->segments.alive, 1);
	segment = nopal__pool_oldest(&awake->segments);
	message = nopal__pool_oldest(&below()->messages);
	assert_ptr_equal(nopal__pool_find(&awake->segments, message->above), segment);
	assert_int_equal(message->length, 10);
	assert_int_equal(message->cookie, 0);
	assert_ptr_equal(message->one.buffer, segment->body.buffer);
	assert_int_equal(segment->outcome, NOPAL_OUTCOME_UNKNOWN);
	assert_true(segment->below);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 0);
}

/* ----------------------------------------------------------------- properties */

TEST(test_a_property_is_found_in_every_slot)
{
	struct nopal_plan plan = {
		.slot_count = 4,
		.slot_name = { "none", "one", "two", "three" },
		.properties = 1 << 1 | 1 << 3,
	};
	struct nopal_message *message;

	begin(KEPT);
	assert_int_equal(nopal_property(&plan, "one"), 1);
	assert_int_equal(nopal_property(&plan, "two"), 0); /* is none */
	assert_int_equal(nopal_property(&plan, "three"), 3);
	plan.slot_count = 3;
	assert_int_equal(nopal_property(&plan, "three"), 0);
	assert_int_equal(nopal_property(&plan, "urgent"), NOPAL_URGENT);
	message = nopal__message_make(nopal__composite(session), 0);
	message->urgent = true;
	message->attribute[0] = 7;
	assert_int_equal(nopal_message_property(message, NOPAL_URGENT), 1);
	assert_int_equal(nopal_message_property(message, 0), 7);
	message->attribute[0] = 0;
	nopal__message_free(nopal__composite(session), message);
}
