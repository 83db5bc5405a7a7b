/* SPDX-License-Identifier: MIT */
/* Many streams on one flow: each is a session, none waits for another. */
#include "engine/turn.h"
#include "layers/streams.h"
#include "support/one_flow.h"
#include "support/test.h"

static const char STREAMED[] =
	"layer \"stream\" { multiplicity = per_stream\n" STREAM "}\nlayer \"flow\" {\n" FLOW "}\n";
static const char SHARED[] =
	"layer \"connection\" {\n" STREAM "}\nlayer \"flow\" { multiplicity = shared\n" FLOW "}\n";

/* ------------------------------------------------------------------ streams */

TEST(test_each_stream_is_a_session)
{
	pair_open(STREAMED, "delay 10ms");
	pair.answers = true;
	for (uint32_t i = 0; i < 3; i++)
		open_stream(i);
	say(0, "zero");
	say(2, "two");
	flow_pair_run(NOPAL_SECOND);
	assert_int_equal(pair.here[1].opened, 1);
	assert_int_equal(pair.accepted, 2); /* of one nothing was said */
	assert_string_equal(pair.there[0].text, "zero");
	assert_string_equal(pair.there[1].text, "two");
	assert_string_equal(pair.here[0].text, "zero");
	assert_string_equal(pair.here[2].text, "two");
	assert_int_equal(pair.here[0].arrived, 1);
	assert_int_equal(flows(0), 1);
	assert_int_equal(flows(1), 1);
	pair_close();
}

/* Joining takes no round trip: the first message opens it. */
TEST(test_a_stream_joins_without_a_round_trip)
{
	int64_t sent_ns;

	pair_open(STREAMED, "delay 10ms");
	open_stream(0);
	flow_pair_run(NOPAL_SECOND);
	sent_ns = nopal_world_now(pair.world);
	open_stream(1);
	say(1, "at once");
	flow_pair_run(NOPAL_SECOND);
	assert_int_equal(pair.there[0].first_ns - sent_ns, 10 * NOPAL_MILLISECOND);
	pair_close();
}

TEST(test_a_stream_ends_and_the_others_go_on)
{
	pair_open(STREAMED, "delay 10ms loss 5%");
	for (uint32_t i = 0; i < 3; i++) {
		open_stream(i);
		say(i, "hello");
	}
	nopal_session_close(pair.here[1].session);
	flow_pair_run(2 * NOPAL_SECOND);
	assert_int_equal(pair.here[1].ended, 1);
	assert_int_equal(pair.here[1].code, NOPAL_ENDED_WELL);
	assert_int_equal(pair.here[0].ended + pair.here[2].ended, 0);
	say(0, "more");
	nopal_session_abort(pair.here[2].session, "enough");
	flow_pair_run(2 * NOPAL_SECOND);
	assert_string_equal(pair.there[0].text, "more");
	assert_int_equal(pair.here[2].code, NOPAL_ABORTED);
	assert_int_equal(pair.there[1].ended + pair.there[2].ended, 2);
	assert_int_equal(flows(0), 1);
	nopal_session_close(pair.here[0].session);
	flow_pair_run(10 * NOPAL_SECOND);
	assert_int_equal(pair.here[0].code, NOPAL_ENDED_WELL);
	assert_int_equal(flows(0) + flows(1), 0); /* with its last stream */
	pair_close();
}

/* Streams that the peer opens at the opener hold on to its callbacks, each. */
TEST(test_the_peer_opens_streams_of_its_own)
{
	struct end *back = &pair.here[1];

	pair_open(STREAMED, "delay 10ms");
	pair.here[0].session =
		nopal_open(pair.endpoint[0], pair.plan, &pair.peer, &callbacks, &pair.here[0]);
	say(0, "hello");
	flow_pair_run(NOPAL_SECOND);
	for (uint32_t i = 1; i < 5; i++) {
		memset(back, 0, sizeof(*back));
		back->session = nopal_session_open(&(struct nopal_open){
			.beside = pair.there[0].session, .callbacks = &opens_only, .user = back });
		say(1, "back");
		flow_pair_run(NOPAL_SECOND);
		assert_int_equal(pair.accepted, 1 + i);
		assert_string_equal(pair.there[i].text, "back");
		nopal_session_close(back->session);
		flow_pair_run(NOPAL_SECOND);
		assert_int_equal(back->code, NOPAL_ENDED_WELL);
		assert_int_equal(pair.there[i].ended, 1);
	}
	nopal_session_close(pair.here[0].session);
	flow_pair_run(5 * NOPAL_SECOND);
	assert_int_equal(pair.here[0].ended, 1);
	assert_int_equal(flows(0) + flows(1), 0);
	pair_close();
}

