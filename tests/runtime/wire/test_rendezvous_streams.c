/* SPDX-License-Identifier: MIT */
/* Flows that meet: the first stream of each is the other's, and no other one. */
#include "engine/composite.h"
#include "support/rendezvous.h"
#include "support/test.h"

#define STREAM                                                                                     \
	"transport_driver {}\nstream_end {}\nresize {}\n"                                          \
	"sequenced_messages {}\nreliable_fifo {}\n"
#define FLOW                                                                                       \
	"transport_driver {}\nvirtual_circuit {}\nfixed_size {}\n"                                 \
	"sequenced_segments {}\npositive_ack { selective = on } retransmission_timer {}\n"         \
	"duplicate_ack {}\nrtt_estimation {}\nretransmit {}\nchecksum {}\n"
static const char STREAMED[] =
	"layer \"stream\" { multiplicity = per_stream\n" STREAM "}\nlayer \"flow\" {\n" FLOW "}\n";
static const char SHARED[] =
	"layer \"connection\" {\n" STREAM "}\nlayer \"flow\" { multiplicity = shared\n" FLOW "}\n";

/* Streams that the peer opened, and the messages on them. */
static struct rendezvous_side taken[2][4];
static uint32_t takes[2];

static void *take(struct nopal_session *session, void *user)
{
	int who = user == &rendezvous.side[1];
	struct rendezvous_side *stream = &taken[who][takes[who]++];

	assert_true(takes[who] <= 4);
	stream->session = session;
	return stream;
}

static void open_as_stream(int who, bool takes_others)
{
	struct nopal_callbacks callbacks = rendezvous_callbacks;
	struct rendezvous_side *side = &rendezvous.side[who];

	if (takes_others)
		callbacks.accepted = take;
	side->session = nopal_session_open(&(struct nopal_open){ .endpoint = side->endpoint,
								 .plan = side->plan,
								 .peer = &rendezvous.side[!who].at,
								 .callbacks = &callbacks,
								 .user = side,
								 .rendezvous = true });
	assert_non_null(side->session);
}

static void say_on(struct nopal_session *with, struct rendezvous_side *stream, const char *text)
{
	stream->session = nopal_session_open(&(struct nopal_open){
		.beside = with, .callbacks = &rendezvous_callbacks, .user = stream });
	assert_non_null(stream->session);
	assert_int_equal(nopal_send(stream->session, text, strlen(text), 0), 0);
}

static uint32_t id_of(const struct rendezvous_side *stream)
{
	return nopal__stack_bottom(nopal__composite(stream->session))->stream;
}

/* The first streams are one; each further one is of who opened it, before the two have met as
 * after. */
static void streams_meet(const char *config, uint64_t seed)
{
	static struct rendezvous_side early[2], late[2];

	memset(taken, 0, sizeof(taken));
	memset(takes, 0, sizeof(takes));
	memset(early, 0, sizeof(early));
	memset(late, 0, sizeof(late));
	rendezvous_begin(config, config, "delay 10ms loss 10%", seed);
	for (int i = 0; i < 2; i++) {
		open_as_stream(i, true);
		say_on(rendezvous.side[i].session, &early[i], "early");
	}
	rendezvous_run(5 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rendezvous.side[i].opened, 1);
		assert_int_equal(early[i].opened, 1);
		assert_int_equal(takes[i], 1);
		assert_string_equal(taken[i][0].text, "early");
		say_on(rendezvous.side[i].session, &late[i], "late");
		assert_int_equal(id_of(&early[i]), rendezvous.side[i].opener ? 2 : 1);
		assert_int_equal(id_of(&late[i]), rendezvous.side[i].opener ? 4 : 3);
		assert_int_equal(id_of(&rendezvous.side[i]), 0);
	}
	rendezvous_expect_talk();
	rendezvous_run(5 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(takes[i], 2);
		assert_string_equal(taken[i][1].text, "late");
		assert_int_equal(rendezvous.side[i].delivered, 1);
		nopal_session_close(early[i].session);
		nopal_session_close(late[i].session);
	}
	nopal_session_close(rendezvous.side[0].session);
	rendezvous_run(60 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rendezvous.side[i].end, NOPAL_ENDED_WELL);
		assert_int_equal(early[i].end | late[i].end, NOPAL_ENDED_WELL);
		assert_int_equal(rendezvous_sessions(i), 0);
	}
	rendezvous_end();
}

