/* SPDX-License-Identifier: MIT */
/*
 * A header is decoded as it was sent, or its datagram is dropped; and headers are much shorter than
 * without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "../microprotocols/format/header_context.h"
#include "support/capture.h"
#include "support/test.h"

#define BULK "extends = \"bulk\"\n"
#define AUDIO                                                                                      \
	"transport_driver {}\nresize {}\nsequenced_messages {}\n"                                  \
	"sequenced_segments {}\npositive_ack {} retransmission_timer {}\nlossy_fifo {}\nchecksum {}\n"
/* Nobody says what arrived. */
#define MUTE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"                              \
	"lossy_fifo {}\nchecksum {}\n"
#define REPAIRED   "extends = \"ctp_audio\"\n"
#define COMPRESSED "header_compression {}\n"

/* ------------------------------------------------------------------- what is seen */

enum { BODIES = 4096, HEADERS = 64, SEEN = 8192 };

static struct sent {
	uint64_t header[HEADERS]; /* of one body: hashes, one a transmission */
	unsigned count;
} sent[BODIES];

static struct noted {
	uint64_t transmissions, body_bytes;   /* of data */
	uint64_t datagrams, datagram_bytes;   /* of data, to the acceptor */
	uint64_t forms[4];		      /* of their headers */
	uint64_t decoded, wrong;	      /* headers that arrived */
	uint64_t delivered[SEEN], deliveries; /* first words of messages */
} noted;

/* A body: its first word, and its length. */
static uint32_t body_of(const struct nopal_segment *segment)
{
	uint64_t words[2] = { 0, segment->body.length };
	struct nopal_hash hash;

	memcpy(words, segment->body.bytes, segment->body.length < 8 ? segment->body.length : 8);
	nopal_hash_init(&hash);
	nopal_hash_update(&hash, words, sizeof(words));
	return (uint32_t)(nopal_hash_final(&hash) % BODIES);
}

static uint64_t header_of(const struct nopal_session *session, const struct nopal_segment *segment)
{
	unsigned count;
	const struct nopal_field *field = nopal_data_fields(session, &count);
	struct nopal_hash hash;

	nopal_hash_init(&hash);
	for (unsigned i = 0; i < count; i++)
		nopal_hash_update(&hash, &segment->attribute[field[i].slot], sizeof(uint64_t));
	return nopal_hash_final(&hash);
}

