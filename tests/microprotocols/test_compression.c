/* SPDX-License-Identifier: MIT */
/* Messages are delivered as they were sent, however they travelled, and accounts stay right. */
#include "engine/turn.h"
#include "support/compressed.h"
#include "support/test.h"

/* --------------------------------------------------------- with and without, equal */

struct carried {
	struct compressed_seen seen;
	uint64_t bytes; /* of bodies, that transmitted */
};

static struct carried carry(const char *config, const char *section, const char *link,
			    size_t longest)
{
	struct carried carried;

	compressed_begin(config, section, link);
	send_all(longest);
	carried.seen = compressed_seen;
	carried.bytes = bytes_out();
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
	rig_close(&rig);
	return carried;
}

static void expect_equal(const char *config, const char *link, size_t longest)
{
	struct carried plain = carry(config, "", link, longest);

	assert_true(plain.seen.count >= 60);
	for (unsigned a = 0; a < ALGORITHMS; a++) {
		struct carried squeezed;

		if (!codec_of(a)->built)
			continue;
		squeezed = carry(config, section_of(a, ""), link, longest);
		assert_int_equal(squeezed.seen.count, plain.seen.count);
		assert_memory_equal(squeezed.seen.hash, plain.seen.hash, sizeof(plain.seen.hash));
		assert_memory_equal(squeezed.seen.length, plain.seen.length,
				    sizeof(plain.seen.length));
		assert_true(squeezed.bytes < plain.bytes * 8 / 10);
	}
}

TEST(test_one_segment_a_message)
{
	expect_equal(FIXED, "delay 10ms", 1400);
}

TEST(test_many_segments_a_message)
{
	expect_equal(RESIZED, "delay 10ms", LONGEST);
}

TEST(test_many_messages_a_segment)
{
	expect_equal(COALESCED, "delay 10ms", 1400);
}

TEST(test_in_order_under_loss_and_reordering)
{
	expect_equal(RELIABLE, "delay 20ms 10ms loss 5% duplicate 2%", LONGEST);
	expect_equal(COALESCED_RELIABLE, "delay 20ms 10ms loss 5%", 1400);
}

/* Compressed and not in one turn: their segments are apart, in order. */
TEST(test_one_turn_of_both_kinds)
{
	bool outermost;

	for (unsigned a = 0; a < ALGORITHMS; a++) {
		if (!codec_of(a)->built)
			continue;
		compressed_begin(COALESCED, section_of(a, ""), "delay 10ms");
		outermost = nopal__turn_begin(rig.world);
		nopal__touch(nopal__composite(rig.opener.session));
		for (unsigned i = 0; i < 12; i++)
			send_filled(i / 2 % 2 ? fill_zeros : fill_random, 90 + i);
		nopal__turn_end(rig.world, outermost);
		rig_run(&rig, NOPAL_SECOND);
		assert_int_equal(compressed_seen.count, 12);
		for (unsigned i = 0; i < 12; i++)
			assert_int_equal(compressed_seen.length[i], 90 + i);
		assert_int_equal(rig_count(&rig.opener, NOPAL_SEND_SEGMENT), 6);
		rig_close(&rig);
	}
}

/* ------------------------------------------------------------------- never longer */

TEST(test_what_does_not_get_shorter_travels_as_it_is)
{
	for (unsigned a = 0; a < ALGORITHMS; a++) {
		uint64_t before, header;

		if (!codec_of(a)->built)
			continue;
		compressed_begin(FIXED, section_of(a, "least = 1B"), "delay 10ms");
		send_filled(fill_random, 1);
		header = bytes_out() - 1;
		before = bytes_out();
		for (size_t length = 0; length < 300; length++)
			send_filled(fill_random, length);
		assert_int_equal(bytes_out() - before, 300 * header + 299 * 300 / 2);
		rig_run(&rig, NOPAL_SECOND);
		assert_int_equal(compressed_seen.count, 301);
		rig_close(&rig);
	}
}

/* Bytes that the body of one more message takes. */
static uint64_t body_of(fill *with, size_t length)
{
	static uint64_t header;
	uint64_t before;

	if (!header) {
		send_filled(with, 0);
		header = bytes_out();
	}
	before = bytes_out();
	send_filled(with, length);
	return bytes_out() - before - header;
}

TEST(test_short_and_long_ones_are_left_alone)
{
	if (!nopal__codec_zstd.built)
		skip();
	compressed_begin(FIXED, "compression { least = 100B most = 200B }\n", "delay 10ms");
	assert_int_equal(body_of(fill_zeros, 99), 99);
	assert_int_equal(body_of(fill_zeros, 201), 201);
	assert_true(body_of(fill_zeros, 100) < 30);
	assert_true(body_of(fill_zeros, 200) < 30);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(compressed_seen.count, 5);
	rig_close(&rig);
}

