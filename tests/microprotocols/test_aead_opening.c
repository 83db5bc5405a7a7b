/* SPDX-License-Identifier: MIT */
/*
 * Peers that talk through aead: those with the same key of before, and nobody who was led to
 * another composition, or to other keys, by somebody on the way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "wire/wire.h"
#include "aead.h"
#include "support/capture.h"
#include "support/early_losses.h"
#include "support/test.h"

#define PLAIN "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"
static const char SEALED[] = PLAIN "aead {}\na_tap {}\n";

enum { SKIP = 77 /* of meson */ };

/* ---------------------------------------------------------- keys of before */

/* Short ones are refused, so each has something in front. */
static char *psk_config(const char *psk, char *text, size_t room)
{
	char path[] = "/tmp/nopal-psk-XXXXXX";
	int file = mkstemp(path);

	assert_int_equal(write(file, "what all keys have", 16), 16);
	assert_true(write(file, psk, strlen(psk)) > 0);
	close(file);
	snprintf(text, room, PLAIN "aead { psk_file = \"%s\" }\na_tap {}\n", path);
	return strdup(path);
}

static struct nopal_plan *psk_plan(const char *psk)
{
	char config[256], *path;
	struct nopal_plan *plan;

	if (!psk)
		return rig_plan(SEALED);
	path = psk_config(psk, config, sizeof(config));
	plan = rig_plan(config);
	unlink(path);
	free(path);
	return plan;
}

/* Each side with its own key of before; NULL: none.  Do they talk? */
static bool talk(const char *opener, const char *listener)
{
	struct nopal_plan *plan = psk_plan(listener), *other;
	struct rig rig;
	bool talked;

	rig_open(&rig, SEALED, &(struct rig_options){ .stay_closed = true });
	other = rig.plan;
	rig.plan = psk_plan(opener);
	nopal_endpoint_allow(rig.acceptor.endpoint, plan, 0,
			     &rig.acceptor.endpoint->listeners->callbacks, &rig);
	assert_true(nopal_plan_info(plan)->fingerprint ==
		    nopal_plan_info(other)->fingerprint); /* the newest counts */
	rig_start(&rig);
	talked = rig.opener.opened == 1;
	if (talked)
		rig_send(&rig, "hello");
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, talked);
	if (!talked) { /* which is another matter than that nobody is there */
		assert_int_equal(rig.opener.end, NOPAL_NOT_AUTHENTIC);
		assert_non_null(strstr(rig.opener.end_text, "the keys differ"));
	}
	rig_close(&rig);
	nopal_plan_unref(other);
	nopal_plan_unref(plan);
	return talked;
}

TEST(test_only_who_has_the_same_key_talks)
{
	assert_true(talk(NULL, NULL));
	assert_true(talk("the same key", "the same key"));
	assert_false(talk("the same key", "the same kez"));
	assert_false(talk("the same key", NULL));
	assert_false(talk(NULL, "the same key"));
}

/* Every loss pattern of the first datagrams in each direction: request, answer and confirmation
 * come again, and are the same. */
TEST(test_every_early_loss_is_survived)
{
	for (unsigned mask = 0; mask < 64; mask++) {
		struct rig rig;
		const char *link = early_losses(mask & 7, mask >> 3);

		rig_open(&rig, SEALED, &(struct rig_options){ .link = link });
		assert_int_equal(rig.opener.opened, 1);
		rig_send(&rig, "hello");
		rig_finish(&rig);
		assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
		assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
		rig_close(&rig);
	}
}

/* An opener that repeats its request to a session that is open gets no answer:
 * anybody could have sent it again. */
static uint32_t answers;

static void count_answers(void *user, int64_t now_ns, const struct nopal_address *from,
			  const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user, (void)now_ns, (void)from, (void)bytes, (void)length;
	answers += to->port != 2000;
}