/* When each of ten streams delivers, of which the first may lose its segment. */
static void deliver_ten(bool lossy, int64_t *ret_ns)
{
	int64_t sent_ns;

	pair_open(STREAMED, "delay 10ms");
	for (uint32_t i = 0; i < 10; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(NOPAL_SECOND);
	assert_int_equal(pair.accepted, 10);
	sent_ns = nopal_world_now(pair.world);
	pair_change(lossy ? "loss 100%" : "delay 10ms");
	say(0, "again");
	pair_change("delay 10ms");
	for (uint32_t i = 1; i < 10; i++)
		say(i, "again");
	flow_pair_run(NOPAL_SECOND);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(pair.there[i].delivered, 2);
		ret_ns[i] = pair.there[i].last_ns - sent_ns;
	}
	pair_close();
}

/* One stream loses a segment: no message of another one comes later for it. */
TEST(test_no_stream_waits_for_another)
{
	int64_t without_ns[10], with_ns[10];

	deliver_ten(false, without_ns);
	deliver_ten(true, with_ns);
	assert_true(with_ns[0] > without_ns[0]);
	for (uint32_t i = 1; i < 10; i++)
		assert_int_equal(with_ns[i], without_ns[i]);
}

TEST(test_a_hundred_streams_through_loss)
{
	static char bytes[5000];

	pair_open(STREAMED, "rate 50mbit delay 20ms loss 2% reorder 5%");
	for (uint32_t i = 0; i < STREAMS; i++) {
		open_stream(i);
		for (uint32_t n = 0; n < 10; n++)
			assert_int_equal(nopal_send(pair.here[i].session, bytes, sizeof(bytes), n),
					 0);
		nopal_session_close(pair.here[i].session);
	}
	flow_pair_run(60 * NOPAL_SECOND);
	assert_int_equal(pair.accepted, STREAMS);
	for (uint32_t i = 0; i < STREAMS; i++) {
		assert_int_equal(pair.here[i].arrived, 10);
		assert_int_equal(pair.here[i].code, NOPAL_ENDED_WELL);
		assert_int_equal(pair.there[i].bytes, 10 * sizeof(bytes));
		assert_int_equal(pair.there[i].code, NOPAL_ENDED_WELL);
		assert_int_equal(pair.there[i].ended, 1);
	}
	assert_int_equal(flows(0) + flows(1), 0);
	pair_close();
}

/* The flow is out for longer than a message may be incomplete where nobody resends:
 * on a stream of a flow that does, its first half waits for the other one. */
TEST(test_half_a_message_waits_for_the_flow)
{
	static char bytes[2000];

	pair_open(STREAMED, "delay 10ms");
	open_stream(0);
	say(0, "hello");
	flow_pair_run(NOPAL_SECOND);
	pair_change("delay 10ms loss mask 0x2");
	assert_int_equal(nopal_send(pair.here[0].session, bytes, sizeof(bytes), 1), 0);
	pair_change("loss 100%");
	flow_pair_run(12 * NOPAL_SECOND);
	assert_int_equal(pair.there[0].delivered, 1);
	pair_change("delay 10ms");
	flow_pair_run(10 * NOPAL_SECOND);
	assert_int_equal(pair.there[0].delivered, 2);
	assert_int_equal(pair.there[0].bytes, 5 + sizeof(bytes));
	say(0, "more");
	flow_pair_run(NOPAL_SECOND);
	assert_int_equal(pair.there[0].delivered, 3);
	pair_close();
}

