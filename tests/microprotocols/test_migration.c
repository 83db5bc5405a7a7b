/* SPDX-License-Identifier: MIT */
/* A peer whose address changes is followed; a stranger is not. */
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"
#include "aead_crypto.h"
#include "support/rig.h"
#include "support/test.h"

#define CIRCUIT                                                                                    \
	"transport_driver {}\nresize {}\nvirtual_circuit {}\nmigration {}\n"                       \
	"sequenced_segments {}\npositive_ack { selective = on } retransmission_timer {}\n"         \
	"duplicate_ack {}\nrtt_estimation {}\nretransmit {}\n"                                     \
	"windowed_cc {}\ntcp_congestion {}\nreliable_fifo {}\n"
#define SUMMED CIRCUIT "checksum {}\n"
static const char BULK[] = "extends = \"bulk\"\n";

enum { ASK = 0, PROOF = 1, ROUND_TRIP_MS = 20, STRANGER = 9000 };
enum { ELSEWHERE = 1 }; /* a host with another IP address */

static struct rig rig;

/* Between the two there is a NAT, which gives the opener this address; the network itself carries
 * nothing. */
static struct {
	struct nopal_address outside, opener, acceptor;
	uint32_t asks, proofs, to_stranger, bytes_to_stranger;
	uint8_t ask[64]; /* the last that went to a stranger */
	size_t ask_length;
	bool cut;		    /* nothing passes */
	struct passing *on_its_way; /* a list */
} nat;

struct passing {
	struct passing **place, *next; /* in the list */
	struct nopal_endpoint *to;
	struct nopal_address from;
	size_t length;
	uint8_t bytes[];
};

static void forget(struct passing *passing)
{
	*passing->place = passing->next;
	if (passing->next)
		passing->next->place = passing->place;
	free(passing);
}

static void arrive(void *user)
{
	struct passing *passing = user;

	if (!nat.cut)
		nopal_sim_inject(rig.world, passing->to, &passing->from, passing->bytes,
				 passing->length);
	forget(passing);
}

/* Datagrams that the world's end leaves on their way go with it. */
static void finish(void)
{
	rig_close(&rig);
	while (nat.on_its_way)
		forget(nat.on_its_way);
}

static void pass(struct nopal_endpoint *to, const struct nopal_address *from, const uint8_t *bytes,
		 size_t length)
{
	struct passing *passing = malloc(sizeof(*passing) + length);

	passing->to = to;
	passing->from = *from;
	passing->length = length;
	memcpy(passing->bytes, bytes, length);
	passing->place = &nat.on_its_way;
	passing->next = nat.on_its_way;
	if (passing->next)
		passing->next->place = &passing->next;
	nat.on_its_way = passing;
	nopal_sim_at(rig.world, nopal_world_now(rig.world) + ROUND_TRIP_MS / 2 * NOPAL_MILLISECOND,
		     arrive, passing);
}

static void count(const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	const struct nopal_part *part = NULL;
	uint8_t kind;

	if (rig.opener.session)
		part = rig_part(rig.opener.session, "migration");
	nopal__first_byte_parse(bytes[0], &kind);
	nat.asks += part && kind == part->kind[ASK];
	nat.proofs += part && kind == part->kind[PROOF];
	if (to->port != STRANGER)
		return;
	nat.to_stranger++;
	nat.bytes_to_stranger += (uint32_t)length;
	memcpy(nat.ask, bytes, length < sizeof(nat.ask) ? length : 0);
	nat.ask_length = length;
}

static void translate(void *user, int64_t now_ns, const struct nopal_address *from,
		      const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user, (void)now_ns, (void)from;
	count(to, bytes, length);
	if (nopal_address_equal(to, &nat.acceptor))
		pass(rig.acceptor.endpoint, &nat.outside, bytes, length);
	else if (nopal_address_equal(to, &nat.outside))
		pass(rig.opener.endpoint, &nat.acceptor, bytes, length);
}

