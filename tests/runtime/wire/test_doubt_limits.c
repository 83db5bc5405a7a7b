/* SPDX-License-Identifier: MIT */
/* How long, how often and how many: at which moment a doubt becomes an ask, and what the network
 * says an end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/turn.h"
#include "wire/wire.h"
#include "support/rig.h"
#include "support/test.h"

static const char CIRCUIT[] =
	"transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"
	"sequenced_segments {}\npositive_ack {} retransmission_timer {}\nretransmit {}\na_tap {}\n";
static const char PLAIN[] = "transport_driver {}\nfixed_size {}\n";

static struct rig rig;
static struct nopal_composite *composite; /* the opener's */
static unsigned asks;

static struct nopal_layer upper;
static const struct nopal_layer *lowest;

/* The composite is one of an upper layer, until it gets `lowest` back. */
static void stand_above(struct nopal_composite *composite)
{
	lowest = composite->layer;
	upper = *lowest;
	upper.index--;
	composite->layer = &upper;
}

static void note(void *user, int64_t now_ns, const struct nopal_address *from,
		 const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	uint8_t kind;

	(void)user, (void)now_ns, (void)from, (void)to, (void)length;
	asks += nopal__first_byte_parse(bytes[0], &kind) && kind == NOPAL_KIND_ASK;
}

static void watch(void)
{
	composite = nopal__composite(rig.opener.session);
	nopal__be_awake(composite);
	asks = 0;
	nopal_sim_tap(rig.world, note, NULL);
}

static void begin(const char *config)
{
	rig_open(&rig, config, NULL);
	watch();
}

static int teardown(void **state)
{
	(void)state;
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
	return 0;
}

EACH_TEST(NULL, teardown);

static void pass(int64_t time_ns)
{
	rig.world->now_ns += time_ns;
}

/* As a part does it, in a turn. */
static void doubt(bool look)
{
	bool outermost = nopal__turn_begin(rig.world);

	nopal__touch(composite);
	if (look)
		nopal__doubt_look(composite);
	else
		nopal_session_doubt(&composite->session);
	nopal__turn_end(rig.world, outermost);
	rig_run(&rig, 0);
}

/* -------------------------------------------------------------------- asking */

TEST(test_an_ask_is_each_400_ms_at_most)
{
	uint64_t nonce;

	begin(CIRCUIT);
	pass(NOPAL_SECOND);
	doubt(false);
	nonce = composite->awake->doubt.nonce;
	assert_true(nonce != 0);
	assert_int_equal(asks, 1);
	assert_int_equal(composite->awake->doubt.asked_ns, composite->now_ns);
	assert_int_equal(composite->awake->doubt.since_ns, composite->now_ns);
	pass(400 * NOPAL_MILLISECOND - 1);
	doubt(false);
	assert_int_equal(asks, 1);
	pass(1);
	doubt(false);
	assert_int_equal(asks, 2);
	assert_true(composite->awake->doubt.nonce == nonce); /* of one silence */
	composite->awake->heard_ns = composite->now_ns;
	pass(400 * NOPAL_MILLISECOND);
	doubt(false);
	assert_true(composite->awake->doubt.nonce != nonce);
	assert_int_equal(composite->awake->doubt.since_ns, composite->now_ns);
}

TEST(test_a_look_asks_after_a_second_where_something_is_owed)
{
	begin(CIRCUIT);
	composite->awake->heard_ns = rig.world->now_ns;
	pass(NOPAL_SECOND);
	doubt(true);
	assert_int_equal(asks, 0); /* nothing is owed */
	composite->awake->transmissions.next++;
	composite->awake->heard_ns = rig.world->now_ns;
	composite->awake->doubt.nonce = 5;
	pass(NOPAL_SECOND - 1);
	doubt(true);
	assert_int_equal(asks, 0);
	assert_int_equal(composite->awake->doubt.nonce, 0);
	pass(1);
	doubt(true);
	assert_int_equal(asks, 1);
	composite->awake->transmissions.next--;
}

TEST(test_only_who_can_be_reset_asks)
{
	enum nopal_life life;

	begin(CIRCUIT);
	pass(NOPAL_SECOND);
	life = composite->life;
	composite->life = NOPAL_LIFE_OPENING;
	nopal_session_doubt(&composite->session);
	composite->life = life;
	stand_above(composite);
	nopal_session_doubt(&composite->session);
	composite->layer = lowest;
	assert_int_equal(composite->awake->doubt.nonce, 0);
	rig_close(&rig);
	rig_begin(&rig, PLAIN);
	watch();
	pass(NOPAL_SECOND);
	nopal_session_doubt(&composite->session);
	assert_int_equal(composite->awake->doubt.nonce, 0);
}

