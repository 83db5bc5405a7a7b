/* SPDX-License-Identifier: MIT */
/*
 * test_recv_claim -- what one address may have at `nopal recv`: sessions that wait, sessions with a
 * seat, and unfinished bytes.
 */
#include <fcntl.h>
#include <unistd.h>

#include "session/endpoint_sessions.h"
#include "support/receiving.h"
#include "support/test.h"

EACH_TEST(scene_open, scene_close);

static struct nopal_session *scene_open_from(struct scene *scene, const char *from)
{
	struct receiver *receiver = scene->group.receivers;
	struct nopal_address local, to;
	struct nopal_problems problems = { 0 };
	struct nopal_endpoint *endpoint;

	nopal_endpoint_local(receiver->endpoint, &to);
	assert_int_equal(nopal_address_parse(from, &local, &problems), 0);
	endpoint = nopal_endpoint_open(loop_world(receiver->loop), &local, &problems);
	assert_non_null(endpoint);
	return nopal_open(endpoint, scene->group.plan, &to, &scene_callbacks, scene);
}

static unsigned scene_seated(const struct scene *scene, bool seated)
{
	unsigned count = 0;

	for (const struct guest *at = scene->group.receivers->guests.newest; at; at = at->older)
		count += at->seated == seated;
	return count;
}

/* They open and ask for nothing. */
TEST(test_sessions_that_only_open_keep_nobody_out)
{
	enum { OPENINGS = 64 };
	struct scene *scene = *state;

	for (unsigned i = 0; i < OPENINGS; i++)
		assert_non_null(scene_open_from(scene, "127.0.0.2:0"));
	scene_look(scene);
	assert_int_equal(scene_seated(scene, false), GUESTS_WAIT_EACH);
	scene_takes(scene, 0, all_and_start);
	assert_int_equal(scene_seated(scene, true), 1);
}

/* Of one address: the others have theirs. */
TEST(test_an_address_has_so_many_seats)
{
	enum { SEATS = 2 };
	struct scene *scene = *state;

	scene->group.house.seats_each = SEATS;
	for (unsigned i = 0; i <= SEATS; i++) {
		scene->session = scene_open_from(scene, "127.0.0.2:0");
		scene_offer_with(scene, scene_offer_of((char[]){ (char)('a' + i), 0 }));
		assert_int_equal(scene->heard.verdict, i < SEATS ? TRANSFER_YES : TRANSFER_NO);
	}
	assert_non_null(strstr(scene->heard.text, "too many sessions"));
	scene_takes(scene, 0, all_and_start);
	assert_int_equal(scene_seated(scene, true), SEATS + 1);
}

/* An offer claims its length of its address, and gives it back. */
TEST(test_an_address_has_so_many_unfinished_bytes)
{
	struct scene *scene = *state;
	struct transfer_note offer = scene_offer();

	scene->group.house.bytes_each = FILE_BYTES;
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	scene_offer_with(scene, offer);
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
	offer = scene_offer_of("g");
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	scene_offer_with(scene, offer);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	assert_non_null(strstr(scene->heard.text, "g: too many unfinished"));
	assert_non_null(strstr(scene->heard.text, "--peer-bytes"));
	/* another address, another claim */
	scene->session = scene_open_from(scene, "127.0.0.3:0");
	scene_offer_with(scene, offer);
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
}

/* The rest of a file whose sender has gone is its address's. */
TEST(test_what_stays_is_counted)
{
	static const struct step half[] = {
		{ TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 0, HALF_BYTES },
	};
	struct scene *scene = *state;
	struct transfer_note offer = scene_offer();

	scene->group.house.bytes_each = FILE_BYTES + HALF_BYTES / 2;
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	scene_offer_with(scene, offer);
	scene_say(scene, &half[0]);
	scene_say(scene, &half[1]);
	scene_look(scene);
	nopal_session_abort(scene->session, "gone");
	scene_look(scene);
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	offer = scene_offer_of("g");
	scene_offer_with(scene, offer);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	/* with the file itself it goes on, whoever sends it */
	scene->group.house.bytes_each = FILE_BYTES;
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	scene_offer_with(scene, scene_offer());
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
	assert_int_equal(scene->heard.offset, HALF_BYTES);
}

/* Its peer lives, and says no more. */
TEST(test_an_offer_without_data_expires)
{
	static const struct step start = { TRANSFER_START, 0, 0 };
	struct scene *scene = *state;

	scene_offers(scene, 0);
	scene_say(scene, &start);
	scene_look(scene);
	recv_session_ping(scene->group.receivers);
	scene_look(scene);
	assert_int_equal(scene->heard.type, TRANSFER_ANSWER);
	scene->group.receivers->incomings->answered_ns -= 3600 * NOPAL_SECOND;
	recv_session_ping(scene->group.receivers);
	scene_wait(scene, TRANSFER_RESULT);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	assert_non_null(strstr(scene->heard.text, "nothing of it came"));
	assert_int_equal(faccessat(scene->group.folder.fd, ".f.nopal-part", F_OK, 0), -1);
	assert_null(scene->group.receivers->incomings->part);
}
