/* SPDX-License-Identifier: MIT */
/*
 * test_fetch_strangers -- servers that say what none of ours would, and clients that want what
 * there is not.
 */
#include "support/servers.h"
#include "support/talker.h"
#include "support/test.h"

ALL_TESTS(tests, make_folders, remove_folders);

enum { ROUNDS = 20, CLIENTS = 4 };

/* Notes that no server of ours says. */
static struct stranger {
	struct nopal_session *session;
	void (*answer)(const struct transfer_note *note);
} stranger;

static void say(const struct transfer_note *note, size_t more)
{
	uint8_t buffer[TRANSFER_NOTE_LONGEST + FILE_BLOCK_MIN + 1] = { 0 };
	size_t length = transfer_encode(note, buffer);

	assert_true(more <= FILE_BLOCK_MIN + 1);

	nopal_send(stranger.session, buffer, length + more, 0);
}

static void *stranger_on_accepted(struct nopal_session *session, void *user)
{
	stranger.session = session;
	return user;
}

static void stranger_on_received(struct nopal_session *session, struct nopal_message *message,
				 void *user)
{
	struct transfer_note note;

	(void)session;
	(void)user;
	assert_true(transfer_received(message, &note));
	stranger.answer(&note);
}

static const struct nopal_callbacks stranger_callbacks = {
	.accepted = stranger_on_accepted,
	.received = stranger_on_received,
};

/* The list that was asked for, but for so many hashes more or fewer, and the last of them changed
 * by so much. */
static void say_list(const struct transfer_note *list, int more, uint64_t change)
{
	static uint64_t hashes[TRANSFER_HASHES_MAX + 1];
	struct transfer_note right = *list;
	struct file_blocks blocks;

	list_of(bytes, &blocks);
	memcpy(hashes, blocks.hashes, blocks.count * sizeof(hashes[0]));
	file_blocks_fini(&blocks);
	right.size = (uint64_t)((int64_t)list->size + more);
	hashes[list->size - 1] += change;
	assert_int_equal(transfer_send_hashes(stranger.session, &right, hashes), 0);
}

/* How what it sends differs from what it was asked for. */
static struct {
	uint64_t offset;
	int64_t length;
} differs;

/* Says that it has the file, and sends other parts than it is asked for. */
static void answer_elsewhere(const struct transfer_note *note)
{
	struct transfer_note offer = { .type = TRANSFER_OFFER, .file = note->file, .size = SIZE };
	struct transfer_note end = {
		.type = TRANSFER_END, .file = note->file, .size = SIZE, .hash = root_of(bytes)
	};
	struct transfer_note data = { .type = TRANSFER_DATA,
				      .file = note->file,
				      .offset = note->offset + differs.offset };

	if (note->type == TRANSFER_ASK) {
		snprintf(offer.text, sizeof(offer.text), "%s", note->text);
		offer.id = transfer_id(offer.text, SIZE, 0);
		say(&offer, 0);
		say(&end, 0);
	} else if (note->type == TRANSFER_LIST) {
		say_list(note, 0, 0);
	} else if (note->type == TRANSFER_WANT) {
		say(&data, (size_t)((int64_t)note->size + differs.length));
	}
}

static void answer_nonsense(const struct transfer_note *note)
{
	static const uint8_t nonsense[] = { 99, 1, 2, 3 };

	(void)note;
	nopal_send(stranger.session, nonsense, sizeof(nonsense), 0);
}

/* In place of server i, and later than the others. */
static void stranger_late_at(unsigned i, const struct nopal_callbacks *callbacks, int64_t late_ns)
{
	const struct nopal_link there = { .limit = 1000, .mtu = 1500 };
	struct nopal_link back = there;
	int host = nopal_sim_host(place.world);

	back.delay_ns = late_ns;
	nopal_sim_connect(place.world, 0, host, &there, &back);
	nopal_sim_address(host, PORT, &place.rows[i].address);
	assert_int_equal(nopal_endpoint_allow(nopal_sim_endpoint(place.world, host, PORT),
					      place.plan, 0, callbacks, NULL),
			 0);
}

