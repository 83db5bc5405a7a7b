/* SPDX-License-Identifier: MIT */
/*
 * Admission by aead: every datagram of the peer, once, as it was, and nothing else.
 * laws/test_malformed changes every byte of every kind, too; test_aead_opening has somebody between
 * the two while they open.
 */
#include <stdio.h>

#include "aead.h"
#include "support/capture.h"
#include "support/nonces.h"
#include "wire/wire.h"
#include "support/test.h"

#define PLAIN "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"
static const char SEALED[] = PLAIN "aead {}\na_tap {}\n";

enum { SKIP = 77 /* of meson */, COUNTER_MASK = (1 << 28) - 1 };

static struct aead *aead_of(struct nopal_session *session)
{
	return rig_state(session, "aead");
}

static const struct nopal_counters *counters_of(const struct rig_side *side)
{
	return nopal_session_counters(side->session);
}

/* ------------------------------------------- the law: no nonce is used twice */

/* A counter runs through all phases of a direction: where it never repeats, no key sees a nonce
 * twice. */
enum { LAW_DIRECTIONS = 64 };
static struct law {
	struct law_direction {
		uint32_t id; /* of the receiver */
		uint64_t next;
		uint32_t turn;
	} direction[LAW_DIRECTIONS];
	uint64_t datagrams, turns;
} law;

static struct law_direction *law_direction(uint32_t id)
{
	for (struct law_direction *one = law.direction; one < law.direction + LAW_DIRECTIONS; one++)
		if (one->id == id || one->id == 0) {
			one->id = id;
			return one;
		}
	fail_msg("more than %d directions", LAW_DIRECTIONS);
	return NULL;
}

static uint32_t word_of(const uint8_t *bytes, size_t length)
{
	struct nopal_reader reader =
		nopal_reader_over(bytes + length - AEAD_OVERHEAD_BYTES, AEAD_WORD_BYTES);

	return (uint32_t)nopal_read(&reader, AEAD_WORD_BYTES);
}

static void law_note(void *user, int64_t now_ns, const struct nopal_address *from,
		     const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct nopal_reader id = nopal_reader_over(bytes + 1, 4);
	struct law_direction *one;
	uint32_t word;
	uint8_t kind;

	(void)user, (void)now_ns, (void)from, (void)to;
	nopal__first_byte_parse(bytes[0], &kind);
	if (kind == NOPAL_KIND_CONNECT || kind == NOPAL_KIND_REPLY)
		return;
	word = word_of(bytes, length);
	if (word == 0) /* an answer: it has no nonce */
		return;
	one = law_direction((uint32_t)nopal_read(&id, 4));
	assert_int_equal(word & COUNTER_MASK, one->next & COUNTER_MASK);
	one->next++;
	law.turns += one->turn != 0 && one->turn != word >> 30;
	one->turn = word >> 30;
	law.datagrams++;
}

/* Before the session opens. */
static void law_open(struct rig *rig, const char *config, const char *link)
{
	memset(&law, 0, sizeof(law));
	rig_open(rig, config, &(struct rig_options){ .link = link, .stay_closed = true });
	nopal_sim_tap(rig->world, law_note, NULL);
	rig_start(rig);
	assert_int_equal(rig->opener.opened, 1);
	assert_int_equal(rig->acceptor.opened, 1);
}

static void law_close(struct rig *rig)
{
	nopal_sim_tap(rig->world, NULL, NULL);
	rig_close(rig);
}

/* ----------------------------------------------------------------- carrying */

static const char secret_text[] = "swordfish swordfish swordfish";
static bool overheard;

static void listen_in_only(void *user, int64_t now_ns, const struct nopal_address *from,
			   const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user, (void)now_ns, (void)from, (void)to;
	overheard |= memmem(bytes, length, "fish", 4) != NULL;
}

static void listen_in(void *user, int64_t now_ns, const struct nopal_address *from,
		      const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	law_note(user, now_ns, from, to, bytes, length);
	listen_in_only(user, now_ns, from, to, bytes, length);
}

