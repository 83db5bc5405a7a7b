/* SPDX-License-Identifier: MIT */
/* Flows that meet: the first stream of each is the other's, and no other one. */
#include "engine/composite.h"
#include "support/meeting.h"
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
static struct meet_side taken[2][4];
static uint32_t takes[2];

static void *take(struct nopal_session *session, void *user)
{
	int who = user == &meet.side[1];
	struct meet_side *stream = &taken[who][takes[who]++];

	assert_true(takes[who] <= 4);
	stream->session = session;
	return stream;
}

static void open_as_stream(int who, bool takes_others)
{
	struct nopal_callbacks callbacks = meet_callbacks;
	struct meet_side *side = &meet.side[who];

	if (takes_others)
		callbacks.accepted = take;
	side->session = nopal_rendezvous_open(side->endpoint, side->plan, &meet.side[!who].at,
					      &callbacks, side);
	assert_non_null(side->session);
}

static void say_on(struct nopal_session *with, struct meet_side *stream, const char *text)
{
	stream->session = nopal_stream_open(with, &meet_callbacks, stream);
	assert_non_null(stream->session);
	assert_int_equal(nopal_send(stream->session, text, strlen(text), 0), 0);
}

static uint32_t id_of(const struct meet_side *stream)
{
	return nopal__stack_bottom(nopal__composite(stream->session))->stream;
}

/* The first streams are one; each further one is of who opened it, before the two have met as
 * after. */
static void streams_meet(const char *config, uint64_t seed)
{
	static struct meet_side early[2], late[2];

	memset(taken, 0, sizeof(taken));
	memset(takes, 0, sizeof(takes));
	memset(early, 0, sizeof(early));
	memset(late, 0, sizeof(late));
	meet_begin(config, config, "delay 10ms loss 10%", seed);
	for (int i = 0; i < 2; i++) {
		open_as_stream(i, true);
		say_on(meet.side[i].session, &early[i], "early");
	}
	meet_run(5 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(meet.side[i].opened, 1);
		assert_int_equal(early[i].opened, 1);
		assert_int_equal(takes[i], 1);
		assert_string_equal(taken[i][0].text, "early");
		say_on(meet.side[i].session, &late[i], "late");
		assert_int_equal(id_of(&early[i]), meet.side[i].opener ? 2 : 1);
		assert_int_equal(id_of(&late[i]), meet.side[i].opener ? 4 : 3);
		assert_int_equal(id_of(&meet.side[i]), 0);
	}
	meet_expect_talk();
	meet_run(5 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(takes[i], 2);
		assert_string_equal(taken[i][1].text, "late");
		assert_int_equal(meet.side[i].delivered, 1);
		nopal_session_close(early[i].session);
		nopal_session_close(late[i].session);
	}
	nopal_session_close(meet.side[0].session);
	meet_run(60 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(meet.side[i].end, NOPAL_ENDED_WELL);
		assert_int_equal(early[i].end | late[i].end, NOPAL_ENDED_WELL);
		assert_int_equal(meet_sessions(i), 0);
	}
	meet_end();
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
		static struct meet_side more[2];

		meet_begin(STREAMED, STREAMED, "delay 10ms", seed);
		for (int i = 0; i < 2; i++)
			open_as_stream(i, false);
		for (int i = 0; i < 2; i++)
			say_on(meet.side[i].session, &more[i], "unheard");
		meet_run(NOPAL_SECOND);
		meet_expect_talk();
		for (int i = 0; i < 2; i++)
			assert_int_equal(meet.side[i].delivered, 1);
		meet_end();
	}
}

/* A first stream that ended before they met is nobody's. */
TEST(test_a_first_stream_may_end_early)
{
	static struct meet_side other;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		memset(takes, 0, sizeof(takes));
		memset(&other, 0, sizeof(other));
		meet_begin(STREAMED, STREAMED, "delay 10ms", seed);
		open_as_stream(0, true);
		say_on(meet.side[0].session, &other, "the second");
		nopal_session_close(meet.side[0].session);
		open_as_stream(1, true);
		meet_say(1, "hello");
		meet_run(5 * NOPAL_SECOND);
		assert_int_equal(other.opened, 1);
		assert_int_equal(takes[1], 1);
		assert_string_equal(taken[1][0].text, "the second");
		assert_int_equal(meet.side[1].ended, 0);
		meet_end();
	}
}

/* A datagram on its way to a first stream that ended opens no other one. */
TEST(test_a_first_stream_is_there_once)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		memset(takes, 0, sizeof(takes));
		meet_begin(STREAMED, STREAMED, "delay 10ms", seed);
		for (int i = 0; i < 2; i++)
			open_as_stream(i, true);
		meet_run(NOPAL_SECOND);
		for (int i = 0; i < 2; i++) {
			static struct meet_side more[2];

			say_on(meet.side[i].session, &more[i], "stays");
			meet_say(i, "on its way");
		}
		for (int i = 0; i < 2; i++)
			nopal_session_abort(meet.side[i].session, "enough");
		meet_run(5 * NOPAL_SECOND);
		for (int i = 0; i < 2; i++)
			assert_int_equal(takes[i], 1);
		meet_end();
	}
}

/* A shared flow that met takes others, at either side. */
TEST(test_sessions_join_a_flow_that_met)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		static struct meet_side more[2];

		memset(more, 0, sizeof(more));
		memset(takes, 0, sizeof(takes));
		meet_begin(SHARED, SHARED, "delay 10ms", seed);
		for (int i = 0; i < 2; i++)
			open_as_stream(i, true);
		for (int i = 0; i < 2; i++) {
			if (i) /* one joins before, and one after */
				meet_run(NOPAL_SECOND);
			more[i].session =
				nopal_session_open(meet.side[i].endpoint, meet.side[i].plan,
						   &meet.side[!i].at, &meet_callbacks, &more[i]);
			assert_int_equal(nopal_send(more[i].session, "joined", 6, 0), 0);
		}
		meet_run(NOPAL_SECOND);
		meet_expect_talk();
		for (int i = 0; i < 2; i++) {
			assert_int_equal(more[i].opened, 1);
			assert_int_equal(takes[i], 1);
			assert_string_equal(taken[i][0].text, "joined");
		}
		meet_end();
	}
}