static void stranger_at(unsigned i, const struct nopal_callbacks *callbacks)
{
	stranger_late_at(i, callbacks, 500 * NOPAL_MILLISECOND);
}

static void with_stranger(void (*answer)(const struct transfer_note *note), const char *why)
{
	open_place();
	stranger.answer = answer;
	stranger_at(1, &stranger_callbacks);
	servers_begin(0, 3);
	run_to_the_end();
	assert_int_equal(place.rows[1].state, TABLE_FAILED);
	assert_non_null(strstr(place.rows[1].why, why));
	assert_int_equal(place.rows[1].bytes, 0);
	close_place();
}

TEST(test_parts_of_another_length_or_place_are_left_out)
{
	static const struct {
		uint64_t offset;
		int64_t length;
	} ways[] = { { 1, 0 },	  { 0, 1 },	     { 0, -1 },
		     { SIZE, 0 }, { UINT64_MAX, 0 }, { 0, -FILE_BLOCK_MIN } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		differs.offset = ways[i].offset;
		differs.length = ways[i].length;
		with_stranger(answer_elsewhere, "not asked for");
	}
}

TEST(test_strangers_are_left_out)
{
	with_stranger(answer_nonsense, "no file protocol");
}

/* A client that wants what there is not ends its own session, and no other. */
static int ended;

static void rude_on_opened(struct nopal_session *session, void *user)
{
	struct transfer_note ask = { .type = TRANSFER_ASK, .file = 7 };

	(void)user;
	stranger.session = session;
	snprintf(ask.text, sizeof(ask.text), NAME);
	say(&ask, 0);
}

static void rude_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct transfer_note want = {
		.type = TRANSFER_WANT, .file = 7, .offset = *(uint64_t *)user, .size = 1000
	};
	struct transfer_note note;

	(void)session;
	assert_true(transfer_received(message, &note));
	if (note.type == TRANSFER_END)
		say(&want, 0);
}

static void rude_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	(void)session;
	(void)text;
	(void)user;
	ended = (int)end;
}

static const struct nopal_callbacks rude_callbacks = {
	.opened = rude_on_opened,
	.received = rude_on_received,
	.ended = rude_on_ended,
};

TEST(test_wants_beyond_the_file_end_the_session)
{
	static uint64_t offsets[] = { SIZE, SIZE - 999, UINT64_MAX - 5 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		open_place();
		ended = NOPAL_ENDED_WELL;
		servers_begin(0, 3);
		assert_non_null(nopal_open(nopal_sim_endpoint(place.world, 0, PORT + 1), place.plan,
					   &place.rows[0].address, &rude_callbacks, &offsets[i]));
		run_to_the_end();
		assert_int_not_equal(ended, NOPAL_ENDED_WELL);
		close_place();
	}
}

static void greedy_on_received(struct nopal_session *session, struct nopal_message *message,
			       void *user)
{
	const struct range *asked = user;
	struct transfer_note list = {
		.type = TRANSFER_LIST, .file = 7, .offset = asked->from, .size = asked->end
	};
	struct transfer_note note;

	(void)session;
	assert_true(transfer_received(message, &note));
	if (note.type == TRANSFER_END)
		say(&list, 0);
}

static const struct nopal_callbacks greedy_callbacks = {
	.opened = rude_on_opened,
	.received = greedy_on_received,
	.ended = rude_on_ended,
};

/* 184 there are. */
TEST(test_hashes_beyond_the_last_end_the_session)
{
	static struct range asked[] = { { 0, 185 },	   { 183, 2 },
					{ 184, 1 },	   { 0, TRANSFER_HASHES_MAX },
					{ UINT64_MAX, 1 }, { UINT64_MAX - 3, 4 },
					{ 0, UINT64_MAX } };

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		open_place();
		ended = NOPAL_ENDED_WELL;
		servers_begin(0, 3);
		assert_non_null(nopal_open(nopal_sim_endpoint(place.world, 0, PORT + 1), place.plan,
					   &place.rows[0].address, &greedy_callbacks, &asked[i]));
		run_to_the_end();
		assert_int_not_equal(ended, NOPAL_ENDED_WELL);
		close_place();
	}
}