TEST(test_it_carries_and_nobody_overhears)
{
	static const char *const ciphers[] = { "aes_128_gcm", "chacha20_poly1305" };
	char config[256];
	struct rig rig;

	for (int i = 0; i < 2; i++) {
		snprintf(config, sizeof(config), PLAIN "aead { cipher = %s }\n", ciphers[i]);
		law_open(&rig, config, "delay 10ms");
		overheard = false;
		nopal_sim_tap(rig.world, listen_in, NULL);
		for (int message = 0; message < 20; message++)
			rig_send(&rig, secret_text);
		rig_run(&rig, NOPAL_SECOND);
		assert_int_equal(rig.acceptor.delivered, 20);
		assert_string_equal(rig.acceptor.text[19], secret_text);
		assert_false(overheard);
		assert_true(law.datagrams >= 20);
		assert_int_equal(counters_of(&rig.acceptor)->rx_sealed_badly, 0);
		rig_finish(&rig);
		assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
		assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
		law_close(&rig);
	}
}

TEST(test_both_directions_have_other_keys)
{
	struct aead_secrets *opener, *acceptor;
	struct rig rig;

	rig_open(&rig, SEALED, NULL);
	opener = aead_of(rig.opener.session)->secrets;
	acceptor = aead_of(rig.acceptor.session)->secrets;
	assert_memory_equal(opener->write.secret, acceptor->read[0].secret, 32);
	assert_memory_equal(opener->read[0].secret, acceptor->write.secret, 32);
	assert_memory_not_equal(opener->write.secret, opener->read[0].secret, 32);
	for (int i = 0; i < 32; i++) { /* what made them is gone */
		assert_int_equal(opener->own[i] | opener->early[i], 0);
		assert_int_equal(acceptor->own[i] | acceptor->early[i], 0);
	}
	rig_close(&rig);
}

static bool takes(struct rig *rig, const uint8_t *extension, size_t length)
{
	uint8_t bytes[NOPAL_RESET_PROOF_BYTES + NOPAL__AEAD_PUBLIC_BYTES] = { 0 };
	struct nopal_reader reader = nopal_reader_over(bytes, NOPAL_RESET_PROOF_BYTES + length);

	memcpy(bytes + NOPAL_RESET_PROOF_BYTES, extension, length);
	return nopal_extensions_read(rig->opener.session, &reader);
}

/* An answer that comes again must be the same. */
TEST(test_an_extension_is_taken_once)
{
	const uint8_t other[NOPAL__AEAD_PUBLIC_BYTES] = { 9 };
	const uint8_t *peer;
	struct rig rig;

	rig_open(&rig, SEALED, NULL);
	peer = aead_of(rig.opener.session)->secrets->peer;
	assert_true(takes(&rig, peer, sizeof(other)));
	assert_false(takes(&rig, other, sizeof(other)));
	assert_false(takes(&rig, peer, sizeof(other) - 1));
	rig_close(&rig);
}

/* ----------------------------------------------------- one datagram, changed */

TEST(test_only_the_datagram_itself_opens_and_once)
{
	static struct capture capture;
	struct rig_side *acceptor = &capture.rig.acceptor;
	struct captured *sent = capture.datagram;
	uint64_t bad = 0;
	struct aead before;
	int64_t heard_ns;

	capture_open(&capture, SEALED);
	rig_send(&capture.rig, "one");
	rig_send(&capture.rig, "two");
	rig_run(&capture.rig, NOPAL_MILLISECOND);
	assert_int_equal(capture.count, 2);
	before = *aead_of(acceptor->session);
	heard_ns = rig_awake(acceptor->session)->heard_ns;
	for (size_t at = 5; at < sent->length; at++)
		for (unsigned bit = 0; bit < 8; bit++, bad++) {
			sent->bytes[at] ^= (uint8_t)(1u << bit);
			capture_pass(&capture, 0);
			sent->bytes[at] ^= (uint8_t)(1u << bit);
		}
	for (size_t length = 25; length < sent->length; length++, bad++)
		capture_give(&capture, sent->bytes, length);
	capture_give(&capture, sent->bytes, sent->length + 1);
	assert_int_equal(counters_of(acceptor)->rx_sealed_badly, bad + 1);
	assert_int_equal(acceptor->delivered, 0);
	assert_memory_equal(&before, aead_of(acceptor->session), sizeof(before));
	assert_int_equal(rig_awake(acceptor->session)->heard_ns, heard_ns);
	capture_pass(&capture, 1); /* overtakes */
	capture_pass(&capture, 0);
	assert_int_equal(acceptor->delivered, 2);
	assert_string_equal(acceptor->text[1], "one");
	capture_pass(&capture, 0);
	capture_pass(&capture, 1);
	assert_int_equal(acceptor->delivered, 2);
	capture_close(&capture);
}