static void begin(const char *config)
{
	rig_open(&rig, config, &(struct rig_options){ .link = "loss 100%", .stay_closed = true });
	memset(&nat, 0, sizeof(nat));
	nopal_endpoint_local(rig.opener.endpoint, &nat.opener);
	nopal_endpoint_local(rig.acceptor.endpoint, &nat.acceptor);
	nopal_sim_address(0, 40000, &nat.outside);
	nopal_sim_tap(rig.world, translate, NULL);
	rig_start(&rig);
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.opened + rig.acceptor.opened, 2);
}

static void rebind(int host, uint16_t port)
{
	nopal_sim_address(host, port, &nat.outside);
}

static int64_t migrations(void)
{
	return rig_shared(rig.acceptor.session, "migrations");
}

static int64_t window(void)
{
	return rig_shared(rig.acceptor.session, "congestion_window_bytes");
}

/* ------------------------------------------------------------------- it follows */

static void follows(const char *config, int host)
{
	begin(config);
	for (int i = 0; i < 200; i++) {
		rig_send_bytes(&rig, 3000);
		if (i % 50 == 25)
			rebind(host, (uint16_t)(40001 + i));
		rig_pass(&rig, 50 * NOPAL_MILLISECOND);
	}
	rig_pass(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 200);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 200);
	assert_int_equal(migrations(), 4);
	assert_in_range(nat.asks, 4, 8);
	assert_int_equal(nopal_send(rig.acceptor.session, "back", 4, 0), 0);
	rig_pass(&rig, NOPAL_SECOND);
	assert_string_equal(rig.opener.text[0], "back");
	nopal_session_close(rig.opener.session);
	rig_pass(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	finish();
}

TEST(test_a_transfer_goes_on)
{
	follows(CIRCUIT, 0);
	follows(SUMMED, ELSEWHERE);
	follows(BULK, 0);
	if (nopal__aead_found())
		follows(CIRCUIT "aead {}\n", 0);
}

/* A NAT gives another port: the path is what it was.  Another IP may be elsewhere. */
TEST(test_the_window_is_that_of_the_path)
{
	int64_t before;

	for (int host = 0; host < 2; host++) {
		begin(CIRCUIT);
		for (int i = 0; i < 20; i++)
			nopal_send(rig.acceptor.session, nat.ask, sizeof(nat.ask), 0);
		rig_pass(&rig, NOPAL_SECOND);
		before = window();
		rebind(host ? ELSEWHERE : 0, 40001);
		rig_send(&rig, "x");
		rig_pass(&rig, 3 * ROUND_TRIP_MS * NOPAL_MILLISECOND);
		assert_int_equal(migrations(), 1);
		if (host)
			assert_in_range(window(), 1, before - 1);
		else
			assert_in_range(window(), before, INT64_MAX);
		finish();
	}
}

/* The peer sends nothing from its new address: nothing goes there. */
TEST(test_who_says_nothing_is_not_followed)
{
	begin(CIRCUIT);
	rebind(0, 40001);
	rig_pass(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(migrations(), 0);
	finish();
}

TEST(test_what_the_peer_was_told_outlives_two_moves)
{
	begin(CIRCUIT);
	for (uint16_t i = 1; i <= 6; i++) {
		rebind(0, (uint16_t)(40000 + (i & 1)));
		rig_send(&rig, "x");
		rig_pass(&rig, 3 * NOPAL_SECOND);
		assert_int_equal(rig.acceptor.delivered, i);
		assert_int_equal(migrations(), i);
	}
	finish();
}

/* -------------------------------------------------------------- nobody else does */

static void stranger(const uint8_t *bytes, size_t length)
{
	struct nopal_address from;

	nopal_sim_address(0, STRANGER, &from);
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &from, bytes, length);
	rig_pass(&rig, NOPAL_MILLISECOND);
}

/* A datagram of that kind, without a seal. */
static size_t forge(uint8_t kind, const void *body, size_t length, uint8_t *ret_bytes)
{
	struct nopal_writer writer = nopal_writer_over(ret_bytes, 1500);

	nopal_write(&writer, nopal__first_byte(kind), 1);
	nopal_write(&writer, nopal_session_id(rig.acceptor.session), NOPAL_ID_BYTES);
	nopal_write_bytes(&writer, body, length);
	return nopal_written(&writer);
}