TEST(test_a_request_again_is_not_answered)
{
	static struct {
		size_t length;
		uint8_t bytes[CAPTURE_BYTES];
	} request;
	static struct capture capture;
	struct rig *rig = &capture.rig;

	rig_open(rig, SEALED, &(struct rig_options){ .stay_closed = true });
	nopal_endpoint_local(rig->opener.endpoint, &capture.opener);
	nopal_endpoint_local(rig->acceptor.endpoint, &capture.acceptor);
	capture.count = 0;
	nopal_sim_tap(rig->world, capture_note, &capture);
	rig_start(rig);
	assert_true(capture.count >= 2); /* the second one has the cookie */
	request.length = capture.datagram[1].length;
	memcpy(request.bytes, capture.datagram[1].bytes, request.length);
	rig_send(rig, "x");
	rig_run(rig, 100 * NOPAL_MILLISECOND);
	answers = 0;
	nopal_sim_tap(rig->world, count_answers, NULL);
	for (int i = 0; i < 5; i++)
		capture_give(&capture, request.bytes, request.length);
	rig_run(rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(answers, 0);
	capture_close(&capture);
}

/* Somebody between the two, who changes what passes as it likes. */
enum { BETWEEN_ROOM = 4096 };
struct between {
	struct rig rig;
	struct nopal_address opener, acceptor;
	uint32_t first, count;
	bool (*change)(struct between *between, bool to_acceptor,
		       struct captured *datagram); /* false: drop it */
	bool to_acceptor[BETWEEN_ROOM];
	struct captured caught[BETWEEN_ROOM];
	struct nopal_plan *other; /* that the listener allows, too */
};

static void between_note(void *user, int64_t now_ns, const struct nopal_address *from,
			 const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct between *between = user;
	uint32_t place = between->count++ % BETWEEN_ROOM;

	(void)now_ns, (void)from;
	between->to_acceptor[place] = nopal_address_equal(to, &between->acceptor);
	between->caught[place].length = length;
	memcpy(between->caught[place].bytes, bytes, length);
}

static void between_pass(void *user)
{
	struct between *between = user;
	struct rig *rig = &between->rig;

	for (; between->first < between->count; between->first++) {
		uint32_t place = between->first % BETWEEN_ROOM;
		bool forth = between->to_acceptor[place];
		struct captured *one = &between->caught[place];

		if (between->change(between, forth, one))
			nopal_sim_inject(rig->world,
					 forth ? rig->acceptor.endpoint : rig->opener.endpoint,
					 forth ? &between->opener : &between->acceptor, one->bytes,
					 one->length);
	}
	nopal_sim_at(rig->world, nopal_world_now(rig->world) + NOPAL_MILLISECOND, between_pass,
		     between);
}

/* Opens, sends, and gives it a minute; `psk`: of both, or NULL. */
static void between_run(struct between *between, const char *psk)
{
	struct rig *rig = &between->rig;
	char config[256], *path = NULL;

	if (psk)
		path = psk_config(psk, config, sizeof(config));
	rig_open(rig, psk ? config : SEALED,
		 &(struct rig_options){ .link = "loss 100%", .stay_closed = true });
	nopal_endpoint_local(rig->opener.endpoint, &between->opener);
	nopal_endpoint_local(rig->acceptor.endpoint, &between->acceptor);
	if (between->other)
		nopal_endpoint_allow(rig->acceptor.endpoint, between->other, 0,
				     &rig->acceptor.endpoint->listeners->callbacks, rig);
	nopal_sim_tap(rig->world, between_note, between);
	between_pass(between);
	rig_start(rig);
	if (rig->opener.session)
		rig_send(rig, "hello");
	if (rig->acceptor.session)
		nopal_send(rig->acceptor.session, "hello", 5, 0);
	rig_run(rig, 60 * NOPAL_SECOND);
	if (path)
		unlink(path);
	free(path);
}

static void between_end(struct between *between)
{
	nopal_sim_tap(between->rig.world, NULL, NULL);
	rig_close(&between->rig);
	nopal_plan_unref(between->other);
	free(between);
}

static bool is_kind(const struct captured *datagram, uint8_t kind)
{
	return datagram->bytes[0] == nopal__first_byte(kind);
}

/* Connect with a check that is right again: byte 0, id 4, fingerprint 8, check 8. */
static void check_again(struct captured *connect, uint64_t fingerprint)
{
	uint8_t *bytes = connect->bytes;
	struct nopal_reader id = nopal_reader_over(bytes + 1, 4);
	struct nopal_writer head = nopal_writer_over(bytes + 5, 16);
	const uint64_t key[2] = { fingerprint, nopal_read(&id, 4) };

	nopal_write(&head, fingerprint, 8);
	nopal_write(&head, nopal__siphash(key, bytes + 21, connect->length - 21), 8);
}

static bool passes(struct between *between, bool to_acceptor, struct captured *datagram)
{
	(void)between, (void)to_acceptor, (void)datagram;
	return true;
}

static size_t change_at; /* in a request's body, behind the text; or in an answer */

static bool changes_request(struct between *between, bool to_acceptor, struct captured *datagram)
{
	(void)to_acceptor;
	if (is_kind(datagram, NOPAL_KIND_CONNECT)) {
		size_t text = strlen((char *)datagram->bytes + 21) + 1;

		datagram->bytes[21 + text + change_at] ^= 1;
		check_again(datagram, nopal_plan_info(between->rig.plan)->fingerprint);
	}
	return true;
}

/* The word behind its body is 0. */
static bool is_answer(const struct captured *datagram)
{
	static const uint8_t zeros[AEAD_WORD_BYTES];

	return datagram->length > AEAD_OVERHEAD_BYTES &&
	       memcmp(datagram->bytes + datagram->length - AEAD_OVERHEAD_BYTES, zeros,
		      sizeof(zeros)) == 0;
}

static bool changes_answer(struct between *between, bool to_acceptor, struct captured *datagram)
{
	(void)between;
	if (!to_acceptor && !is_kind(datagram, NOPAL_KIND_REPLY) && is_answer(datagram))
		datagram->bytes[5 + change_at] ^= 1;
	return true;
}

static struct between *between_new(const char *psk,
				   bool (*change)(struct between *, bool, struct captured *))
{
	struct between *between = calloc(1, sizeof(*between));

	assert_non_null(between);
	between->change = change;
	between_run(between, psk);
	return between;
}

TEST(test_who_only_passes_on_is_no_harm)
{
	struct between *between = between_new("key", passes);

	assert_int_equal(between->rig.acceptor.delivered, 1);
	assert_int_equal(between->rig.opener.delivered, 1);
	between_end(between);
}

/* First number (8), proof of resets (12) and public key (28) of the request: nothing gets
 * through. */
TEST(test_a_changed_request_opens_for_nobody)
{
	static const size_t places[] = { 8, 11, 12, 27, 28, 59 };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct between *between;

		change_at = places[i];
		between = between_new("key", changes_request);
		assert_int_equal(between->rig.acceptor.delivered, 0);
		assert_int_equal(between->rig.opener.delivered, 0);
		assert_int_equal(between->rig.acceptor.end, NOPAL_UNREACHABLE);
		if (change_at >= 28)
			assert_int_equal(between->rig.opener.opened, 0);
		between_end(between);
	}
}