/* Our own datagram does not come from the peer, whosever id is on it. */
TEST(test_nothing_is_turned_back)
{
	static struct capture capture;
	struct rig_side *opener = &capture.rig.opener;
	struct captured *sent = capture.datagram;
	struct nopal_writer id = nopal_writer_over(sent->bytes + 1, 4);

	capture_open(&capture, SEALED);
	rig_send(&capture.rig, "one");
	rig_run(&capture.rig, NOPAL_MILLISECOND);
	nopal_write(&id, nopal_session_id(opener->session), 4);
	nopal_sim_inject(capture.rig.world, opener->endpoint, &capture.acceptor, sent->bytes,
			 sent->length);
	rig_run(&capture.rig, NOPAL_MILLISECOND);
	assert_int_equal(opener->delivered, 0);
	assert_int_equal(counters_of(opener)->rx_sealed_badly, 1);
	capture_close(&capture);
}

TEST(test_an_abort_is_sealed_like_data)
{
	static struct capture capture;
	struct captured *sent = capture.datagram;

	capture_open(&capture, SEALED);
	nopal_session_abort(capture.rig.opener.session, "enough");
	rig_run(&capture.rig, NOPAL_MILLISECOND);
	assert_int_equal(capture.count, 1);
	assert_int_equal(sent->length, 5 + 1 + strlen("enough") + AEAD_OVERHEAD_BYTES);
	for (size_t at = 0; at < sent->length; at++) {
		sent->bytes[at] ^= 1;
		capture_pass(&capture, 0);
		sent->bytes[at] ^= 1;
	}
	assert_int_equal(capture.rig.acceptor.ended, 0);
	capture_pass(&capture, 0);
	assert_int_equal(capture.rig.acceptor.end, NOPAL_ABORTED);
	capture_close(&capture);
}

TEST(test_too_much_forgery_ends_the_session)
{
	static struct capture capture;
	struct rig_side *acceptor = &capture.rig.acceptor;

	capture_open(&capture, PLAIN "aead { forgeries = 10 }\n");
	rig_send(&capture.rig, "one");
	rig_run(&capture.rig, NOPAL_MILLISECOND);
	capture.datagram[0].bytes[6] ^= 1;
	for (int i = 0; i < 9; i++)
		capture_pass(&capture, 0);
	assert_int_equal(acceptor->ended, 0);
	capture_pass(&capture, 0);
	assert_int_equal(acceptor->end, NOPAL_ABORTED);
	assert_string_equal(acceptor->end_text, "too many datagrams were forged");
	capture_close(&capture);
}

/* The law of nonces.c, which every simulated world keeps: would it see it? */
TEST(test_a_nonce_that_comes_again_is_seen)
{
	uint64_t repeated = nonces_repeated(), sealed;
	struct rig rig;

	rig_open(&rig, SEALED, NULL);
	rig_send(&rig, "one");
	rig_run(&rig, NOPAL_MILLISECOND);
	sealed = nonces_sealed();
	aead_of(rig.opener.session)->written--;
	nonces_tolerate(true);
	rig_send(&rig, "two");
	rig_run(&rig, NOPAL_MILLISECOND);
	nonces_tolerate(false);
	assert_true(nonces_sealed() > sealed);
	assert_int_equal(nonces_repeated(), repeated + 1);
	rig_close(&rig);
}

