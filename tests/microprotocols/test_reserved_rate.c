/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/rig.h"
#include "support/test.h"

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nrate_cc {}\n"                                         \
	"reserved_rate { rate = 4Mbit  otherwise = 800kbit }\n"
#define SHAKING BASE "virtual_circuit {}\n"

enum {
	ALL_BPS = 4000000,
	REST_BPS = 800000,
	BURST_BYTES = 2 * 4 * 1500 /* goes at once at first */
};

/* Messages that the application has, and those that it was asked for. */
static struct authority {
	int64_t grants_bps, asked_bps;
	uint32_t asked;
	bool opened;
} authority;

static int64_t on_reserve(struct nopal_session *session, int64_t bps, void *user)
{
	struct authority *here = user;

	assert_non_null(session);
	assert_false(here->opened); /* before the application may send */
	here->asked++;
	here->asked_bps = bps;
	return here->grants_bps;
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct authority *here = user;
	uint8_t bytes[1000] = { 0 };

	here->opened = true;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(nopal_send(session, bytes, sizeof(bytes), 0), 0);
}

static const struct nopal_callbacks asked = { .reserve = on_reserve, .opened = on_opened };
static const struct nopal_callbacks silent = { .opened = on_opened };

/* Arrives in the first second at this rate, and no more. */
static void assert_rate(const char *config, int64_t grants_bps,
			const struct nopal_callbacks *callbacks, int64_t rate_bps)
{
	struct nopal_address peer;
	struct nopal_session *session;
	struct rig rig;

	authority = (struct authority){ .grants_bps = grants_bps };
	rig_open(&rig, config,
		 &(struct rig_options){ .link = "limit 100000", .stay_closed = true });
	nopal_endpoint_local(rig.acceptor.endpoint, &peer);
	session = nopal_open(rig.opener.endpoint, rig.plan, &peer, callbacks, &authority);
	assert_non_null(session);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig_shared(session, "sending_rate_bps"), rate_bps);
	assert_in_range(rig.acceptor.delivered_bytes, rate_bps / 8 - 2000,
			rate_bps / 8 + BURST_BYTES);
	rig_close(&rig);
}

TEST(test_what_is_granted_is_the_rate)
{
	assert_rate(BASE, ALL_BPS, &asked, ALL_BPS);
	assert_int_equal(authority.asked, 1);
	assert_int_equal(authority.asked_bps, ALL_BPS);
	assert_rate(SHAKING, ALL_BPS, &asked, ALL_BPS);
	assert_int_equal(authority.asked, 1);
}

TEST(test_less_than_asked_and_more)
{
	assert_rate(BASE, ALL_BPS / 2, &asked, ALL_BPS / 2);
	assert_rate(BASE, REST_BPS / 2, &asked, REST_BPS / 2);
	assert_rate(BASE, 9 * ALL_BPS, &asked, ALL_BPS);
}

TEST(test_otherwise)
{
	assert_rate(BASE, 0, &asked, REST_BPS);
	assert_int_equal(authority.asked, 1);
	assert_rate(BASE, -1, &asked, REST_BPS);
	assert_rate(BASE, 0, &silent, REST_BPS);
	assert_rate(SHAKING, 0, &silent, REST_BPS);
}

TEST(test_it_needs_who_keeps_to_it)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"reserved_rate {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "rate_mechanism"));
}
