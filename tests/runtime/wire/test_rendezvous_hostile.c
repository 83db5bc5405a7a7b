/* SPDX-License-Identifier: MIT */
/* Strangers: nothing that is forged, repeated or mirrored takes a session that waits for
 * its peer, or makes it say more than it was told. */
#include "support/rendezvous.h"
#include "support/test.h"

static const char CIRCUIT[] = "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n";

static struct rendezvous_forged forged_for(int to)
{
	return (struct rendezvous_forged){
		.fingerprint = nopal_plan_info(rendezvous.side[to].plan)->fingerprint,
		.id = 77,
		.nonce = UINT64_MAX,
		.length = 1200,
	};
}

TEST(test_a_third_party_takes_nothing)
{
	struct nopal_address stranger;

	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(1);
	for (int i = 0; i < 100; i++) {
		struct rendezvous_forged forged = forged_for(1);
		uint32_t before = rendezvous.side[1].out;

		/* another port, and another host */
		nopal_sim_address(i % 2 ? 0 : 5, (uint16_t)(RENDEZVOUS_PORT + 5 + i), &stranger);
		forged.cookie_given = i % 3 == 0;
		rendezvous_forge(1, &stranger, &forged);
		assert_int_equal(rendezvous.side[1].out, before);
	}
	assert_int_equal(rendezvous_sessions(1), 1);
	rendezvous_open(0);
	rendezvous_run(NOPAL_SECOND);
	rendezvous_expect_one_session();
	rendezvous_end();
}

/* With the peer's own address, but without what was sent there. */
TEST(test_a_forged_request_takes_nothing)
{
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(1);
	for (uint64_t i = 0; i < 100; i++) {
		struct rendezvous_forged forged = forged_for(1);

		forged.id = (uint32_t)(100 + i);
		forged.cookie_given = i & 1;
		forged.cookie = i * UINT64_C(0x9e3779b97f4a7c15);
		rendezvous_forge(1, &rendezvous.side[0].at, &forged);
	}
	assert_int_equal(rendezvous.side[1].opened, 0);
	assert_true(nopal_session_is_opener(rendezvous.side[1].session));
	rendezvous_open(0);
	rendezvous_run(NOPAL_SECOND);
	rendezvous_expect_one_session();
	rendezvous_expect_talk();
	rendezvous_end();
}

/* A request that made a session once makes no other one, however soon it comes again. */
TEST(test_a_replay_takes_nothing)
{
	static struct rendezvous_side first;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		int gave_way;

		rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", seed);
		rendezvous_open(0);
		rendezvous_open(1);
		rendezvous_run(NOPAL_SECOND);
		rendezvous_expect_one_session();
		gave_way = rendezvous.side[0].opener;
		first = rendezvous.side[!gave_way];
		rendezvous_expect_good_end();
		rendezvous_open(gave_way);
		for (uint32_t i = 0; i < first.out; i++)
			nopal_sim_inject(rendezvous.world, rendezvous.side[gave_way].endpoint,
					 &first.at, first.sent[i].bytes, first.sent[i].length);
		rendezvous_run(200 * NOPAL_MILLISECOND);
		assert_int_equal(rendezvous.side[gave_way].opened, 1);
		assert_true(nopal_session_is_opener(rendezvous.side[gave_way].session));
		rendezvous_open(!gave_way);
		rendezvous_run(NOPAL_SECOND);
		for (int i = 0; i < 2; i++)
			assert_int_equal(rendezvous.side[i].opened, 2);
		rendezvous_end();
	}
}

/* Bytes that leave never exceed those that were forged. */
TEST(test_nothing_is_amplified)
{
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(1);
	rendezvous_run(600 * NOPAL_MILLISECOND);
	for (size_t length = 24; length <= 1200; length += 7) {
		struct rendezvous_forged forged = forged_for(1);
		uint64_t before = rendezvous.side[1].bytes_out;

		forged.nonce = length & 1 ? UINT64_MAX : 1;
		forged.length = length;
		if (length % 5 == 0)
			forged.fingerprint ^= 1;
		rendezvous_forge(1, &rendezvous.side[0].at, &forged);
		assert_true(rendezvous.side[1].bytes_out - before <= length);
	}
	assert_int_equal(rendezvous.side[1].ended, 0);
	rendezvous_end();
}

/* A session that hears of its peer asks at once, but no more often than by itself. */
TEST(test_hearing_makes_nobody_talkative)
{
	uint32_t before;

	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(1);
	rendezvous_run(600 * NOPAL_MILLISECOND);
	before = rendezvous.side[1].out;
	for (uint32_t i = 0; i < 100; i++) {
		struct rendezvous_forged forged = forged_for(1);

		forged.nonce = i;
		rendezvous_forge(1, &rendezvous.side[0].at, &forged);
		rendezvous_run(NOPAL_MILLISECOND);
	}
	assert_int_equal(rendezvous.side[1].out, before + 1);
	rendezvous_end();
}

/* Our own request comes back: both draw anew, and a meeting of equals follows. */
TEST(test_equal_nonces_are_drawn_anew)
{
	rendezvous_begin(CIRCUIT, CIRCUIT,
			 "fwd: delay 10ms loss mask 0x1 rev: delay 10ms loss mask 0x1", 1);
	rendezvous_open(0);
	rendezvous_open(1);
	rendezvous_circuit(1)->connect.nonce = rendezvous_circuit(0)->connect.nonce;
	rendezvous_run(NOPAL_SECOND);
	rendezvous_expect_one_session();
	rendezvous_expect_talk();
	rendezvous_end();
}

TEST(test_a_mirror_is_no_peer)
{
	rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
	rendezvous_open(0);
	for (uint32_t i = 0; i < 40; i++) {
		const struct rendezvous_datagram *own =
			&rendezvous.side[0].sent[rendezvous.side[0].out - 1];

		nopal_sim_inject(rendezvous.world, rendezvous.side[0].endpoint,
				 &rendezvous.side[1].at, own->bytes, own->length);
		rendezvous_run(100 * NOPAL_MILLISECOND);
	}
	assert_int_equal(rendezvous.side[0].opened, 0);
	assert_true(rendezvous.side[0].out < 40);
	rendezvous_open(1);
	rendezvous_run(2 * NOPAL_SECOND);
	rendezvous_expect_one_session();
	rendezvous_end();
}