static enum nopal_verdict note_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct sent *one = &sent[body_of(segment)];

	if (!nopal_session_is_opener(at.session))
		return NOPAL_CONTINUE;
	noted.transmissions++;
	noted.body_bytes += segment->body.length;
	one->header[one->count++ % HEADERS] = header_of(at.session, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict note_on_arrival(struct nopal_at at, struct nopal_segment *segment)
{
	const struct sent *one = &sent[body_of(segment)];
	uint64_t header = header_of(at.session, segment);

	if (nopal_session_is_opener(at.session))
		return NOPAL_CONTINUE;
	if (segment->packet_number == 0 && nopal_session_counters(at.session)->segments_rebuilt)
		return NOPAL_CONTINUE; /* redundancy made it, it never left */
	noted.decoded++;
	for (unsigned i = 0; i < one->count && i < HEADERS; i++)
		if (one->header[i] == header)
			return NOPAL_CONTINUE;
	noted.wrong++;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict note_on_to_user(struct nopal_at at, struct nopal_message *message)
{
	uint64_t word = 0;

	if (nopal_session_is_opener(at.session))
		return NOPAL_CONTINUE;
	nopal_message_copy(message, 0, &word, sizeof(word));
	noted.delivered[noted.deliveries++ % SEEN] = word;
	return NOPAL_CONTINUE;
}

static const struct nopal_binding first_bindings[] = {
	NOPAL_ON(SEGMENT_FROM_NET, note_on_arrival),
	NOPAL_ON(MSG_TO_USER, note_on_to_user),
	{ 0 },
};
static const struct nopal_binding last_bindings[] = {
	NOPAL_ON(SEND_SEGMENT, note_on_send),
	{ 0 },
};
/* By their names they run before all others and behind them. */
static const struct nopal_microprotocol a_note = {
	.abi = NOPAL_ABI,
	.name = "a_note",
	.family = "check",
	.summary = "notes headers that arrive",
	.bindings = first_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};
static const struct nopal_microprotocol z_note = {
	.abi = NOPAL_ABI,
	.name = "z_note",
	.family = "check",
	.summary = "notes headers that leave",
	.bindings = last_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

/* Before a header: first byte and session id. */
enum { HEAD = 5 };

static void tap(void *user, int64_t now_ns, const struct nopal_address *from,
		const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	uint8_t kind = bytes[0] & (NOPAL_KIND_ROOM - 1);

	(void)user, (void)now_ns, (void)from;
	if (to->port != 2000 || (kind != NOPAL_KIND_DATA && kind != NOPAL_KIND_DATA_OPENING))
		return;
	noted.forms[bytes[HEAD] >> HEADER_ID_BITS]++;
	noted.datagrams++;
	noted.datagram_bytes += length;
}

static struct rig rig;

static void begin(const char *config, const char *more, const char *link, uint64_t seed)
{
	char text[1024];

	memset(&noted, 0, sizeof(noted));
	memset(sent, 0, sizeof(sent));
	rig_add(&a_note);
	rig_add(&z_note);
	snprintf(text, sizeof(text), "%sa_note {}\nz_note {}\n%s", config, more);
	rig_open(&rig, text, &(struct rig_options){ .link = link, .seed = seed });
	nopal_sim_tap(rig.world, tap, NULL);
}

static void end(void)
{
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(noted.wrong, 0);
	rig_close(&rig);
}

/* One message with its number as its first word. */
static void send_one(uint64_t number, size_t length)
{
	static uint8_t bytes[100000];

	for (size_t i = 0; i < length; i += sizeof(number)) {
		uint64_t word = number << 20 | i;

		memcpy(bytes + i, &word, length - i < sizeof(word) ? length - i : sizeof(word));
	}
	for (int waited = 0; nopal_send(rig.opener.session, bytes, length, 0) != 0; waited++) {
		assert_true(waited < 100000);
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	}
}

/* One every 20 ms, as sound is. */
static void send_sound(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		send_one(i, 160);
		rig_run(&rig, 20 * NOPAL_MILLISECOND);
	}
}

static void send_files(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		send_one(i, 60000);
}

typedef void work(unsigned count);

static struct noted run(const char *config, const char *more, const char *link, uint64_t seed,
			work *work, unsigned count)
{
	begin(config, more, link, seed);
	work(count);
	end();
	return noted;
}

/* --------------------------------------------------------------- shorter, and equal */

/* Hundredths of a byte: all but the body, of a datagram with data. */
static uint64_t mean_header(const struct noted *seen)
{
	return (seen->datagram_bytes * 100 -
		seen->body_bytes * 100 * seen->datagrams / seen->transmissions) /
	       seen->datagrams;
}

static void expect_equal(const struct noted *plain, const struct noted *shorter)
{
	assert_int_equal(shorter->deliveries, plain->deliveries);
	assert_memory_equal(shorter->delivered, plain->delivered, sizeof(plain->delivered));
}

struct saving {
	const char *name, *config, *link;
	work *work;
	unsigned count;
	uint64_t max;	 /* of the fields' bytes there are left, in percent */
	uint64_t fields; /* their bytes */
};

static const struct saving savings[] = {
	{ "sound", AUDIO, "delay 20ms", send_sound, 1000, 35, 14 },
	{ "sound, mute", MUTE, "delay 20ms", send_sound, 1000, 90, 4 },
	{ "sound, lost", AUDIO, "delay 20ms loss 2%", send_sound, 1000, 50, 14 },
	{ "sound, repaired", REPAIRED, "delay 20ms", send_sound, 1000, 60, 13 },
	{ "files", BULK, "rate 20mbit delay 10ms", send_files, 60, 70, 10 },
	{ "files, lost", BULK, "rate 20mbit delay 10ms loss 1%", send_files, 60, 90, 10 },
};

TEST(test_headers_are_shorter)
{
	for (size_t i = 0; i < sizeof(savings) / sizeof(*savings); i++) {
		const struct saving *one = &savings[i];
		struct noted plain = run(one->config, "", one->link, 3, one->work, one->count);
		struct noted shorter =
			run(one->config, COMPRESSED, one->link, 3, one->work, one->count);
		uint64_t before = mean_header(&plain), after = mean_header(&shorter);
		uint64_t fixed = before - one->fields * 100;

		print_message("%s: %llu.%02llu bytes, were %llu.%02llu\n", one->name,
			      (unsigned long long)after / 100, (unsigned long long)after % 100,
			      (unsigned long long)before / 100, (unsigned long long)before % 100);
		assert_true((after - fixed) <= one->fields * one->max);
		if (!strstr(one->link, "loss") || one->work == send_files)
			expect_equal(&plain, &shorter);
	}
}

/* Nothing is heard of the other side, and of each datagram so many are lost: what is delivered is
 * the same. */
TEST(test_what_is_delivered_is_the_same_under_loss)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		static const char link[] = "delay 30ms 15ms loss 10%";
		struct noted plain, shorter;

		plain = run(MUTE, "", link, seed, send_sound, 300);
		shorter = run(MUTE, COMPRESSED, link, seed, send_sound, 300);
		expect_equal(&plain, &shorter);
		plain = run(AUDIO, "", link, seed, send_sound, 300);
		shorter = run(AUDIO, COMPRESSED, link, seed, send_sound, 300);
		expect_equal(&plain, &shorter);
	}
}

