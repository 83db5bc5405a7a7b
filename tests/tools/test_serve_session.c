/* SPDX-License-Identifier: MIT */
/*
 * test_serve_session -- clients of `nopal serve` that ask for what is not theirs, say notes out of
 * order, or say too many: each loses its own session at most, and who fetches beside it gets the
 * file.
 */
#include "support/servers.h"
#include "support/test.h"

ALL_TESTS(tests, make_folders, remove_folders);

enum { FILE_NUMBER = 7, WANTS = 3000, ASKS = 1000 };

/* Of the first server. */
static struct client {
	struct nopal_session *session;
	bool ended;
	char text[256]; /* why */
	unsigned answers, ends, data;
	struct transfer_note answer; /* the last one */
} client;

static void client_on_received(struct nopal_session *session, struct nopal_message *message,
			       void *user)
{
	struct transfer_note note;

	(void)session;
	(void)user;
	assert_true(transfer_received(message, &note));
	client.data += note.type == TRANSFER_DATA;
	client.ends += note.type == TRANSFER_END;
	if (note.type != TRANSFER_ANSWER)
		return;
	client.answers++;
	client.answer = note;
}

static void client_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			    void *user)
{
	(void)session;
	(void)end;
	(void)user;
	client.ended = true;
	snprintf(client.text, sizeof(client.text), "%s", text);
}

static const struct nopal_callbacks client_callbacks = {
	.received = client_on_received,
	.ended = client_on_ended,
};

static void pass(int64_t duration_ns)
{
	run_until(place.now_ns + duration_ns);
}

/* False: the session takes no more now, or has gone. */
static bool say(const struct transfer_note *note)
{
	uint8_t buffer[TRANSFER_NOTE_LONGEST];

	return !client.ended &&
	       nopal_send(client.session, buffer, transfer_encode(note, buffer), 0) == 0;
}

static void ask(const char *name)
{
	struct transfer_note note = { .type = TRANSFER_ASK, .file = FILE_NUMBER };

	snprintf(note.text, sizeof(note.text), "%s", name);
	assert_true(say(&note));
	pass(NOPAL_SECOND);
}

static int setup(void **state)
{
	(void)state;
	open_place();
	memset(&client, 0, sizeof(client));
	client.session = nopal_open(nopal_sim_endpoint(place.world, 0, PORT + 1), place.plan,
				    &place.rows[0].address, &client_callbacks, NULL);
	assert_non_null(client.session);
	pass(NOPAL_SECOND);
	return 0;
}

/* Whatever was said, the file is there for who fetches it from this very server. */
static int teardown(void **state)
{
	(void)state;
	servers_begin(0, 1);
	run_to_the_end();
	assert_int_equal(place.rows[0].state, TABLE_SHARE);
	close_place();
	return 0;
}

EACH_TEST(setup, teardown);

static void client_lost(const char *why)
{
	assert_true(client.ended);
	assert_non_null(strstr(client.text, why));
}

/* ---------------------------------------------------------------------- what it asks */

TEST(test_names_that_lead_elsewhere_are_refused)
{
	static char longest[TRANSFER_TEXT_LONGEST + 1];
	static const char *const names[] = {
		"",	  "..",	   "../film.mkv", "/etc/passwd",   "films/../../f", "films//f",
		"films/", "films", ".hidden",	  "films/\033[2J", "none",	    longest
	};

	memset(longest, 'x', TRANSFER_TEXT_LONGEST);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask(names[i]);
		assert_int_equal(client.answers, i + 1);
		assert_int_equal(client.answer.verdict, TRANSFER_NO);
		assert_true(client.answer.text[0] != '\0');
	}
	assert_int_equal(client.ends, 0);
	ask(NAME); /* and the same session has what there is */
	assert_int_equal(client.ends, 1);
	assert_false(client.ended);
}

TEST(test_notes_out_of_order_are_passed_over)
{
	static const enum transfer_type early[] = { TRANSFER_WANT, TRANSFER_LIST,  TRANSFER_START,
						    TRANSFER_END,  TRANSFER_DATA,  TRANSFER_SHARE,
						    TRANSFER_HELD, TRANSFER_HASHES };

	for (unsigned i = 0; i < 2 * sizeof(early) / sizeof(early[0]); i++) {
		struct transfer_note note = {
			.type = early[i / 2],
			.file = i % 2 * FILE_NUMBER,
			.size = 1,
		};

		assert_true(say(&note));
	}
	pass(NOPAL_SECOND);
	assert_int_equal(client.data, 0);
	assert_false(client.ended);
	ask(NAME);
	assert_int_equal(client.ends, 1);
}

/* ----------------------------------------------------------------------- too many */

/* As long as they fit, they are given; then the ring of them is full. */
TEST(test_more_wants_than_may_wait_end_the_session)
{
	const struct transfer_note want = { .type = TRANSFER_WANT,
					    .file = FILE_NUMBER,
					    .size = FILE_BLOCK_MIN };

	ask(NAME);
	for (unsigned i = 0; i < WANTS; i++)
		assert_true(say(&want));
	pass(30 * NOPAL_SECOND);
	client_lost("it wants bytes that are not in the file");
}

/* An answer to each, or an end: nothing is kept of them. */
TEST(test_a_flood_of_questions_is_answered_or_ended)
{
	struct transfer_note note = { .type = TRANSFER_ASK, .file = FILE_NUMBER, .text = "none" };

	for (unsigned i = 0; i < ASKS && say(&note); i++)
		snprintf(note.text, sizeof(note.text), i % 2 ? NAME : "none");
	pass(30 * NOPAL_SECOND);
	assert_true(client.ended || client.answers >= ASKS / 2);
}

TEST(test_who_speaks_another_protocol_is_told)
{
	assert_int_equal(nopal_send(client.session, "GET / HTTP/1.1\r\n", 16, 0), 0);
	pass(NOPAL_SECOND);
	client_lost(TRANSFER_STRANGER);
}