TEST(test_silence_is_of_who_is_owed_something)
{
	enum nopal_life life;
	int64_t silence_ns;

	begin(CIRCUIT);
	pass(NOPAL_SECOND);
	silence_ns = rig.world->now_ns - composite->awake->heard_ns;
	assert_int_equal(nopal_session_silence(&composite->session), 0);
	composite->awake->transmissions.next++;
	assert_int_equal(nopal_session_silence(&composite->session), silence_ns);
	composite->awake->transmissions.next--;
	composite->awake->doubt.nonce = 5;
	assert_int_equal(nopal_session_silence(&composite->session), silence_ns);
	stand_above(composite);
	assert_int_equal(nopal_session_silence(&composite->session), 0);
	composite->layer = lowest;
	composite->awake->doubt.nonce = 0;
	life = composite->life;
	composite->life = NOPAL_LIFE_OPENING;
	assert_int_equal(nopal_session_silence(&composite->session), silence_ns);
	composite->opener = false;
	assert_int_equal(nopal_session_silence(&composite->session), 0);
	composite->opener = true;
	composite->life = life;
}

/* ------------------------------------------------------------------- answers */

static void answer(uint64_t id, uint64_t nonce, size_t length)
{
	bool outermost = nopal__turn_begin(rig.world);
	uint8_t bytes[16];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	struct nopal_reader reader = nopal_reader_over(bytes, length);

	nopal_write(&writer, id, NOPAL_ID_BYTES);
	nopal_write(&writer, nonce, 8);
	nopal_write(&writer, 0, 1);
	nopal__touch(composite);
	nopal__doubt_answered(composite, &reader);
	nopal__turn_end(rig.world, outermost);
}

TEST(test_an_answer_has_all_of_the_ask)
{
	uint32_t id;

	begin(CIRCUIT);
	id = composite->peer_id;
	composite->awake->doubt.nonce = 0;
	composite->awake->doubt.since_ns = composite->awake->heard_ns + 1;
	answer(id, ~UINT64_C(0), 12); /* nobody was asked */
	composite->awake->doubt.nonce = 5;
	answer(id + 1, ~UINT64_C(5), 12);
	answer(id, 5, 12); /* it is known there */
	answer(id, ~UINT64_C(5), 11);
	answer(id, ~UINT64_C(5), 13);
	composite->awake->doubt.since_ns = composite->awake->heard_ns;
	answer(id, ~UINT64_C(5), 12); /* it was heard since */
	assert_int_equal(rig.opener.ended, 0);
	composite->awake->doubt.since_ns++;
	answer(id, ~UINT64_C(5), 12);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_string_equal(rig.opener.end_text, NOPAL_TEXT_RESTARTED);
}

/* ------------------------------------------------------- what the network says */

static struct nopal_hint hint_of(enum nopal_hint_is what, uint8_t kind, uint32_t id)
{
	struct nopal_hint hint = {
		.what = what,
		.to = composite->peer,
		.head = { nopal__first_byte(kind), (uint8_t)(id >> 24), (uint8_t)(id >> 16),
			  (uint8_t)(id >> 8), (uint8_t)id },
		.head_bytes = 5,
	};

	return hint;
}

static void refuse(void)
{
	struct nopal_hint hint = hint_of(NOPAL_HINT_REFUSED, NOPAL_KIND_DATA, composite->peer_id);

	nopal__endpoint_hint(rig.opener.endpoint, &hint);
}

/* Three, over half a second, after one and a half of silence. */
TEST(test_refusals_are_three_in_half_a_second)
{
	begin(CIRCUIT);
	pass(NOPAL_SECOND);
	refuse();
	pass(500 * NOPAL_MILLISECOND);
	refuse();
	assert_int_equal(composite->awake->doubt.refusals, 2);
	assert_int_equal(rig.opener.ended, 0);
	refuse();
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_string_equal(rig.opener.end_text, "the peer's port is closed");
}

TEST(test_refusals_that_come_too_soon_wait)
{
	begin(CIRCUIT);
	composite->awake->heard_ns = rig.world->now_ns;
	pass(1000 * NOPAL_MILLISECOND + 1);
	for (int i = 0; i < 5; i++)
		refuse();
	pass(500 * NOPAL_MILLISECOND - 2);
	refuse();
	assert_int_equal(rig.opener.ended, 0); /* of silence there is too little */
	composite->awake->heard_ns -= 2;
	refuse();
	assert_int_equal(rig.opener.ended, 0); /* and of refusals */
	pass(1);
	refuse();
	assert_int_equal(rig.opener.ended, 0);
	pass(1);
	refuse();
	assert_int_equal(rig.opener.ended, 1);
}

TEST(test_what_was_heard_since_refutes_them)
{
	begin(CIRCUIT);
	pass(2 * NOPAL_SECOND);
	refuse();
	refuse();
	assert_int_equal(composite->awake->doubt.refusals, 2);
	composite->awake->heard_ns = rig.world->now_ns;
	pass(2 * NOPAL_SECOND);
	refuse();
	assert_int_equal(composite->awake->doubt.refusals, 1);
	assert_int_equal(composite->awake->doubt.refused_ns, rig.world->now_ns);
}

