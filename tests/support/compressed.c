/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/compressed.h"
#include "support/test.h"

#define DRIVER "transport_driver {}\nb_digest {}\na_tap {}\n"
#define CUT    DRIVER "resize {}\nsequenced_segments {}\n"
#define ORDERED                                                                                    \
	"positive_ack {} retransmission_timer {}\nretransmit {}\nduplicate_ack {}\n"               \
	"rtt_estimation {}\nreliable_fifo {}\n"

const char FIXED[] = DRIVER "fixed_size {}\n";
const char RESIZED[] = CUT "lossy_fifo {}\n";
const char RELIABLE[] = CUT ORDERED "windowed_flow { buffer = 32KiB }\n";
const char COALESCED[] = DRIVER "coalesce {}\nsequenced_segments {}\nsequenced_messages {}\n";
const char COALESCED_RELIABLE[] =
	DRIVER "coalesce {}\nsequenced_segments {}\nsequenced_messages {}\n" ORDERED;
static const char *const algorithms[] = { "zstd", "lz4" };

const struct nopal__codec *codec_of(unsigned algorithm)
{
	return algorithm == LZ4 ? &nopal__codec_lz4 : &nopal__codec_zstd;
}

/* --------------------------------------------------- what the application sees */

struct compressed_seen compressed_seen;

static enum nopal_verdict digest_on_to_user(struct nopal_at at, struct nopal_message *message)
{
	struct nopal_hash hash;

	(void)at;
	nopal_hash_init(&hash);
	for (uint32_t i = 0; i < message->fragments; i++)
		nopal_hash_update(&hash, message->fragment[i].bytes, message->fragment[i].length);
	compressed_seen.hash[compressed_seen.count % SEEN] = nopal_hash_final(&hash);
	compressed_seen.length[compressed_seen.count++ % SEEN] = message->length;
	return NOPAL_CONTINUE;
}

static const struct nopal_binding digest_bindings[] = {
	NOPAL_ON(MSG_TO_USER, digest_on_to_user, .after = "compression"),
	{ 0 },
};
const struct nopal_microprotocol b_digest = {
	.abi = NOPAL_ABI,
	.name = "b_digest",
	.family = "check",
	.summary = "notes what is delivered",
	.bindings = digest_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

void compressed_begin(const char *config, const char *section, const char *link)
{
	char text[1024];

	memset(&compressed_seen, 0, sizeof(compressed_seen));
	rig_add(&b_digest);
	snprintf(text, sizeof(text), "%s%s", config, section);
	rig_open(&rig, text, &(struct rig_options){ .link = link, .seed = 7 });
}

uint64_t bytes_out(void)
{
	return nopal_session_counters(rig.opener.session)->datagram_bytes_out;
}

const char *section_of(unsigned algorithm, const char *more)
{
	static char text[128];

	snprintf(text, sizeof(text), "compression { algorithm = %s %s }\n", algorithms[algorithm],
		 more);
	return text;
}

/* ------------------------------------------------------------------ what is sent */

static uint64_t random_state = 1;

uint8_t random_byte(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint8_t)(random_state >> 56);
}

void fill_random(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = random_byte();
}

void fill_text(uint8_t *bytes, size_t length)
{
	static const char *const words[] = { "window ", "segment ", "barrier ", "the ",
					     "a ",	"of ",	    "loss ",	"and " };
	size_t at = 0;

	while (at < length) {
		const char *word = words[random_byte() % 8];
		size_t take = strlen(word);

		if (take > length - at)
			take = length - at;
		memcpy(bytes + at, word, take);
		at += take;
	}
}

void fill_zeros(uint8_t *bytes, size_t length)
{
	memset(bytes, 0, length);
}

static fill *const fills[] = { fill_random, fill_text, fill_zeros };

void send_filled(fill *with, size_t length)
{
	static uint8_t bytes[LONGEST];

	with(bytes, length);
	for (int waited = 0; nopal_send(rig.opener.session, bytes, length, 0) != 0; waited++) {
		assert_true(waited < 10000);
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	}
}

void send_all(size_t longest)
{
	static const size_t lengths[] = { 0, 1, 2, 63, 64, 65, 200, 900, 1400, 4000, 20000 };

	random_state = 42;
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
			for (unsigned f = 0; f < FILLS; f++)
				if (lengths[i] <= longest)
					send_filled(fills[f], lengths[i]);
		rig_run(&rig, 50 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, 30 * NOPAL_SECOND);
}
