/* SPDX-License-Identifier: MIT */
/*
 * Compressed messages of one who means ill: what makes no sense is discarded, and costs no more
 * memory than its bytes could stand for.
 */
#include "plan/plan.h"
#include "support/compressed.h"
#include "support/test.h"

/* ---------------------------------------------------- how much memory at once */

static size_t largest; /* that was asked for */
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	if (bytes > largest)
		largest = bytes;
	return __real_malloc(bytes);
}

/* ---------------------------------------------------------------------- nonsense */

enum { WIRE_ROOM = 4096, CLAIM_ROOM = 10 };

/* A message as the wire has it: what it claims to be, and a compressed form. */
struct wire {
	uint8_t bytes[WIRE_ROOM];
	size_t length;
};

static struct wire squeezed(unsigned algorithm, const uint8_t *bytes, size_t length, uint64_t claim)
{
	struct nopal__codec_memory memory = { 0 };
	struct wire wire;
	struct nopal_writer writer = nopal_writer_over(wire.bytes, WIRE_ROOM);
	size_t form;

	nopal_write_varint(&writer, claim);
	form = codec_of(algorithm)->squeeze(NULL, &memory, 1, bytes, length, writer.at,
					    (size_t)(writer.end - writer.at));
	codec_of(algorithm)->idle(NULL, &memory);
	assert_true(form > 0);
	wire.length = nopal_written(&writer) + form;
	return wire;
}

/* In one segment, or cut into many; has it been delivered? */
static bool arrives(const uint8_t *bytes, size_t length, uint64_t attribute)
{
	struct nopal_session *session = rig.acceptor.session;
	uint32_t before = compressed_seen.count;
	struct arriving one = arriving_begin(session, NOPAL_KIND_DATA, bytes, length);

	nopal_set(rig_at(session, "compression"), one.segment, 0, attribute);
	arriving_end(&one);
	assert_int_equal(rig_awake(session)->messages.alive, 0);
	return compressed_seen.count != before;
}

static void begin_known(unsigned algorithm, const char *more)
{
	compressed_begin(FIXED, section_of(algorithm, more), "delay 10ms");
	rig_send(&rig, "hello");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(compressed_seen.count, 1);
}

static void expect_discarded(const struct wire *wire, uint64_t attribute)
{
	const struct nopal_counters *counters = nopal_session_counters(rig.acceptor.session);
	uint64_t before = counters->messages_discarded;

	assert_false(arrives(wire->bytes, wire->length, attribute));
	counters = nopal_session_counters(rig.acceptor.session);
	assert_int_equal(counters->messages_discarded, before + 1);
}

static void bombs(unsigned algorithm)
{
	enum { REAL = 900000, MAX = 64 << 10 };
	uint8_t *zeros = calloc(1, REAL);
	struct wire wire;

	begin_known(algorithm, "most = 65536B");
	wire = squeezed(algorithm, zeros, REAL, REAL); /* it says so */
	expect_discarded(&wire, 1);
	wire = squeezed(algorithm, zeros, REAL, MAX); /* it lies: less */
	expect_discarded(&wire, 1);
	wire = squeezed(algorithm, zeros, MAX - 1, MAX); /* more */
	expect_discarded(&wire, 1);
	wire = squeezed(algorithm, zeros, 100, 0);
	expect_discarded(&wire, 1);
	wire = squeezed(algorithm, zeros, MAX, UINT64_MAX);
	expect_discarded(&wire, 1);
	wire = squeezed(algorithm, zeros, MAX, MAX); /* no lie */
	expect_discarded(&wire, 2);		     /* but what is that? */
	assert_true(arrives(wire.bytes, wire.length, 1));
	assert_int_equal(compressed_seen.length[1], MAX);
	free(zeros);
	rig_close(&rig);
}

TEST(test_bombs_are_discarded)
{
	for (unsigned a = 0; a < ALGORITHMS; a++)
		if (codec_of(a)->built)
			bombs(a);
}

/* Ten bytes cannot stand for a gigabyte: nothing of that size is asked for. */
TEST(test_a_claim_beyond_reason_gets_no_memory)
{
	static const uint8_t zeros[64];

	for (unsigned a = 0; a < ALGORITHMS; a++) {
		struct wire wire;

		if (!codec_of(a)->built)
			continue;
		begin_known(a, "most = 1GiB");
		wire = squeezed(a, zeros, sizeof(zeros), 1 << 30);
		largest = 0;
		expect_discarded(&wire, 1);
		assert_true(largest < 1 << 20);
		rig_close(&rig);
	}
}

static void mutilate(unsigned algorithm, fill *with, size_t length)
{
	uint8_t bytes[1000];
	struct wire wire;

	with(bytes, length);
	wire = squeezed(algorithm, bytes, length, length);
	for (size_t cut = 0; cut < wire.length; cut++)
		assert_false(arrives(wire.bytes, cut, 1));
	for (size_t at = 0; at < wire.length; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			uint32_t before = compressed_seen.count;

			wire.bytes[at] ^= (uint8_t)(1 << bit);
			/* Within its claim it may be other bytes: whoever minds has integrity
			 * below. */
			if (arrives(wire.bytes, wire.length, 1) && at >= 2)
				assert_int_equal(compressed_seen.length[before % SEEN], length);
			wire.bytes[at] ^= (uint8_t)(1 << bit);
		}
	assert_true(arrives(wire.bytes, wire.length, 1));
}

TEST(test_cut_and_flipped_forms_are_survived)
{
	for (unsigned a = 0; a < ALGORITHMS; a++) {
		if (!codec_of(a)->built)
			continue;
		begin_known(a, "");
		mutilate(a, fill_text, 1000);
		mutilate(a, fill_zeros, 300);
		assert_int_equal(rig.acceptor.ended, 0);
		rig_close(&rig);
	}
}

TEST(test_noise_is_survived)
{
	uint8_t noise[200];

	for (unsigned a = 0; a < ALGORITHMS; a++) {
		if (!codec_of(a)->built)
			continue;
		begin_known(a, "");
		for (unsigned i = 0; i < 5000; i++) {
			size_t length = 1 + random_byte() % 199;

			fill_random(noise, length);
			arrives(noise, length, 1 + i % 3);
		}
		send_filled(fill_text, 800);
		rig_run(&rig, NOPAL_SECOND);
		assert_int_equal(compressed_seen.length[(compressed_seen.count - 1) % SEEN], 800);
		rig_close(&rig);
	}
}