/* ---------------------------------------------------- as it was sent, or not at all */

TEST(test_decoded_as_sent_on_bad_networks)
{
	static const char *const configs[] = { BULK, AUDIO, MUTE, REPAIRED };
	static const char *const links[] = {
		"delay 10ms 10ms loss 10% duplicate 10%",
		"delay 5ms 80ms loss 30%",
		"rate 2mbit delay 20ms 5ms loss 3% duplicate 3% limit 20",
	};
	static const char *const how[] = { COMPRESSED,
					   "header_compression { repeat = 1 refresh = 1000 }\n",
					   "header_compression { repeat = 255 refresh = 2 }\n" };

	uint64_t decoded = 0;

	for (uint64_t seed = 0; seed < 36; seed++) {
		bool files = seed % 4 == 0;
		begin(configs[seed % 4], how[seed % 3], links[seed / 12], seed + 1);
		if (files)
			send_files(8);
		else
			send_sound(400);
		end();
		decoded += noted.decoded;
	}
	assert_true(decoded > 10000);
}

/* The receiver forgets: what is sent again, or told anew, makes it learn. */
static void forgets(const char *config, work *work, unsigned count)
{
	uint64_t malformed;

	begin(config, COMPRESSED, "delay 10ms", 1);
	work(count);
	rig_run(&rig, 2 * NOPAL_SECOND);
	memset(rig_state(rig.acceptor.session, "header_compression"), 0,
	       HEADER_RING * sizeof(struct header_context));
	work(count);
	rig_run(&rig, 20 * NOPAL_SECOND);
	malformed = nopal_session_counters(rig.acceptor.session)->rx_malformed;
	assert_true(malformed > 0);
	assert_true(malformed <= 128);
	assert_true(noted.deliveries + malformed >= 2 * count);
	end();
}

TEST(test_a_peer_that_forgot_learns_again)
{
	forgets(MUTE, send_sound, 200);
	forgets(BULK, send_files, 20);
	assert_int_equal(noted.deliveries, 40);
}

/* --------------------------------------------------- what a context is relied on by */

#define OPENED "transport_driver {}\nvirtual_circuit {}\nfixed_size {}\n"
#define ACKED  OPENED "sequenced_segments {}\nlossy_fifo {}\nchecksum {}\n"
#define RESENT                                                                                     \
	OPENED "sequenced_segments {}\nreliable_fifo {}\nchecksum {}\n"                            \
	       "positive_ack { every = 1 } retransmission_timer {}\nretransmit {}\n"

static uint64_t acceptor_malformed(void)
{
	return nopal_session_counters(rig.acceptor.session)->rx_malformed;
}

static void begin_opened(const char *config)
{
	begin(config, COMPRESSED, "delay 10ms", 1);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_non_null(rig.acceptor.session);
}

/* So many messages leave, and are lost. */
static void lose(uint64_t first, unsigned count)
{
	rig_change(&rig, "delay 10ms loss 100%");
	for (unsigned i = 0; i < count; i++)
		send_one(first + i, 160);
	rig_run(&rig, NOPAL_MILLISECOND);
	rig_change(&rig, "delay 10ms");
}

/* Definitions count for nothing where acks would tell of them, and do not. */
TEST(test_nothing_is_relied_on_before_an_ack)
{
	begin_opened(ACKED "positive_ack {} retransmission_timer {}\n");
	lose(0, 20);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	send_sound(50);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(acceptor_malformed(), 0);
	assert_int_equal(noted.deliveries, 50);
	assert_true(noted.forms[HEADER_COMPACT] > 30);
	end();
}

/* The first message is lost and made again of its parity, which does not say what its header
 * defined.  Its ack comes by itself, or on a message of the peer. */
static void rebuilt(const char *config, bool rides)
{
	begin_opened(config);
	lose(0, 1);
	while (noted.deliveries == 0)
		rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(noted.decoded, 0);
	if (rides)
		assert_int_equal(nopal_send(rig.acceptor.session, "heard", 5, 0), 0);
	rig_run(&rig, 50 * NOPAL_MILLISECOND);
	send_one(1, 160);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(acceptor_malformed(), 0);
	assert_int_equal(noted.decoded, 1);
	assert_int_equal(noted.forms[HEADER_DEFINES], 1);
	end();
}