/* ----------------------------------------------------------------- other versions */

static char answer[TRANSFER_TEXT_ROOM];

/* `nopal fetch` as it was before there were lists. */
static void older_on_opened(struct nopal_session *session, void *user)
{
	static const uint8_t ask[] = { TRANSFER_ASK, 0, 0, 0, 7, 1, 0, 4, 'f', 'i', 'l', 'e' };

	(void)user;
	nopal_send(session, ask, sizeof(ask), 0);
}

static void older_on_received(struct nopal_session *session, struct nopal_message *message,
			      void *user)
{
	struct transfer_note note;

	(void)user;
	assert_true(transfer_received(message, &note));
	assert_int_equal(note.type, TRANSFER_ANSWER);
	assert_int_equal(note.verdict, TRANSFER_NO);
	assert_int_equal(note.file, 7);
	snprintf(answer, sizeof(answer), "%s", note.text);
	nopal_session_close(session);
}

static const struct nopal_callbacks older_callbacks = {
	.opened = older_on_opened,
	.received = older_on_received,
};

TEST(test_who_asks_in_another_version_is_told)
{
	open_place();
	servers_begin(0, 3);
	assert_non_null(nopal_open(nopal_sim_endpoint(place.world, 0, PORT + 1), place.plan,
				   &place.rows[0].address, &older_callbacks, NULL));
	run_to_the_end();
	assert_non_null(strstr(answer, "version 2"));
	assert_non_null(strstr(answer, "in version 1"));
	assert_non_null(strstr(answer, "fix: "));
	close_place();
}

/* `nopal serve` as it was before there were lists. */
static void answer_older(const struct transfer_note *note)
{
	if (note->type == TRANSFER_ASK)
		nopal_session_abort(stranger.session, TRANSFER_STRANGER);
}

TEST(test_a_server_of_another_version_is_told)
{
	open_place();
	stranger.answer = answer_older;
	stranger_late_at(1, &stranger_callbacks, 0);
	servers_begin(1, 1);
	run_until(60 * NOPAL_SECOND);
	assert_int_equal(place.closed, 1);
	assert_string_equal(place.why, "no server gives it");
	assert_int_equal(place.rows[1].state, TABLE_REFUSED);
	assert_non_null(strstr(place.rows[1].why, "aborts the session"));
	assert_non_null(strstr(place.rows[1].fix, "the same nopal"));
	close_place();
}

/* ------------------------------------------------------------------------- lists */

static struct announced {
	uint64_t size, root;
	int more;	 /* hashes than were asked for */
	uint64_t change; /* of the last of them */
	uint64_t elsewhere;
	bool silent;
} announced;

/* Announces a file before the others do, and what it likes as its list. */
static void answer_list(const struct transfer_note *note)
{
	struct transfer_note said = { .type = TRANSFER_OFFER,
				      .file = note->file,
				      .size = announced.size };
	struct transfer_note list = *note;

	if (note->type == TRANSFER_ASK) {
		snprintf(said.text, sizeof(said.text), "%s", note->text);
		said.id = transfer_id(said.text, said.size, 0);
		say(&said, 0);
		said.type = TRANSFER_END;
		said.hash = announced.root;
		say(&said, 0);
	} else if (note->type == TRANSFER_LIST && !announced.silent) {
		list.offset += announced.elsewhere;
		if (list.size > 100)
			list.size = 100;
		say_list(&list, announced.more, announced.change);
	}
}