/* -------------------------------------------------------------------- phases */

TEST(test_keys_change_under_loss_and_reordering)
{
	static const char config[] = "extends = \"bulk_aead\"\n"
				     "aead { update = 64 }\na_tap {}\n";
	struct rig rig;
	uint64_t bytes = 0;

	law_open(&rig, config,
		 "rate 20mbit delay 20ms 5ms loss 10% duplicate 5% reorder 10% limit 200");
	for (int i = 0; i < 200; i++, bytes += 8000) {
		assert_int_equal(rig_send_bytes(&rig, 8000), 0);
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 200);
	assert_int_equal(rig.acceptor.delivered_bytes, bytes);
	assert_true(aead_of(rig.opener.session)->writes >= 5);
	assert_true(aead_of(rig.acceptor.session)->writes >= 2);
	assert_in_range(aead_of(rig.opener.session)->writes - aead_of(rig.acceptor.session)->reads,
			0, 1);
	assert_true(law.turns >= 7);
	rig_finish(&rig);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	law_close(&rig);
}

/* Where nothing comes back, a side goes one phase ahead and no further: its peer could not
 * follow. */
TEST(test_nobody_runs_ahead_of_its_peer)
{
	struct rig rig;

	law_open(&rig, PLAIN "aead { update = 4 }\na_tap {}\n", "delay 10ms");
	for (int i = 0; i < 100; i++)
		rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 100);
	assert_int_equal(aead_of(rig.opener.session)->writes, 1);
	assert_int_equal(nopal_send(rig.acceptor.session, "y", 1, 0), 0);
	rig_run(&rig, NOPAL_SECOND);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(aead_of(rig.opener.session)->writes, 2);
	assert_int_equal(rig.acceptor.delivered, 101);
	law_close(&rig);
}

/* A datagram that was overtaken by a change of keys opens for a while. */
TEST(test_the_phase_before_is_kept_for_a_while)
{
	static struct capture capture;
	struct rig_side *acceptor = &capture.rig.acceptor;
	uint32_t next = 12;

	capture_open(&capture, PLAIN "aead { update = 6 }\na_tap {}\n");
	for (int i = 0; i < 40; i++)
		rig_send(&capture.rig, "x");
	rig_run(&capture.rig, NOPAL_MILLISECOND);
	assert_int_equal(capture.count, 40);
	capture_pass(&capture, 11);
	assert_int_equal(aead_of(acceptor->session)->reads, 1);
	capture_pass(&capture, 0);
	assert_int_equal(acceptor->delivered, 2);
	for (; next < 12 + 28; next++) { /* so that it does not rest */
		rig_run(&capture.rig, 120 * NOPAL_MILLISECOND);
		capture_pass(&capture, next);
		if (next == 12 + 10)
			capture_pass(&capture, 1);
	}
	assert_int_equal(acceptor->delivered, 3 + 28);
	capture_pass(&capture, 2);
	assert_int_equal(acceptor->delivered, 3 + 28);
	capture_pass(&capture, 10);
	assert_int_equal(acceptor->delivered, 4 + 28);
	capture_close(&capture);
}

TEST(test_a_key_is_not_used_beyond_its_limit)
{
	struct aead *self;
	struct rig rig;

	law_open(&rig, SEALED, "delay 10ms");
	self = aead_of(rig.opener.session);
	self->since = AEAD_SEALED_MAX - 2;
	self->confirmed = false;
	rig_send(&rig, "last but one");
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.ended, 0);
	rig_send(&rig, "last");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_ABORTED);
	assert_int_equal(rig.acceptor.delivered, 2);
	law_close(&rig);
	rig_open(&rig, SEALED, NULL);
	aead_of(rig.opener.session)->since = AEAD_SEALED_MAX;
	overheard = false;
	nopal_sim_tap(rig.world, listen_in_only, NULL);
	rig_send(&rig, secret_text); /* what leaves is empty */
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 0);
	assert_int_equal(counters_of(&rig.acceptor)->rx_sealed_badly, 1);
	assert_false(overheard);
	law_close(&rig);
}

