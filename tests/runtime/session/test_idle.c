/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/composite.h"
#include "support/rig.h"
#include "support/test.h"

static struct rig rig;

/* The tests send more than a new path is assumed to take, so the buffer has a least size. */
static const char BULK[] = "extends = \"bulk\"\nbuffer_sizing { least = 1MiB }\n";
static const char STACK[] = "layer \"upper\" {\n"
			    "  transport_driver {}\n  resize {}\n"
			    "  sequenced_messages {}\n  lossy_fifo {}\n}\n"
			    "layer \"lower\" {\n"
			    "  transport_driver {}\n  fixed_size {}\n  checksum {}\n}\n";

static bool rests(const struct rig_side *side)
{
	return nopal__composite(side->session)->awake == NULL;
}

static void talk(const char *config)
{
	rig_open(&rig, config, &(struct rig_options){ .link = "delay 10ms" });
	for (int i = 0; i < 20; i++)
		assert_int_equal(rig_send_bytes(&rig, 20000), 0);
	rig_run(&rig, 200 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 20);
}

TEST(test_what_is_idle_rests_and_goes_on_as_it_was)
{
	struct nopal_counters before;

	talk(BULK);
	assert_false(rests(&rig.opener));
	assert_false(rests(&rig.acceptor));
	before = *nopal_session_counters(rig.opener.session);
	rig_run(&rig, NOPAL_SECOND);
	assert_true(rests(&rig.opener));
	assert_true(rests(&rig.acceptor));
	assert_memory_equal(nopal_session_counters(rig.opener.session), &before, sizeof(before));
	assert_false(rests(&rig.opener));
	rig_run(&rig, NOPAL_SECOND);
	assert_true(rests(&rig.opener));
	assert_int_equal(rig_send(&rig, "again"), 0);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_string_equal(rig.acceptor.text[20], "again");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 21);
	rig_close(&rig);
}

TEST(test_its_parts_give_their_memory_back)
{
	talk(BULK);
	assert_true(nopal__composite(rig.opener.session)->awake->bytes_held > 1000);
	rig_run(&rig, NOPAL_SECOND);
	rig_part(rig.opener.session, "resize");
	rig_part(rig.acceptor.session, "resize");
	assert_int_equal(nopal__composite(rig.opener.session)->awake->bytes_held, 0);
	assert_int_equal(nopal__composite(rig.acceptor.session)->awake->bytes_held, 0);
	assert_null(nopal__composite(rig.opener.session)->memory);
	rig_close(&rig);
}

/* Memory is not given away to be asked for again at once. */
TEST(test_who_talks_now_and_then_stays_awake)
{
	const struct nopal_awake *awake;

	talk(BULK);
	awake = nopal__composite(rig.acceptor.session)->awake;
	for (int i = 0; i < 50; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, 100 * NOPAL_MILLISECOND);
		assert_ptr_equal(nopal__composite(rig.acceptor.session)->awake, awake);
	}
	rig_close(&rig);
}

/* A lost peer: what waits for its outcome keeps the session awake. */
TEST(test_what_is_under_way_keeps_it_awake)
{
	talk(BULK);
	rig_change_both(&rig, "loss 100%");
	rig_send(&rig, "into the void");
	rig_run(&rig, 3 * NOPAL_SECOND);
	assert_false(rests(&rig.opener));
	assert_true(rests(&rig.acceptor));
	rig_close(&rig);
}

TEST(test_timers_wake_it)
{
	talk(BULK);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_true(rests(&rig.opener));
	rig_change_both(&rig, "loss 100%");
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_null(rig.opener.session);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_int_equal(rig.acceptor.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

TEST(test_a_stack_rests_as_one)
{
	talk(STACK);
	rig_run(&rig, NOPAL_SECOND);
	assert_true(rests(&rig.opener));
	assert_null(nopal__composite(rig.opener.session)->below->awake);
	assert_int_equal(rig_send_bytes(&rig, 5000), 0);
	assert_non_null(nopal__composite(rig.opener.session)->below->awake);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.length[20], 5000);
	rig_close(&rig);
}

enum { WORDS = 4096 };
static const struct nopal_microprotocol m_words = {
	.abi = NOPAL_ABI,
	.name = "m_words",
	.family = "check",
	.summary = "has much state",
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.state_size = WORDS * sizeof(uint64_t),
};

/* Each shape of bytes, as it is and as a time that is so long ago or ahead. */
static void fill(uint64_t *words, uint64_t now)
{
	for (unsigned i = 0; i < WORDS; i++) {
		uint64_t word = 0;

		for (unsigned byte = 0; byte < 8; byte++)
			if (i >> byte & 1)
				word |= (uint64_t)((i * 37 + byte + 1) & 0xff) << (8 * byte);
		words[i] = i & 256 ? now - word : i & 512 ? now + word : i & 1024 ? ~word : word;
	}
}

TEST(test_every_word_comes_back)
{
	static uint64_t expected[WORDS];
	uint64_t *words;

	rig_add(&m_words);
	rig_begin(&rig, "transport_driver {}\nfixed_size {}\nm_words {}\n");
	rig_run(&rig, 77 * NOPAL_SECOND / 10);
	assert_int_equal(rig_send(&rig, "x"), 0);
	words = rig_state(rig.opener.session, "m_words");
	fill(expected, (uint64_t)rig.opener.session->now_ns);
	memcpy(words, expected, sizeof(expected));
	rig_run(&rig, NOPAL_SECOND);
	assert_true(rests(&rig.opener));
	assert_memory_equal(rig_state(rig.opener.session, "m_words"), expected, sizeof(expected));
	rig_close(&rig);
}

TEST(test_closing_and_aborting_wake_it)
{
	talk(BULK);
	rig_run(&rig, NOPAL_SECOND);
	rig_finish(&rig);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
	talk(BULK);
	rig_run(&rig, NOPAL_SECOND);
	nopal_session_abort(rig.acceptor.session, "enough");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_ABORTED);
	rig_close(&rig);
}

/* With its endpoint a session ends that rests, and its peer is told. */
TEST(test_its_endpoint_closes)
{
	talk(BULK);
	rig_run(&rig, NOPAL_SECOND);
	assert_true(rests(&rig.opener));
	nopal_endpoint_close(rig.opener.endpoint);
	rig.opener.endpoint = NULL;
	assert_int_equal(rig.opener.end, NOPAL_ABORTED);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.end, NOPAL_ABORTED);
	rig_close(&rig);
}