TEST(test_first_streams_are_one)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		streams_meet(STREAMED, seed);
		streams_meet(SHARED, seed);
	}
}

/* The side that gave way listens to no more than the other. */
TEST(test_who_takes_no_streams_gets_none)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		static struct rendezvous_side more[2];

		rendezvous_begin(STREAMED, STREAMED, "delay 10ms", seed);
		for (int i = 0; i < 2; i++)
			open_as_stream(i, false);
		for (int i = 0; i < 2; i++)
			say_on(rendezvous.side[i].session, &more[i], "unheard");
		rendezvous_run(NOPAL_SECOND);
		rendezvous_expect_talk();
		for (int i = 0; i < 2; i++)
			assert_int_equal(rendezvous.side[i].delivered, 1);
		rendezvous_end();
	}
}

/* A first stream that ended before they met is nobody's. */
TEST(test_a_first_stream_may_end_early)
{
	static struct rendezvous_side other;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		memset(takes, 0, sizeof(takes));
		memset(&other, 0, sizeof(other));
		rendezvous_begin(STREAMED, STREAMED, "delay 10ms", seed);
		open_as_stream(0, true);
		say_on(rendezvous.side[0].session, &other, "the second");
		nopal_session_close(rendezvous.side[0].session);
		open_as_stream(1, true);
		rendezvous_say(1, "hello");
		rendezvous_run(5 * NOPAL_SECOND);
		assert_int_equal(other.opened, 1);
		assert_int_equal(takes[1], 1);
		assert_string_equal(taken[1][0].text, "the second");
		assert_int_equal(rendezvous.side[1].ended, 0);
		rendezvous_end();
	}
}

/* A datagram on its way to a first stream that ended opens no other one. */
TEST(test_a_first_stream_is_there_once)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		memset(takes, 0, sizeof(takes));
		rendezvous_begin(STREAMED, STREAMED, "delay 10ms", seed);
		for (int i = 0; i < 2; i++)
			open_as_stream(i, true);
		rendezvous_run(NOPAL_SECOND);
		for (int i = 0; i < 2; i++) {
			static struct rendezvous_side more[2];

			say_on(rendezvous.side[i].session, &more[i], "stays");
			rendezvous_say(i, "on its way");
		}
		for (int i = 0; i < 2; i++)
			nopal_session_abort(rendezvous.side[i].session, "enough");
		rendezvous_run(5 * NOPAL_SECOND);
		for (int i = 0; i < 2; i++)
			assert_int_equal(takes[i], 1);
		rendezvous_end();
	}
}

/* A shared flow that met takes others, at either side. */
TEST(test_sessions_join_a_flow_that_met)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		static struct rendezvous_side more[2];

		memset(more, 0, sizeof(more));
		memset(takes, 0, sizeof(takes));
		rendezvous_begin(SHARED, SHARED, "delay 10ms", seed);
		for (int i = 0; i < 2; i++)
			open_as_stream(i, true);
		for (int i = 0; i < 2; i++) {
			if (i) /* one joins before, and one after */
				rendezvous_run(NOPAL_SECOND);
			more[i].session = nopal_open(
				rendezvous.side[i].endpoint, rendezvous.side[i].plan,
				&rendezvous.side[!i].at, &rendezvous_callbacks, &more[i]);
			assert_int_equal(nopal_send(more[i].session, "joined", 6, 0), 0);
		}
		rendezvous_run(NOPAL_SECOND);
		rendezvous_expect_talk();
		for (int i = 0; i < 2; i++) {
			assert_int_equal(more[i].opened, 1);
			assert_int_equal(takes[i], 1);
			assert_string_equal(taken[i][0].text, "joined");
		}
		rendezvous_end();
	}
}