TEST(test_a_changed_answer_opens_nothing)
{
	for (change_at = 0; change_at < 64; change_at += 3) {
		struct between *between = between_new("key", changes_answer);

		assert_int_equal(between->rig.opener.opened, 0);
		assert_true(between->rig.opener.end == NOPAL_NOT_AUTHENTIC ||
			    between->rig.opener.end == NOPAL_UNREACHABLE);
		assert_int_equal(between->rig.acceptor.delivered, 0);
		between_end(between);
	}
}

/* Tells the listener of a composition with a checksum in place of aead, and mends what shows it. */
static bool strips(struct between *between, bool to_acceptor, struct captured *datagram)
{
	uint64_t theirs = nopal_plan_info(between->other)->fingerprint;
	uint64_t ours = nopal_plan_info(between->rig.plan)->fingerprint;
	uint8_t *bytes = datagram->bytes;
	struct nopal_reader id = nopal_reader_over(bytes + 1, 4);

	(void)to_acceptor;
	if (is_kind(datagram, NOPAL_KIND_CONNECT)) {
		size_t extension = 21 + strlen((char *)bytes + 21) + 1 + 12;

		memmove(bytes + extension, bytes + extension + 32,
			datagram->length - extension - 32);
		memset(bytes + datagram->length - 32, 0, 32);
		check_again(datagram, theirs);
	} else if (is_kind(datagram, NOPAL_KIND_REPLY)) {
		const uint64_t key[2] = { ours, nopal_read(&id, 4) };
		uint64_t check = nopal__siphash(key, bytes + 7, datagram->length - 7);

		bytes[5] = (uint8_t)(check >> 8);
		bytes[6] = (uint8_t)check;
	}
	return true;
}

TEST(test_it_cannot_be_stripped)
{
	struct between *between = calloc(1, sizeof(*between));

	between->change = strips;
	between->other = rig_plan(PLAIN "checksum {}\na_tap {}\n");
	between_run(between, NULL);
	assert_non_null(between->rig.acceptor.endpoint);
	assert_int_equal(nopal_endpoint_counters(between->rig.acceptor.endpoint)->accepted,
			 1); /* so far it came */
	assert_int_equal(between->rig.opener.opened, 0);
	assert_int_equal(between->rig.opener.end, NOPAL_NOT_AUTHENTIC);
	assert_int_equal(between->rig.opener.delivered, 0);
	between_end(between);
}

int main(void)
{
	if (!nopal__aead_found()) {
		puts("built without libcrypto");
		return SKIP;
	}
	return tests_run();
}