TEST(test_counters_wrap_on_the_wire_alone)
{
	const uint64_t near = (UINT64_C(7) << 28) - 50;
	struct aead *from, *to;
	struct rig rig;

	rig_open(&rig, SEALED, NULL);
	from = aead_of(rig.opener.session);
	to = aead_of(rig.acceptor.session);
	from->written = near;
	nopal_numbers_skip(&to->seen, near - 10);
	for (int i = 0; i < 100; i++)
		rig_send(&rig, "x");
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 100);
	assert_int_equal(aead_of(rig.acceptor.session)->seen.end, near + 100);
	rig_close(&rig);
}

/* ----------------------------------------------------------------- rest, end */

static bool is_zero(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	while (length && *at == 0)
		at++, length--;
	return length == 0;
}

TEST(test_it_rests_with_its_present_secrets_alone)
{
	struct aead_secrets *secrets;
	struct rig rig;

	law_open(&rig, PLAIN "aead { update = 4 }\na_tap {}\n", "delay 10ms loss 5%");
	for (int i = 0; i < 50; i++) {
		rig_send(&rig, "x");
		nopal_send(rig.acceptor.session, "y", 1, 0);
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	}
	secrets = aead_of(rig.acceptor.session)->secrets;
	assert_true(aead_of(rig.acceptor.session)->reads > 2);
	assert_non_null(secrets->write.key);
	rig_run(&rig, NOPAL_SECOND);
	assert_null(nopal__composite(rig.acceptor.session)->awake);
	assert_null(secrets->write.key);
	assert_false(secrets->ready);
	assert_int_equal(is_zero(&secrets->read[0], sizeof(secrets->read[0])) +
				 is_zero(&secrets->read[1], sizeof(secrets->read[1])) +
				 is_zero(&secrets->read[2], sizeof(secrets->read[2])),
			 2);
	rig.acceptor.delivered = 0;
	rig_change_both(&rig, "delay 10ms");
	for (int i = 0; i < 20; i++) {
		rig_send(&rig, "again");
		nopal_send(rig.acceptor.session, "y", 1, 0);
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	}
	assert_in_range(rig.acceptor.delivered, 19, 20);
	law_close(&rig);
}

/* m_look closes after aead: parts close from the last one of the config. */
static const struct aead_secrets *looked_at;
static unsigned looks;

static void look_close(struct nopal_at at)
{
	(void)at;
	looks++;
	assert_true(is_zero(looked_at, sizeof(*looked_at)));
}

static const struct nopal_microprotocol m_look = {
	.abi = NOPAL_ABI,
	.name = "m_look",
	.family = "check",
	.summary = "looks at what aead leaves behind",
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.close = look_close,
};

TEST(test_no_secret_is_left_behind)
{
	struct rig rig;

	rig_add(&m_look);
	rig_open(&rig, "m_look {}\n" PLAIN "aead {}\n", NULL);
	looked_at = aead_of(rig.opener.session)->secrets;
	assert_false(is_zero(looked_at, sizeof(*looked_at)));
	looks = 0;
	nopal_session_abort(rig.opener.session, "enough");
	assert_int_equal(looks, 1);
	looked_at = aead_of(rig.acceptor.session)->secrets;
	rig_run(&rig, NOPAL_SECOND); /* and the abort was sealed before that */
	assert_int_equal(rig.acceptor.end, NOPAL_ABORTED);
	assert_int_equal(looks, 2);
	rig_close(&rig);
}

TEST(test_what_it_needs_and_excludes)
{
	char text[2048];

	assert_true(
		rig_refused("transport_driver {}\nfixed_size {}\naead {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "aead needs connection"));
	assert_true(rig_refused(PLAIN "aead {}\nchecksum {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "integrity"));
}

int main(void)
{
	if (!nopal__aead_found()) {
		puts("built without libcrypto");
		return SKIP;
	}
	return tests_run();
}