/* --------------------------------------------------------------------- accounts */

/* A window of a few segments, and much more than that goes through it. */
TEST(test_flow_control_keeps_its_accounts)
{
	for (unsigned a = 0; a < ALGORITHMS; a++) {
		if (!codec_of(a)->built)
			continue;
		compressed_begin(RELIABLE, section_of(a, ""), "delay 5ms");
		for (unsigned i = 0; i < 400; i++)
			send_filled(i % 3 ? fill_text : fill_random, 9000);
		rig_run(&rig, 60 * NOPAL_SECOND);
		assert_int_equal(compressed_seen.count, 400);
		assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 400);
		assert_int_equal(rig_awake(rig.opener.session)->unfinished_bytes, 0);
		rig_close(&rig);
	}
}

TEST(test_contexts_are_kept_and_given_back_at_rest)
{
	const struct nopal__codec_memory *memory;
	const void *first;

	if (!nopal__codec_zstd.built)
		skip();
	compressed_begin(RELIABLE, section_of(ZSTD, ""), "delay 5ms");
	send_filled(fill_text, 5000);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	memory = rig_state(rig.opener.session, "compression");
	first = memory->squeezer;
	assert_non_null(first);
	send_filled(fill_text, 5000);
	assert_ptr_equal(memory->squeezer, first);
	rig_run(&rig, 5 * NOPAL_SECOND);
	memory = rig_state(rig.opener.session, "compression");
	assert_null(memory->squeezer);
	memory = rig_state(rig.acceptor.session, "compression");
	assert_null(memory->expander);
	send_filled(fill_text, 5000);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(compressed_seen.count, 3);
	rig_close(&rig);
}

/* No room for what it was: gone where that may be, else the end. */
static void over_budget(const char *config, bool ends)
{
	const struct nopal_budget budget = { .bytes = 250000 };

	compressed_begin(config, section_of(LZ4, ""), "delay 5ms");
	rig_send(&rig, "hello");
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	nopal_session_set_budget(rig.acceptor.session, &budget);
	send_filled(fill_zeros, LONGEST);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(compressed_seen.count, 2);
	nopal_session_set_budget(rig.acceptor.session, &(struct nopal_budget){ .bytes = LONGEST });
	send_filled(fill_zeros, LONGEST);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(compressed_seen.count, 2);
	assert_int_equal(rig.acceptor.ended, ends);
	if (ends)
		assert_int_equal(rig.acceptor.end, NOPAL_RESOURCE);
	rig_close(&rig);
}

TEST(test_what_has_no_room_is_not_delivered)
{
	if (!nopal__codec_lz4.built)
		skip();
	over_budget(RESIZED, false);
	over_budget(RELIABLE, true);
}

/* ------------------------------------------------------------------ what is refused */

static const struct nopal_microprotocol secret = {
	.abi = NOPAL_ABI,
	.name = "c_secret",
	.family = "check",
	.summary = "stands for what nobody else can read",
	.provides = (const struct nopal_role[]){ { "confidentiality", false },
						 { "checker", false },
						 { 0 } },
};

static void expect_refused(const char *section, const char *because)
{
	char config[1024], text[4096];

	snprintf(config, sizeof(config), "%s%s", FIXED, section);
	assert_true(rig_refused(config, text, sizeof(text)));
	if (!strstr(text, because))
		fail_msg("not refused because %s, but:\n%s", because, text);
}

TEST(test_configs_that_make_no_sense)
{
	unsigned built = nopal__codec_zstd.built ? ZSTD : LZ4;
	char section[256];

	rig_add(&b_digest);
	rig_add(&secret);
	if (!codec_of(built)->built)
		skip();
	snprintf(section, sizeof(section), "%sc_secret {}\n", section_of(built, ""));
	expect_refused(section, "exclude each other");
	expect_refused(section, "compression.single_secret = on");
	snprintf(section, sizeof(section), "%s%sc_secret {}\n", FIXED,
		 section_of(built, "single_secret = on"));
	nopal_plan_unref(rig_plan(section));
	if (nopal__codec_lz4.built)
		expect_refused(section_of(LZ4, "level = 13"), "no such level");
}

TEST(test_what_was_not_built_is_refused)
{
	rig_add(&b_digest);
	for (unsigned a = 0; a < ALGORITHMS; a++)
		if (!codec_of(a)->built)
			expect_refused(section_of(a, ""), "built without");
}