/* The others come so late that it is believed at first. */
static void with_announced(struct announced is, enum table_state state, const char *why)
{
	announced = is;
	open_place();
	stranger.answer = answer_list;
	stranger_late_at(1, &stranger_callbacks, 0);
	set_link(0, DEAD_LINK);
	set_link(2, DEAD_LINK);
	servers_begin(0, 3);
	run_until(1500 * NOPAL_MILLISECOND);
	set_link(0, links[0]);
	set_link(2, links[2]);
	run_to_the_end();
	assert_int_equal(place.rows[1].state, state);
	assert_non_null(strstr(place.rows[1].why, why));
	assert_int_equal(place.rows[1].bytes, 0);
	close_place();
}

TEST(test_lists_are_those_of_their_root)
{
	static const uint64_t max = (uint64_t)FILE_BLOCKS_MAX * FILE_BLOCK_MAX;
	const struct announced right = { .size = SIZE, .root = root_of(bytes) };
	struct announced is = right;

	is.size = 100 * FILE_BLOCK_MIN; /* of another file, and whole */
	with_announced(is, TABLE_FAILED, "does not belong to the hash");
	is.change = 1;
	with_announced(is, TABLE_FAILED, "does not belong to the hash");
	is.size = 0; /* nothing to list, and yet a root */
	with_announced(is, TABLE_FAILED, "does not belong to the hash");
	is = right; /* 100 where 184 were asked for */
	with_announced(is, TABLE_FAILED, "other hashes than");
	is.more = 1;
	with_announced(is, TABLE_FAILED, "other hashes than");
	is = right; /* as many as were asked for, and others */
	is.size = 100 * FILE_BLOCK_MIN;
	is.elsewhere = 1;
	with_announced(is, TABLE_FAILED, "other hashes than");
	is = right;
	is.silent = true;
	with_announced(is, TABLE_FAILED, "does not give its list");
	is = right; /* 8 million hashes, and only a hundred of them */
	is.size = max;
	with_announced(is, TABLE_FAILED, "other hashes than");
	is.size = max + 1;
	with_announced(is, TABLE_REFUSED, "longer than 2 TiB");
	is.size = INT64_MAX;
	with_announced(is, TABLE_REFUSED, "longer than 2 TiB");
	is.size = UINT64_MAX; /* no file can be so long */
	with_announced(is, TABLE_FAILED, "no file protocol");
}

/* ------------------------------------------------------------------- anything */

static const char *const names[] = {
	NAME, "films/\033[2J", "../films/film.mkv", "/etc/passwd", "films", "", "films//film.mkv",
	NULL,
};
static struct talker talker;

static void on_anything(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct transfer_note note = { .file = 1 };

	(void)user;
	transfer_received(message, &note);
	for (uint64_t i = talker_draw(&talker, 4); i > 0; i--)
		talker_says(&talker, session, note.file);
}

static void anything_on_opened(struct nopal_session *session, void *user)
{
	struct transfer_note ask = { .type = TRANSFER_ASK, .file = 1 };

	(void)user;
	stranger.session = session;
	snprintf(ask.text, sizeof(ask.text), NAME);
	say(&ask, 0);
	for (int i = 0; i < 50; i++)
		talker_says(&talker, session, 1);
}

static const struct nopal_callbacks anything_callbacks = {
	.opened = anything_on_opened,
	.received = on_anything,
};
static const struct nopal_callbacks anything_server_callbacks = {
	.received = on_anything,
};

/* A server and some clients say what comes to their minds: the file comes all the same, from the
 * others, and to who fetches it. */
TEST(test_whatever_they_say)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		talker = (struct talker){ .seed = round,
					  .size = SIZE,
					  .hash = root_of(bytes),
					  .names = names,
					  .max_bytes = 64,
					  .nonsense = 16 };
		open_place();
		stranger_at(1, &anything_server_callbacks);
		servers_begin(0, 3);
		for (uint16_t i = 0; i < CLIENTS; i++)
			nopal_open(nopal_sim_endpoint(place.world, 0, PORT + 1 + i), place.plan,
				   &place.rows[2 * (i % 2)].address, &anything_callbacks, NULL);
		run_to_the_end();
		close_place();
	}
}