TEST(test_what_redundancy_made_defined_nothing)
{
	rebuilt(ACKED "positive_ack { every = 1 } retransmission_timer {}\n"
		      "forward_error_correction {}\n",
		false);
	rebuilt(ACKED "positive_ack { every = 9  delay = 250ms  "
		      "piggyback = on } retransmission_timer {}\nforward_error_correction {}\n",
		true);
}

/* A resend is understood by a peer that knows no context. */
TEST(test_what_leaves_again_defines)
{
	uint64_t defined;

	begin_opened(RESENT);
	send_sound(30);
	rig_run(&rig, NOPAL_SECOND);
	defined = noted.forms[HEADER_DEFINES];
	lose(30, 1);
	assert_int_equal(noted.forms[HEADER_DEFINES], defined);
	memset(rig_state(rig.acceptor.session, "header_compression"), 0,
	       HEADER_RING * sizeof(struct header_context));
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(noted.forms[HEADER_DEFINES], defined + 1);
	assert_int_equal(acceptor_malformed(), 0);
	assert_int_equal(noted.deliveries, 31);
	end();
}

/* An older context has the place of the one that is meant. */
TEST(test_another_context_in_its_place_is_not_it)
{
	struct header_context *ring;
	uint64_t defined;

	begin_opened(RESENT);
	send_sound(30);
	rig_run(&rig, NOPAL_SECOND);
	ring = rig_state(rig.acceptor.session, "header_compression");
	for (unsigned i = 0; i < HEADER_RING; i++)
		ring[i].id ^= HEADER_RING;
	defined = noted.forms[HEADER_DEFINES];
	send_one(30, 160);
	rig_run(&rig, 15 * NOPAL_MILLISECOND);
	assert_int_equal(noted.forms[HEADER_DEFINES], defined);
	assert_int_equal(acceptor_malformed(), 1);
	assert_int_equal(noted.deliveries, 30);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(noted.deliveries, 31);
	end();
}

/* Before a context's definitions would be too far from its beginning, another one is defined beside
 * it: a peer that lost the first may learn at any time.  These are more datagrams than the low
 * bytes of an anchor count. */
TEST(test_contexts_are_renewed_in_time)
{
	enum { COUNT = 5 * HEADER_REACH };

	begin(MUTE, COMPRESSED, "delay 1ms", 1);
	for (uint64_t i = 0; i < COUNT; i++) {
		send_one(i, 16);
		if (i % 64 == 0)
			rig_run(&rig, 2 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(noted.deliveries, COUNT);
	assert_int_equal(noted.forms[HEADER_PLAIN], 0);
	assert_true(noted.forms[HEADER_DEFINES] > COUNT / 64);
	assert_true(noted.forms[HEADER_DEFINES] < COUNT / 64 + 11 * 16);
	rig_close(&rig);
}

/* ------------------------------------------------------------- cut and flipped */

/* The field before it is not its own: a kind that ends a session would. */

static void give_mutilated(struct capture *capture, uint32_t place)
{
	const struct captured *golden = &capture->datagram[place];
	uint8_t bytes[CAPTURE_BYTES];

	for (size_t length = 0; length < golden->length; length++)
		capture_give(capture, golden->bytes, length);
	for (size_t at = HEAD; at < golden->length; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(bytes, golden->bytes, golden->length);
			bytes[at] ^= (uint8_t)(1 << bit);
			capture_give(capture, bytes, golden->length);
		}
}

/* Headers of all forms, as files and sound make them. */
TEST(test_cut_and_flipped_headers_are_survived)
{
	static struct capture capture;
	uint64_t before;

	rig_add(&a_note);
	rig_add(&z_note);
	capture_open(&capture, "transport_driver {}\nresize { mtu = 576B }\n"
			       "sequenced_messages {}\nsequenced_segments {}\na_note {}\n"
			       "header_compression { repeat = 4 refresh = 16 }\n");
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(rig_send_bytes(&capture.rig, i % 5 == 4 ? 1200 : 24), 0);
	rig_run(&capture.rig, NOPAL_SECOND);
	assert_true(capture.count >= 28);
	for (uint32_t i = 0; i < capture.count; i++) {
		capture_pass(&capture, i);
		give_mutilated(&capture, i);
	}
	assert_int_equal(capture.rig.acceptor.ended, 0);
	nopal_sim_tap(capture.rig.world, NULL, NULL);
	rig_change(&capture.rig, "delay 1ms");
	before = noted.decoded;
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(rig_send_bytes(&capture.rig, 24), 0);
	rig_run(&capture.rig, NOPAL_SECOND);
	assert_true(noted.decoded - before >= 200 - 16);
	rig_close(&capture.rig);
}