static uint8_t kind_of(unsigned kind)
{
	return rig_part(rig.opener.session, "migration")->kind[kind];
}

/* A stranger who knows the id has no data taken, ends nothing, and gets few, short questions. */
TEST(test_a_stranger_is_asked_and_no_more)
{
	uint8_t bytes[1500], body[100] = { 0 };
	uint32_t sent = 0;

	begin(CIRCUIT);
	for (int i = 0; i < 500; i++) {
		size_t length = forge(NOPAL_KIND_DATA, body, 20, bytes);

		stranger(bytes, length);
		sent += (uint32_t)length;
	}
	stranger(bytes, forge(NOPAL_KIND_ABORT, "\5gone", 5, bytes));
	assert_int_equal(rig.acceptor.ended, 0);
	assert_int_equal(rig.acceptor.delivered, 0);
	assert_in_range(nat.to_stranger, 1, 500 / ROUND_TRIP_MS + 1);
	assert_true(nat.bytes_to_stranger < sent);
	assert_int_equal(migrations(), 0);
	rig_send(&rig, "x");
	rig_pass(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	finish();
}

/* The answer is neither the question nor any other number that a stranger has. */
TEST(test_a_stranger_proves_nothing)
{
	uint8_t bytes[1500], body[16] = { 0 };

	begin(CIRCUIT);
	stranger(bytes, forge(NOPAL_KIND_DATA, body, sizeof(body), bytes));
	assert_int_equal(nat.to_stranger, 1);
	stranger(bytes, forge(kind_of(PROOF), nat.ask + 1 + NOPAL_ID_BYTES, 8, bytes));
	for (size_t length = 0; length <= sizeof(body); length++)
		stranger(bytes, forge(kind_of(PROOF), body, length, bytes));
	assert_int_equal(migrations(), 0);
	finish();
}

/* The peer's proof for its own address is not good at another. */
TEST(test_a_proof_is_of_one_address)
{
	struct nopal_address peer;
	uint8_t bytes[1500], body[16] = { 0 };
	uint64_t question, proof;

	begin(CIRCUIT);
	stranger(bytes, forge(NOPAL_KIND_DATA, body, sizeof(body), bytes));
	memcpy(&question, nat.ask + 1 + NOPAL_ID_BYTES, sizeof(question));
	question = __builtin_bswap64(question);
	rig_awake(rig.opener.session);
	proof = __builtin_bswap64(nopal_session_proof(rig.opener.session, question));
	nopal_sim_address(0, STRANGER + 1, &peer);
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &peer, bytes,
			 forge(kind_of(PROOF), &proof, 8, bytes));
	rig_pass(&rig, NOPAL_MILLISECOND);
	assert_int_equal(migrations(), 0);
	stranger(bytes, forge(kind_of(PROOF), &proof, 8, bytes));
	assert_int_equal(migrations(), 1); /* it was the right one */
	finish();
}

/* From where the peer is known to be a question is answered, and no other is. */
TEST(test_questions_are_answered_in_kind)
{
	uint8_t bytes[1500], body[32] = { 0 };

	begin(CIRCUIT);
	for (size_t length = 0; length <= sizeof(body); length++)
		stranger(bytes, forge(kind_of(ASK), body, length, bytes));
	assert_int_equal(nat.to_stranger, 1);
	assert_int_equal(nat.ask_length, 1 + NOPAL_ID_BYTES + 8);
	finish();
}

TEST(test_what_cannot_follow_is_refused)
{
	char text[2000];

	assert_true(rig_refused(CIRCUIT "four_tuple {}\n", text, sizeof(text)));
	assert_true(rig_refused(CIRCUIT "parallel_channels {}\n", text, sizeof(text)));
	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"migration {}\n",
				text, sizeof(text)));
}
