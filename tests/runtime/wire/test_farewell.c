/* SPDX-License-Identifier: MIT */
/* A session that breaks tells its peer why. */
#include <string.h>

#include "wire/wire.h"
#include "aead_crypto.h"
#include "support/rig.h"
#include "support/test.h"

#define CIRCUIT "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n"

enum { ABORT_HEAD = 1 + NOPAL_ID_BYTES, SAID_MAX = 132, RESET = 21 };

static struct rig rig;

/* Datagrams that left from one side, and how many were aborts or resets. */
static struct {
	struct nopal_address from;
	uint32_t aborts, resets;
	uint8_t last[256];
	size_t length;
} seen;

static void note(void *user, int64_t now_ns, const struct nopal_address *from,
		 const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	uint8_t kind;

	(void)user, (void)now_ns, (void)to;
	if (!nopal_address_equal(from, &seen.from) || !nopal__first_byte_parse(bytes[0], &kind))
		return;
	seen.aborts += kind == NOPAL_KIND_ABORT;
	seen.resets += kind == NOPAL_KIND_RESET;
	if (kind != NOPAL_KIND_ABORT || length > sizeof(seen.last))
		return;
	memcpy(seen.last, bytes, length);
	seen.length = length;
}

/* A pair that know each other; the acceptor's side is watched. */
static void begin(const char *config)
{
	rig_begin(&rig, config);
	memset(&seen, 0, sizeof(seen));
	nopal_endpoint_local(rig.acceptor.endpoint, &seen.from);
	nopal_sim_tap(rig.world, note, NULL);
}

static void breaks(struct rig_side *side, enum nopal_end end, const char *text)
{
	rig_awake(side->session);
	nopal_batch_start(rig.world);
	nopal_session_break(side->session, end, text);
	nopal_batch_stop(rig.world);
}

static void told(const char *config)
{
	begin(config);
	breaks(&rig.acceptor, NOPAL_RESOURCE, "no room for it");
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.end, NOPAL_RESOURCE);
	assert_string_equal(rig.acceptor.end_text, "no room for it");
	assert_int_equal(rig.opener.end, NOPAL_RESOURCE);
	assert_string_equal(rig.opener.end_text, "the session broke at the peer: no room for it");
	assert_int_equal(seen.aborts, 1);
	rig_close(&rig);
}

TEST(test_both_ends_have_the_same_reason)
{
	told(CIRCUIT);
	told(CIRCUIT "checksum {}\n");
	told("layer \"a\" {\n transport_driver {}\n fixed_size {}\n"
	     " sequenced_messages {}\n}\nlayer \"b\" {\n" CIRCUIT "}\n");
	if (nopal__aead_found())
		told(CIRCUIT "aead {}\n");
}

TEST(test_who_breaks_first_is_not_answered)
{
	begin(CIRCUIT);
	breaks(&rig.opener, NOPAL_GAVE_UP, "first");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.end, NOPAL_GAVE_UP);
	assert_int_equal(seen.aborts, 0);
	rig_close(&rig);
}

TEST(test_a_good_end_is_no_abort)
{
	begin(CIRCUIT);
	nopal_session_close(rig.acceptor.session);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended + rig.acceptor.ended, 2);
	assert_int_equal(seen.aborts + seen.resets, 0);
	rig_close(&rig);
}

/* ---------------------------------------------------------------- what gets lost */

static void loses_the_abort(const char *config)
{
	begin(config);
	rig_change_both(&rig, "loss 100%");
	breaks(&rig.acceptor, NOPAL_RESOURCE, "lost");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 0);
	rig_change_both(&rig, "delay 10ms");
}

TEST(test_a_lost_abort_comes_again)
{
	loses_the_abort(CIRCUIT "checksum {}\n");
	rig_send_bytes(&rig, 100);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.end, NOPAL_RESOURCE);
	assert_string_equal(rig.opener.end_text, "the session broke at the peer: lost");
	assert_int_equal(seen.aborts, 2);
	assert_int_equal(seen.resets, 0);
	rig_close(&rig);
}

/* An abort that is no shorter than what asks for it is none; a reset may be. */
TEST(test_nothing_is_answered_by_as_much)
{
	begin(CIRCUIT);
	rig_change_both(&rig, "loss 100%");
	breaks(&rig.acceptor, NOPAL_RESOURCE, "a reason of many words");
	rig_change_both(&rig, "delay 10ms");
	rig_send_bytes(&rig, ABORT_HEAD + 1 + 22 - ABORT_HEAD);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(seen.aborts, 1);
	assert_int_equal(seen.resets, 1);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	rig_close(&rig);
}

TEST(test_only_the_peer_has_it_repeated)
{
	struct nopal_address stranger;
	uint8_t data[100] = { 0 };
	struct nopal_writer writer = nopal_writer_over(data, sizeof(data));

	loses_the_abort(CIRCUIT);
	nopal_endpoint_local(rig.opener.endpoint, &stranger);
	stranger.port++;
	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_DATA), 1);
	nopal_write(&writer, nopal_session_peer_id(rig.opener.session), NOPAL_ID_BYTES);
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &stranger, data, sizeof(data));
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(seen.aborts, 1);
	rig_close(&rig);
}

/* -------------------------------------------------------------------- what is said */

TEST(test_a_long_reason_is_cut)
{
	char text[1000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	begin(CIRCUIT);
	breaks(&rig.acceptor, NOPAL_RESOURCE, text);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(seen.length, ABORT_HEAD + 1 + SAID_MAX);
	assert_int_equal(rig.opener.end, NOPAL_RESOURCE);
	assert_int_equal(strspn(strrchr(rig.opener.end_text, ' ') + 1, "x"), SAID_MAX);
	rig_close(&rig);
}

/* An abort for the opener with this body, from its peer. */
static void give(const uint8_t *body, size_t length)
{
	uint8_t bytes[1400];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	struct nopal_address peer;

	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_ABORT), 1);
	nopal_write(&writer, nopal_session_id(rig.opener.session), NOPAL_ID_BYTES);
	nopal_write_bytes(&writer, body, length);
	nopal_sim_inject(rig.world, rig.opener.endpoint, &peer, bytes, nopal_written(&writer));
	rig_run(&rig, NOPAL_MILLISECOND);
}

TEST(test_what_is_no_reason_ends_nothing)
{
	uint8_t body[1 + SAID_MAX + 1];

	memset(body, 'x', sizeof(body));
	begin(CIRCUIT);
	give(body, 0);
	for (unsigned end = 0; end <= UINT8_MAX; end++) {
		body[0] = (uint8_t)end;
		if (end == NOPAL_ENDED_WELL || end > NOPAL_ENDS_LAST)
			give(body, 10);
	}
	body[0] = NOPAL_ABORTED;
	give(body, sizeof(body));
	assert_int_equal(rig.opener.ended, 0);
	assert_int_equal(nopal_session_counters(rig.opener.session)->rx_malformed,
			 1 + UINT8_MAX + 1 - NOPAL_ENDS_LAST + 1);
	body[1] = '\n';
	body[2] = 0xff;
	give(body, 4);
	assert_int_equal(rig.opener.end, NOPAL_ABORTED);
	assert_string_equal(rig.opener.end_text, "the peer aborted: ?\?x");
	rig_close(&rig);
}
