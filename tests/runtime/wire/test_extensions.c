/* SPDX-License-Identifier: MIT */
/* Offers of parts to each other while a session opens. */
#include <stdio.h>
#include <string.h>

#include "support/rig.h"
#include "support/test.h"

/* Before the offers of parts is the proof of resets. */
enum { REQUEST_TAIL = 3 + 5, PROOF = 16, ANSWER_HEAD = 8 + 4 + 4 + PROOF };

/* Offers that each side got, by opener (1) or not (0). */
static struct seen {
	uint8_t alpha[3], omega[5];
	unsigned reads, agreements;
	size_t request_length, answer_length;
	uint8_t request[1200], answer[64];
} seen[2];
static bool takes_not, agrees_not;

static struct seen *seen_by(const struct nopal_session *session)
{
	return &seen[nopal_session_is_opener(session)];
}

static void alpha_write(struct nopal_at at, uint8_t *bytes)
{
	memcpy(bytes, nopal_session_is_opener(at.session) ? "abc" : "ABC", 3);
}

static bool alpha_read(struct nopal_at at, const uint8_t *bytes)
{
	seen_by(at.session)->reads++;
	memcpy(seen_by(at.session)->alpha, bytes, 3);
	return !takes_not || nopal_session_is_opener(at.session);
}

static void omega_write(struct nopal_at at, uint8_t *bytes)
{
	memcpy(bytes, nopal_session_is_opener(at.session) ? "vwxyz" : "VWXYZ", 5);
}

static bool omega_read(struct nopal_at at, const uint8_t *bytes)
{
	memcpy(seen_by(at.session)->omega, bytes, 5);
	return true;
}

static bool omega_agreed(struct nopal_at at, const struct nopal_opening *opening)
{
	struct seen *one = seen_by(at.session);

	one->agreements++;
	one->request_length = opening->request_length;
	one->answer_length = opening->answer_length;
	assert_true(one->request_length <= sizeof(one->request));
	assert_true(one->answer_length <= sizeof(one->answer));
	memcpy(one->request, opening->request, opening->request_length);
	memcpy(one->answer, opening->answer, opening->answer_length);
	return !agrees_not || !nopal_session_is_opener(at.session);
}

static const struct nopal_role checker[] = { { "checker", false }, { 0 } };
static const struct nopal_microprotocol m_alpha = {
	.abi = NOPAL_ABI,
	.name = "m_alpha",
	.family = "check",
	.summary = "offers three bytes",
	.provides = checker,
	.extension = &(const struct nopal_extension){ 3, alpha_write, alpha_read, NULL },
};
static const struct nopal_microprotocol m_omega = {
	.abi = NOPAL_ABI,
	.name = "m_omega",
	.family = "check",
	.summary = "offers five bytes",
	.provides = checker,
	.extension = &(const struct nopal_extension){ 5, omega_write, omega_read, omega_agreed },
};

static const char CONFIG[] = "m_omega {}\nm_alpha {}\ntransport_driver {}\n"
			     "fixed_size {}\nvirtual_circuit {}\n";

static int setup(void **state)
{
	(void)state;
	memset(seen, 0, sizeof(seen));
	takes_not = agrees_not = false;
	rig_add(&m_alpha);
	rig_add(&m_omega);
	return 0;
}

EACH_TEST(setup, NULL);

TEST(test_both_sides_know_the_same)
{
	struct rig rig;

	rig_open(&rig, CONFIG, NULL);
	assert_memory_equal(seen[0].alpha, "abc", 3);
	assert_memory_equal(seen[0].omega, "vwxyz", 5);
	assert_memory_equal(seen[1].alpha, "ABC", 3);
	assert_memory_equal(seen[1].omega, "VWXYZ", 5);
	assert_memory_equal(&seen[0].request_length, &seen[1].request_length,
			    sizeof(seen[0]) - offsetof(struct seen, request_length));
	assert_int_equal(seen[0].answer_length, ANSWER_HEAD + REQUEST_TAIL);
	assert_memory_equal(seen[0].request + seen[0].request_length - REQUEST_TAIL, "abcvwxyz",
			    REQUEST_TAIL);
	assert_memory_equal(seen[0].answer + ANSWER_HEAD, "ABCVWXYZ", REQUEST_TAIL);
	rig_close(&rig);
}

/* Requests and answers that get lost come again, cookies get old: they agree once, and on the
 * same. */
TEST(test_repetitions_change_nothing)
{
	for (unsigned mask = 0; mask < 64; mask++) {
		struct rig rig;
		char link[128];

		setup(NULL);
		snprintf(link, sizeof(link),
			 "fwd: delay 10ms loss mask 0x%x rev: delay 10ms "
			 "duplicate 50%% loss mask 0x%x",
			 mask & 7, mask >> 3);
		rig_open(&rig, CONFIG, &(struct rig_options){ .link = link });
		assert_int_equal(rig.opener.opened, 1);
		assert_int_equal(seen[0].agreements, 1);
		assert_int_equal(seen[1].agreements, 1);
		assert_memory_equal(&seen[0].request_length, &seen[1].request_length,
				    sizeof(seen[0]) - offsetof(struct seen, request_length));
		rig_close(&rig);
	}
}

TEST(test_what_is_not_taken_opens_nothing)
{
	struct rig rig;

	takes_not = true;
	rig_open(&rig, CONFIG, &(struct rig_options){ .stay_closed = true });
	rig_start(&rig);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.end, NOPAL_REFUSED);
	assert_int_equal(rig.acceptor.opened, 0);
	assert_int_equal(rig.opener.opened, 0);
	assert_int_equal(rig.opener.end, NOPAL_REFUSED);
	assert_int_equal(seen[0].agreements, 0);
	rig_close(&rig);
}

/* The opener goes on asking: the right answer may still come. */
TEST(test_what_is_not_agreed_on_opens_nothing)
{
	struct rig rig;

	agrees_not = true;
	rig_open(&rig, CONFIG, &(struct rig_options){ .stay_closed = true });
	rig_start(&rig);
	assert_int_equal(rig.opener.opened, 0);
	assert_true(seen[1].agreements > 1);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_UNREACHABLE);
	assert_int_equal(rig.acceptor.end, NOPAL_UNREACHABLE);
	rig_close(&rig);
}

TEST(test_who_extensions_nothing_proves_its_resets)
{
	struct rig rig;

	rig_open(&rig, "transport_driver {}\nfixed_size {}\nvirtual_circuit {}\n", NULL);
	assert_int_equal(nopal_extensions_bytes(rig.opener.session), PROOF);
	assert_int_equal(rig.opener.opened, 1);
	rig_close(&rig);
}
