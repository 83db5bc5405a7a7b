/* SPDX-License-Identifier: MIT */
/*
 * A guest who opens sessions and asks for nothing keeps nobody else out of `nopal serve`, and who
 * asks on many has his own share of it; what an address has unfinished is counted for it alone.
 */
#include "session/endpoint_sessions.h"
#include "support/servers.h"
#include "support/test.h"

ALL_TESTS(tests, make_folders, remove_folders);

enum { CROWD = 300, FEW_SEATS = 3 };

struct one {
	struct nopal_session *session;
	bool opened, ended;
	char text[TRANSFER_TEXT_ROOM]; /* of the ANSWER that it got */
};

static struct one crowd[CROWD];

static void one_opened(struct nopal_session *session, void *user)
{
	struct one *one = user;

	(void)session;
	one->opened = true;
}

static void one_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct one *one = user;
	struct transfer_note note;

	(void)session;
	assert_true(transfer_received(message, &note));
	if (note.type == TRANSFER_ANSWER)
		snprintf(one->text, sizeof(one->text), "%s", note.text);
}

static void one_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		      void *user)
{
	struct one *one = user;

	(void)session, (void)end, (void)text;
	one->ended = true;
}

static const struct nopal_callbacks one_callbacks = {
	.opened = one_opened,
	.received = one_received,
	.ended = one_ended,
};

/* A host with a link to the first server. */
static int new_host(void)
{
	static const struct nopal_link any = { .limit = 1000, .mtu = 1500 };
	int host = nopal_sim_host(place.world);

	nopal_sim_connect(place.world, host, 1, &any, &any);
	return host;
}

/* From so many ports of this host. */
static void open_from(int host, unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++) {
		struct nopal_endpoint *from =
			nopal_sim_endpoint(place.world, host, (uint16_t)(PORT + i));

		crowd[i].session = nopal_open(from, place.plan, &place.rows[0].address,
					      &one_callbacks, &crowd[i]);
		assert_non_null(crowd[i].session);
	}
}

static void run_for(int64_t duration_ns)
{
	place.now_ns += duration_ns;
	nopal_sim_run(place.world, place.now_ns);
}

static unsigned lasting(unsigned first, unsigned count)
{
	unsigned alive = 0;

	for (unsigned i = first; i < first + count; i++) {
		assert_true(crowd[i].opened);
		alive += !crowd[i].ended;
	}
	return alive;
}

static int setup(void **state)
{
	(void)state;
	memset(crowd, 0, sizeof(crowd));
	open_place();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close_place();
	return 0;
}

EACH_TEST(setup, teardown);

/* ----------------------------------------------------------------- waiting */

TEST(test_openings_of_one_address_keep_nobody_out)
{
	open_from(new_host(), 0, 64);
	run_for(NOPAL_SECOND);
	assert_int_equal(lasting(0, 64), GUESTS_WAIT_EACH);
	assert_false(crowd[63].ended); /* the last ones stay */
	servers_begin(0, 1);
	run_to_the_end();
	assert_int_equal(place.rows[0].state, TABLE_SHARE);
}

TEST(test_openings_of_many_addresses_keep_nobody_out)
{
	unsigned hosts = GUESTS_WAIT_ALL / GUESTS_WAIT_EACH + 4;

	for (unsigned i = 0; i < hosts; i++)
		open_from(new_host(), i * GUESTS_WAIT_EACH, GUESTS_WAIT_EACH);
	run_for(NOPAL_SECOND);
	assert_int_equal(lasting(0, hosts * GUESTS_WAIT_EACH), GUESTS_WAIT_ALL);
	servers_begin(0, 1);
	run_to_the_end();
	assert_int_equal(place.rows[0].state, TABLE_SHARE);
}

/* ------------------------------------------------------------------- seats */

static void ask(struct one *one)
{
	const struct transfer_note note = { .type = TRANSFER_ASK, .text = "none" };
	uint8_t bytes[TRANSFER_NOTE_LONGEST];

	assert_int_equal(nopal_send(one->session, bytes, transfer_encode(&note, bytes), 0), 0);
}

TEST(test_who_asks_for_too_much_is_told)
{
	place.serve[0].house.seats_each = FEW_SEATS;
	open_from(new_host(), 0, FEW_SEATS + 1);
	run_for(NOPAL_SECOND);
	for (unsigned i = 0; i <= FEW_SEATS; i++)
		ask(&crowd[i]);
	run_for(NOPAL_SECOND);
	for (unsigned i = 0; i < FEW_SEATS; i++)
		assert_null(strstr(crowd[i].text, "too many"));
	assert_non_null(strstr(crowd[FEW_SEATS].text, "too many sessions: 3 are here"));
	/* a seat that is left is another's */
	nopal_session_abort(crowd[0].session, "gone");
	run_for(NOPAL_SECOND);
	ask(&crowd[FEW_SEATS]);
	run_for(NOPAL_SECOND);
	assert_null(strstr(crowd[FEW_SEATS].text, "too many"));
	servers_begin(0, 1);
	run_to_the_end();
	assert_int_equal(place.rows[0].state, TABLE_SHARE);
}

/* ------------------------------------------------------------------- bytes */

TEST_WITH(NULL, NULL, test_bytes_are_counted_by_address)
{
	const struct guests_key a = { { 1 } }, b = { { 2 } };
	struct guests_house house;
	char why[GUESTS_WHY_ROOM];

	guests_house_init(&house, 1, 1000);
	assert_true(guests_claim(&house, &a, 1000, why));
	assert_false(guests_claim(&house, &a, 1, why));
	assert_non_null(strstr(why, "too many unfinished bytes"));
	assert_true(guests_claim(&house, &b, 1, why));
	assert_false(guests_claim(&house, &b, UINT64_MAX, why));
	guests_release(&house, &a, 400);
	assert_true(guests_claim(&house, &a, 400, why));
	/* what is there counts, though it is more than may be */
	assert_true(guests_claim(&house, &a, 5000, NULL));
	assert_false(guests_claim(&house, &a, 0, why));
	guests_release(&house, &a, 5001);
	assert_true(guests_claim(&house, &a, 1, why));
	guests_release(&house, &a, UINT64_MAX);
	guests_release(&house, &b, 1);
	assert_null(house.accounts);
	guests_house_fini(&house);
}