TEST(test_the_flow_ends_them_all)
{
	pair_open(STREAMED, "delay 10ms");
	for (uint32_t i = 0; i < 5; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(NOPAL_SECOND);
	nopal_endpoint_close(pair.endpoint[1]);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(pair.there[i].ended, 1);
	flow_pair_run(2 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(pair.here[i].ended, 1);
		assert_int_equal(pair.here[i].code, NOPAL_ABORTED);
	}
	assert_int_equal(flows(0), 0);
	pair_close();
}

enum { ACCEPTED = 4096, TOO_MANY = 3 }; /* streams of one flow */

static uint32_t taken, refused;

static void on_taken(struct nopal_session *session, struct nopal_message *message, void *user)
{
	(void)session, (void)message, (void)user;
	taken++;
}

static void on_refused(struct nopal_session *session, enum nopal_end code, const char *text,
		       void *user)
{
	(void)session, (void)text, (void)user;
	refused += code == NOPAL_RESOURCE;
}

/* A stream is told that its messages are dropped. */
TEST(test_one_stream_too_many_is_refused)
{
	static const struct nopal_callbacks takes = { .received = on_taken };
	static const struct nopal_callbacks opens = { .ended = on_refused };
	struct nopal_session *stream = NULL;

	pair_prepare(STREAMED, "delay 10ms", &takes);
	for (uint32_t i = 0; i < ACCEPTED + TOO_MANY; i++) {
		stream = stream ? nopal_session_open(&(struct nopal_open){ .beside = stream,
									   .callbacks = &opens })
				: nopal_open(pair.endpoint[0], pair.plan, &pair.peer, &opens, NULL);
		assert_non_null(stream);
		assert_int_equal(nopal_send(stream, "x", 1, 0), 0);
	}
	flow_pair_run(10 * NOPAL_SECOND);
	assert_int_equal(taken, ACCEPTED);
	assert_int_equal(refused, TOO_MANY);
	pair_close();
}

/* The window of ids that may be open at once is full, and moves for the next one. */
TEST(test_a_stream_far_ahead_is_accepted)
{
	enum { WINDOW = 1 << 16 };
	struct nopal_composite *flow;
	uint64_t floor;
	bool outermost;

	pair_open(STREAMED, "delay 10ms");
	open_stream(0);
	say(0, "hello");
	flow_pair_run(100 * NOPAL_MILLISECOND);
	flow = nopal__stack_bottom(nopal__composite(pair.there[0].session))->below;
	floor = flow->streams->accepted.floor;
	outermost = nopal__turn_begin(pair.world);
	nopal__touch(flow);
	assert_non_null(nopal__stream_for(flow, 2 * (floor + WINDOW - 1)));
	assert_int_equal(flow->streams->accepted.floor, floor);
	assert_non_null(nopal__stream_for(flow, 2 * (floor + WINDOW)));
	assert_true(flow->streams->accepted.floor > floor);
	nopal__turn_end(pair.world, outermost);
	assert_int_equal(pair.accepted, 3);
	pair_close();
}

TEST(test_the_world_may_end_first)
{
	pair_open(STREAMED, "delay 10ms loss 20%");
	for (uint32_t i = 0; i < 5; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(45 * NOPAL_MILLISECOND);
	nopal_session_abort(pair.here[3].session, "enough");
	pair_close();
}

/* ------------------------------------------------------------------- sharing */

TEST(test_sessions_to_one_peer_share_a_flow)
{
	struct end *end = pair.here;
	uint64_t requests;

	pair_open(SHARED, "delay 10ms");
	for (uint32_t i = 0; i < 3; i++) {
		end[i].session =
			nopal_open(pair.endpoint[0], pair.plan, &pair.peer, &opens_only, &end[i]);
		assert_non_null(end[i].session);
		say(i, "hello");
	}
	flow_pair_run(NOPAL_SECOND);
	requests = nopal_endpoint_counters(pair.endpoint[1])->requests;
	assert_int_equal(flows(0), 1);
	assert_int_equal(pair.accepted, 3);
	nopal_session_close(end[0].session); /* whoever was the first may go */
	flow_pair_run(NOPAL_SECOND);
	assert_int_equal(end[0].code, NOPAL_ENDED_WELL);
	end[3].session = nopal_open(pair.endpoint[0], pair.plan, &pair.peer, &opens_only, &end[3]);
	say(3, "late");
	flow_pair_run(NOPAL_SECOND);
	assert_string_equal(pair.there[3].text, "late");
	assert_int_equal(flows(0), 1);
	assert_int_equal(nopal_endpoint_counters(pair.endpoint[1])->requests, requests);
	pair_close();
}

static void join(uint32_t index)
{
	struct end *end = &pair.here[index];

	end->session = nopal_open(pair.endpoint[0], pair.plan, &pair.peer, &opens_only, end);
	assert_non_null(end->session);
}

/* Whoever comes while the flow opens waits with it, and opens when it does. */
TEST(test_sessions_join_a_flow_that_opens)
{
	uint32_t delivered = 0;

	pair_open(SHARED, "delay 10ms loss mask 0x5");
	for (uint32_t i = 0; i < 20; i++) {
		join(i);
		say(i, "hello");
		assert_int_equal(flows(0), 1);
		flow_pair_run(4 * NOPAL_MILLISECOND);
		assert_int_equal(pair.here[i].opened, 0); /* connects are lost */
	}
	nopal_session_abort(pair.here[0].session, "may leave before");
	flow_pair_run(4 * NOPAL_SECOND);
	for (uint32_t i = 0; i < pair.accepted; i++)
		delivered += pair.there[i].delivered;
	assert_int_equal(delivered, 19);
	assert_int_equal(pair.accepted, 19); /* nobody heard of that one */
	for (uint32_t i = 1; i < 20; i++) {
		assert_int_equal(pair.here[i].opened, 1);
		assert_int_equal(pair.here[i].arrived, 1);
	}
	assert_int_equal(flows(0), 1);
	pair_close();
}

TEST(test_who_joins_ends_with_a_flow_that_does_not_open)
{
	pair_open(SHARED, "loss 100%");
	for (uint32_t i = 0; i < 5; i++) {
		join(i);
		flow_pair_run(NOPAL_SECOND);
	}
	flow_pair_run(60 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(pair.here[i].ended, 1);
		assert_int_equal(pair.here[i].code, NOPAL_UNREACHABLE);
	}
	assert_int_equal(flows(0), 0);
	pair_close();
}

/* -------------------------------------------------------------------- at rest */

static bool rests(const struct end *end)
{
	return !nopal__composite(end->session)->awake;
}

static const struct nopal_composite *flow_of(const struct end *end)
{
	return nopal__stack_bottom(nopal__composite(end->session))->below;
}

/* Both sides, their flow and so many streams. */
static void assert_all_idle(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		assert_true(rests(&pair.here[i]));
		assert_true(rests(&pair.there[i]));
	}
	assert_null(flow_of(&pair.here[0])->awake);
	assert_null(flow_of(&pair.there[0])->awake);
}

TEST(test_a_flow_rests_with_its_streams)
{
	pair_open(STREAMED, "delay 10ms");
	for (uint32_t i = 0; i < 5; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(2 * NOPAL_SECOND);
	assert_all_idle(5);
	say(3, "again"); /* and it wakes with one of them */
	assert_non_null(flow_of(&pair.here[0])->awake);
	flow_pair_run(100 * NOPAL_MILLISECOND);
	assert_string_equal(pair.there[3].text, "again");
	assert_int_equal(pair.here[3].arrived, 2);
	assert_true(rests(&pair.here[0]) && rests(&pair.there[0]));
	flow_pair_run(NOPAL_SECOND);
	assert_all_idle(5);
	open_stream(5); /* who joins wakes it, too */
	say(5, "late");
	flow_pair_run(NOPAL_SECOND);
	assert_string_equal(pair.there[5].text, "late");
	assert_all_idle(6);
	assert_true(nopal_session_counters(pair.here[2].session)->datagrams_out > 0);
	pair_close();
}

TEST(test_from_rest_they_end)
{
	pair_open(STREAMED, "delay 10ms");
	for (uint32_t i = 0; i < 3; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(2 * NOPAL_SECOND);
	assert_all_idle(3);
	for (uint32_t i = 0; i < 3; i++)
		nopal_session_close(pair.here[i].session);
	flow_pair_run(5 * NOPAL_SECOND);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pair.here[i].ended, 1);
		assert_int_equal(pair.here[i].code, NOPAL_ENDED_WELL);
		assert_int_equal(pair.there[i].ended, 1);
	}
	assert_int_equal(flows(0), 0);
	pair_close();
}

/* A message that waits for its outcome keeps its stream awake, and the flow; no other stream. */
TEST(test_what_is_under_way_keeps_the_flow_awake)
{
	pair_open(STREAMED, "delay 10ms");
	for (uint32_t i = 0; i < 3; i++) {
		open_stream(i);
		say(i, "hello");
	}
	flow_pair_run(100 * NOPAL_MILLISECOND);
	pair_change("loss 100%");
	say(1, "into the void");
	flow_pair_run(3 * NOPAL_SECOND);
	assert_non_null(flow_of(&pair.here[0])->awake);
	assert_false(rests(&pair.here[1]));
	assert_true(rests(&pair.here[0]) && rests(&pair.here[2]));
	assert_null(flow_of(&pair.there[0])->awake);
	pair_close();
}

TEST(test_a_shared_flow_at_rest_is_found)
{
	struct end *end = pair.here;
	uint64_t requests;

	pair_open(SHARED, "delay 10ms");
	end[0].session = nopal_open(pair.endpoint[0], pair.plan, &pair.peer, &opens_only, &end[0]);
	say(0, "hello");
	flow_pair_run(2 * NOPAL_SECOND);
	assert_all_idle(1);
	requests = nopal_endpoint_counters(pair.endpoint[1])->requests;
	end[1].session = nopal_open(pair.endpoint[0], pair.plan, &pair.peer, &opens_only, &end[1]);
	say(1, "joins");
	flow_pair_run(NOPAL_SECOND);
	assert_string_equal(pair.there[1].text, "joins");
	assert_int_equal(nopal_endpoint_counters(pair.endpoint[1])->requests, requests);
	assert_ptr_equal(flow_of(&end[0]), flow_of(&end[1]));
	assert_all_idle(2);
	pair_close();
}