TEST(test_without_a_handshake_refusals_say_nothing)
{
	rig_begin(&rig, PLAIN);
	watch();
	pass(2 * NOPAL_SECOND);
	nopal__demux_know_peer(composite);
	refuse();
	assert_int_equal(rig.opener.endpoint->port.counters.hints, 1);
	assert_int_equal(composite->awake->doubt.refusals, 0);
}

/* By the peer's id, or, of what opens, by its own; from the peer's address. */
TEST(test_a_hint_names_a_session)
{
	const uint64_t *hints;
	struct nopal_hint hint;
	struct nopal_endpoint *endpoint;

	begin(CIRCUIT);
	endpoint = rig.opener.endpoint;
	hints = &endpoint->port.counters.hints;
	hint = hint_of(NOPAL_HINT_REFUSED, NOPAL_KIND_DATA, composite->peer_id);
	hint.head_bytes = 4;
	nopal__endpoint_hint(endpoint, &hint);
	hint.head_bytes = 5;
	hint.head[0] ^= 0x80;
	nopal__endpoint_hint(endpoint, &hint);
	hint.head[0] ^= 0x80;
	hint.to.port++;
	nopal__endpoint_hint(endpoint, &hint);
	hint = hint_of(NOPAL_HINT_REFUSED, NOPAL_KIND_CONNECT, composite->local_id);
	hint.to.port++;
	nopal__endpoint_hint(endpoint, &hint);
	hint = hint_of(NOPAL_HINT_REFUSED, NOPAL_KIND_CONNECT, composite->peer_id);
	nopal__endpoint_hint(endpoint, &hint);
	assert_int_equal(*hints, 0);
	hint = hint_of(NOPAL_HINT_REFUSED, NOPAL_KIND_CONNECT, composite->local_id);
	nopal__endpoint_hint(endpoint, &hint);
	hint = hint_of(NOPAL_HINT_REFUSED, NOPAL_KIND_DATA, composite->peer_id);
	nopal__endpoint_hint(endpoint, &hint);
	assert_int_equal(*hints, 2);
}

TEST(test_an_ended_session_takes_no_hint)
{
	enum nopal_life life;

	begin(CIRCUIT);
	pass(2 * NOPAL_SECOND);
	life = composite->life;
	composite->life = NOPAL_LIFE_ENDED;
	refuse();
	composite->life = life;
	assert_int_equal(rig.opener.endpoint->port.counters.hints, 0);
	assert_int_equal(composite->awake->doubt.refusals, 0);
}

/* Whoever knows the path has it told, once, and no refusal comes of it. */
TEST(test_too_long_is_said_of_the_path)
{
	enum { PASSES = 1300 };
	struct nopal_hint hint;

	begin(CIRCUIT);
	rig.plan->path_floor--; /* as where a part asks the path */
	hint = hint_of(NOPAL_HINT_TOO_LONG, NOPAL_KIND_DATA, composite->peer_id);
	hint.datagram_bytes = PASSES;
	nopal__endpoint_hint(rig.opener.endpoint, &hint);
	rig_pass(&rig, NOPAL_MILLISECOND);
	rig.plan->path_floor++;
	assert_int_equal(composite->awake->path_hint, 1 + PASSES);
	assert_int_equal(rig_count(&rig.opener, NOPAL_PATH_NARROWED), 1);
	assert_int_equal(composite->awake->doubt.refusals, 0);
	assert_int_equal(rig.opener.endpoint->port.counters.hints, 1);
}

/* ------------------------------------------------------------- our own socket */

static void assert_blamed(enum nopal_end end, bool expected)
{
	char *text = nopal__doubt_text(composite, end, "why");

	if (expected)
		assert_non_null(strstr(text, strerror(ENETUNREACH)));
	else
		assert_string_equal(text, "why");
	free(text);
}

TEST(test_a_socket_is_to_blame_for_five_seconds)
{
	struct nopal_port *port;
	char *text;

	begin(CIRCUIT);
	port = nopal__endpoint_port(rig.opener.endpoint);
	assert_blamed(NOPAL_PEER_LOST, false);
	port->send_error = ENETUNREACH;
	port->send_error_ns = composite->awake->heard_ns;
	rig.world->now_ns = port->send_error_ns;
	assert_blamed(NOPAL_PEER_LOST, true);
	assert_blamed(NOPAL_UNREACHABLE, true);
	assert_blamed(NOPAL_GAVE_UP, true);
	assert_blamed(NOPAL_ABORTED, false);
	composite->awake->heard_ns++;
	assert_blamed(NOPAL_PEER_LOST, false);
	composite->awake->heard_ns--;
	stand_above(composite);
	assert_blamed(NOPAL_PEER_LOST, false);
	composite->layer = lowest;
	pass(5 * NOPAL_SECOND - 1);
	assert_blamed(NOPAL_PEER_LOST, true);
	pass(1);
	assert_blamed(NOPAL_PEER_LOST, false);
	text = nopal__doubt_text(composite, NOPAL_ABORTED, NULL);
	assert_string_equal(text, "");
	free(text);
}
