/* SPDX-License-Identifier: MIT */
/*
 * test_recv_strangers -- senders that say what none of ours would, to `nopal recv`: an honest one
 * gets its file across, byte for byte, and nothing is written but what the folder is for.
 *
 * The sessions are those of recv_session.c, in virtual time; the loop runs what they do to the
 * disk.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "session/endpoint_sessions.h"
#include "file/file_hash.h"
#include <nopal/microprotocol.h>
#include "transfer/recv_session.h"
#include "support/talker.h"
#include "support/test.h"

enum {
	SIZE = 100000,
	CHUNK = 20000,
	LIMIT = 4 * SIZE, /* of a file that is taken */
	STRANGERS = 4,
	ROUNDS = 30,
	NOTES = 40, /* that a stranger says at once, at most */
	PORT = 9000,
};
#define STEP_NS	   (5 * NOPAL_MILLISECOND)
#define QUIET_NS   (3 * NOPAL_SECOND) /* from then on strangers say no more */
#define LONGEST_NS (300 * NOPAL_SECOND)
#define NAME	   "honest"

static const char *const names[] = {
	NAME,
	"other",
	"..",
	"../outside",
	"/tmp/outside",
	"a/b",
	"",
	".hidden",
	"." NAME TRANSFER_PART_SUFFIX,
	"\033[2J",
	"new\nline",
	"longer than any name may be ......................................."
	"..................................................................."
	"..................................................................."
	"................................................",
	NULL,
};

/* The one that is honest, as far as it has come. */
enum phase { OPENS, OFFERS, SENDS, ENDS, KNOWS };

static struct scene {
	char parent[64];
	struct nopal_world *world;
	struct recv_group group;
	struct receiver receiver;
	uint8_t content[SIZE];
	struct nopal_session *honest;
	enum phase phase;
	uint64_t sent;
	int64_t again_ns; /* it offers again */
	struct transfer_note result;
	struct talker talker;
	struct nopal_session *strangers[STRANGERS];
	struct nopal_endpoint *doors[STRANGERS];
	unsigned ends;
	int talk, stderr_was; /* what the receiver says goes there */
} scene;

/* A stand-in that recv_session.c takes for the loop's world. */
struct nopal_world *__wrap_loop_world(struct loop *loop);
struct nopal_world *__wrap_loop_world(struct loop *loop)
{
	(void)loop;
	return scene.world;
}

static struct nopal_address address_of(int host)
{
	struct nopal_address address;

	nopal_sim_address(host, PORT, &address);
	return address;
}

/* -------------------------------------------------------------- the honest one */

static uint64_t content_hash(void)
{
	struct file_hash hash;

	file_hash_init(&hash);
	file_hash_update(&hash, scene.content, SIZE);
	return file_hash_value(&hash);
}

static bool honest_says(const struct transfer_note *note, size_t more)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST + CHUNK];
	size_t length = transfer_encode(note, bytes);

	memcpy(bytes + length, scene.content + scene.sent, more);
	return nopal_send(scene.honest, bytes, length + more, 0) == 0;
}

static void honest_offers(void)
{
	struct transfer_note offer = {
		.type = TRANSFER_OFFER, .file = 1, .size = SIZE, .mtime_ns = 42, .text = NAME
	};

	offer.id = transfer_id(offer.text, offer.size, offer.mtime_ns);
	assert_true(honest_says(&offer, 0));
	scene.phase = OFFERS;
}

/* As much as the session takes now. */
static void honest_goes_on(void)
{
	struct transfer_note note = { .type = TRANSFER_DATA, .file = 1 };

	while (scene.phase == SENDS && scene.sent < SIZE) {
		note.offset = scene.sent;
		if (!honest_says(&note, CHUNK))
			return;
		scene.sent += CHUNK;
	}
	note = (struct transfer_note){
		.type = TRANSFER_END, .file = 1, .size = SIZE, .hash = content_hash()
	};
	if (scene.phase == SENDS && honest_says(&note, 0))
		scene.phase = ENDS;
}

/* Whatever lies there already is not its own: from the start. */
static void honest_is_answered(const struct transfer_note *answer)
{
	const struct transfer_note start = { .type = TRANSFER_START, .file = 1 };

	assert_int_not_equal(answer->verdict, TRANSFER_NO);
	if (answer->verdict == TRANSFER_LATER) {
		scene.again_ns = nopal_world_now(scene.world) + NOPAL_SECOND;
		return;
	}
	scene.phase = SENDS;
	assert_true(honest_says(&start, 0));
	honest_goes_on();
}

static void honest_on_opened(struct nopal_session *session, void *user)
{
	(void)session;
	(void)user;
	honest_offers();
}

static void honest_on_received(struct nopal_session *session, struct nopal_message *message,
			       void *user)
{
	struct transfer_note note;

	(void)session;
	(void)user;
	assert_true(transfer_received(message, &note));
	if (note.type == TRANSFER_ANSWER) {
		honest_is_answered(&note);
	} else if (note.type == TRANSFER_RESULT) {
		scene.result = note;
		scene.phase = KNOWS;
		nopal_session_close(scene.honest);
	}
}

static void honest_on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	(void)user;
	honest_goes_on();
}

static void honest_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			    void *user)
{
	(void)session;
	(void)user;
	if (end != NOPAL_ENDED_WELL)
		fail_msg("the honest one was cut off: %s", text);
	scene.honest = NULL;
}

static const struct nopal_callbacks honest_callbacks = {
	.opened = honest_on_opened,
	.received = honest_on_received,
	.writable = honest_on_writable,
	.ended = honest_on_ended,
};

/* ------------------------------------------------------------------- strangers */

static void stranger_says_some(struct nopal_session *session)
{
	for (uint64_t i = talker_draw(&scene.talker, NOTES); i > 0; i--)
		talker_says(&scene.talker, session, 1);
	if (talker_draw(&scene.talker, 6) == 0)
		nopal_session_close(session); /* in the middle of it all */
	else if (talker_draw(&scene.talker, 6) == 0)
		nopal_session_abort(session, "it goes\nerror: \033[2J");
}

static void stranger_on_opened(struct nopal_session *session, void *user)
{
	(void)user;
	stranger_says_some(session);
}

static void stranger_on_received(struct nopal_session *session, struct nopal_message *message,
				 void *user)
{
	(void)message;
	(void)user;
	if (nopal_world_now(scene.world) < QUIET_NS && talker_draw(&scene.talker, 4) == 0)
		stranger_says_some(session);
}

static void stranger_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			      void *user)
{
	struct nopal_session **place = user;

	(void)session;
	(void)end;
	assert_non_null(text);
	*place = NULL;
	scene.ends++;
}

static const struct nopal_callbacks stranger_callbacks = {
	.opened = stranger_on_opened,
	.received = stranger_on_received,
	.ended = stranger_on_ended,
};

static void stranger_comes(unsigned i)
{
	struct nopal_address to = address_of(0);

	scene.strangers[i] = nopal_open(scene.doors[i], scene.group.plan, &to, &stranger_callbacks,
					&scene.strangers[i]);
}

/* From some time on they say no more; and then they go, the one sooner than the other. */
static bool stranger_stays(unsigned i, int64_t now_ns)
{
	return now_ns < QUIET_NS + (int64_t)i * NOPAL_SECOND;
}

/* They come again and again, and speak now and then. */
static void strangers_meddle(void)
{
	int64_t now_ns = nopal_world_now(scene.world);

	for (unsigned i = 0; i < STRANGERS; i++) {
		struct nopal_session *session = scene.strangers[i];

		if (session && !stranger_stays(i, now_ns))
			nopal_session_abort(session, "it goes");
		if (now_ns >= QUIET_NS)
			continue;
		if (!session)
			stranger_comes(i);
		else if (talker_draw(&scene.talker, 50) == 0)
			stranger_says_some(session);
	}
}

/* -------------------------------------------------------------------- the scene */

static void scene_folder(void)
{
	char folder[80];

	snprintf(scene.parent, sizeof(scene.parent), "/tmp/nopal-test-XXXXXX");
	assert_non_null(mkdtemp(scene.parent));
	snprintf(folder, sizeof(folder), "%s/in", scene.parent);
	assert_int_equal(mkdir(folder, 0700), 0);
	scene.group.folder.fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert_true(scene.group.folder.fd >= 0);
}

/* A host of its own for each of them, beside that of the receiver, 0. */
static struct nopal_endpoint *scene_host(void)
{
	static const struct nopal_link link = { .delay_ns = 10 * NOPAL_MILLISECOND,
						.limit = 1000,
						.mtu = 1500 };
	int host = nopal_sim_host(scene.world);

	nopal_sim_connect(scene.world, 0, host, &link, &link);
	return nopal_sim_endpoint(scene.world, host, PORT);
}

static void scene_receiver(void)
{
	guests_house_init(&scene.group.house, GUESTS_SEATS_EACH, 0);
	scene.receiver.group = &scene.group;
	scene.receiver.guests.house = &scene.group.house;
	scene.receiver.loop = loop_new(NULL);
	assert_non_null(scene.receiver.loop);
	nopal_sim_host(scene.world);
	scene.receiver.endpoint = nopal_sim_endpoint(scene.world, 0, PORT);
	scene.group.receivers = &scene.receiver;
	scene.group.count = 1;
	assert_int_equal(nopal_endpoint_allow(scene.receiver.endpoint, scene.group.plan, 0,
					      &recv_session_callbacks, &scene.receiver),
			 0);
}

static void hear_talk(void)
{
	scene.talk = memfd_create("talk", MFD_CLOEXEC);
	fflush(stderr);
	scene.stderr_was = dup(STDERR_FILENO);
	assert_true(dup2(scene.talk, STDERR_FILENO) >= 0);
}

/* A test that fails says so on the stderr that there was. */
static int hear_no_more(void **state)
{
	(void)state;
	if (!scene.stderr_was)
		return 0;
	fflush(stderr);
	dup2(scene.stderr_was, STDERR_FILENO);
	close(scene.stderr_was);
	scene.stderr_was = 0;
	return 0;
}

static void scene_open(uint64_t seed)
{
	static const struct tool tool = { .name = "recv" };
	struct nopal_problems problems = { 0 };

	memset(&scene, 0, sizeof(scene));
	hear_talk();
	for (size_t i = 0; i < SIZE; i++)
		scene.content[i] = (uint8_t)(i * 7 + i / 251);
	scene.group.plan = nopal_plan_load("bulk", NULL, &problems);
	nopal_problems_fini(&problems);
	assert_non_null(scene.group.plan);
	pthread_mutex_init(&scene.group.lock, NULL);
	guests_house_init(&scene.group.house, GUESTS_SEATS_EACH, 0);
	progress_init(&scene.group.progress, &(struct tool_call){ .tool = &tool });
	scene_folder();
	scene.group.folder.limit = LIMIT;
	scene.group.folder.differs = "differs";
	scene.world = nopal_sim_new(seed);
	scene_receiver();
	scene.talker = (struct talker){ .seed = seed,
					.size = SIZE,
					.hash = content_hash(),
					.mtime_ns = 42,
					.names = names,
					.max_bytes = TALKER_MORE,
					.nonsense = 200 };
	for (unsigned i = 0; i < STRANGERS; i++)
		scene.doors[i] = scene_host();
}

static void scene_start_honest(void)
{
	struct nopal_address to = address_of(0);

	scene.honest = nopal_open(scene_host(), scene.group.plan, &to, &honest_callbacks, NULL);
	assert_non_null(scene.honest);
}

static void nothing(void *user)
{
	(void)user;
}

/* Virtual time, and then what the disk has to say. */
static void scene_step(void)
{
	int64_t until_ns = nopal_world_now(scene.world) + STEP_NS;

	nopal_sim_at(scene.world, until_ns, nothing, NULL);
	nopal_sim_run(scene.world, until_ns);
	event_base_loop(loop_base(scene.receiver.loop), EVLOOP_NONBLOCK);
	for (const struct incoming *at = scene.receiver.incomings; at; at = at->next)
		if (at->part && at->part->job)
			sched_yield();
	if (scene.again_ns && until_ns >= scene.again_ns) {
		scene.again_ns = 0;
		honest_offers();
	}
}

static void scene_close(void)
{
	nopal_world_free(scene.world);
	scene.world = NULL;
	assert_null(scene.receiver.incomings);
	assert_int_equal(scene.group.house.seats, 0);
	guests_house_fini(&scene.group.house);
	loop_free(scene.receiver.loop);
	close(scene.group.folder.fd);
	nopal_plan_unref(scene.group.plan);
	guests_house_fini(&scene.group.house);
	pthread_mutex_destroy(&scene.group.lock);
}

/* ------------------------------------------------------------------- what is said */

/* Whatever goes wrong has its peer in its line; no peer makes a line of its own, or steers a
 * terminal. */
static void judge_line(const char *line)
{
	for (const char *at = line; *at; at++)
		if ((unsigned char)*at < ' ')
			fail_msg("it says %#x in: %s", *at, line);
	if (strncmp(line, "error:", strlen("error:")) == 0 ||
	    strncmp(line, "nopal:", strlen("nopal:")) == 0 || strstr(line, "session ended"))
		if (!strstr(line, "10.0.0."))
			fail_msg("it does not say of whom: %s", line);
}

static void judge_talk(void)
{
	FILE *talk = fdopen(scene.talk, "r");
	char line[1024];
	unsigned lines = 0;

	assert_non_null(talk);
	rewind(talk);
	while (fgets(line, sizeof(line), talk)) {
		line[strcspn(line, "\n")] = '\0';
		judge_line(line);
		lines++;
	}
	assert_true(lines > 0);
	fclose(talk);
}

/* ------------------------------------------------------------------ what is left */

static bool is_part_of(const char *file, const char *name)
{
	size_t length = strlen(name);

	return *file == '.' && strncmp(file + 1, name, length) == 0 &&
	       (strcmp(file + 1 + length, TRANSFER_PART_SUFFIX) == 0 ||
		strcmp(file + 1 + length, TRANSFER_STATE_SUFFIX) == 0);
}

/* Files of names that are taken, or parts of such; nothing longer than the limit. */
static void judge_file(int folder, const char *file)
{
	struct stat now;
	bool known = strcmp(file, NAME) == 0 || strcmp(file, "other") == 0 ||
		     is_part_of(file, NAME) || is_part_of(file, "other");

	if (!known)
		fail_msg("there is a file %s", file);
	assert_int_equal(fstatat(folder, file, &now, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(now.st_mode));
	assert_true(now.st_size <= LIMIT);
	unlinkat(folder, file, 0);
}

static unsigned judge_folder(const char *path, bool inside)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		count++;
		if (inside)
			judge_file(dirfd(folder), entry->d_name);
	}
	closedir(folder);
	return count;
}

static void judge_disk(void)
{
	char inside[80];

	snprintf(inside, sizeof(inside), "%s/in", scene.parent);
	assert_int_equal(judge_folder(scene.parent, false), 1);
	judge_folder(inside, true);
	assert_int_equal(rmdir(inside), 0);
	assert_int_equal(rmdir(scene.parent), 0);
}

static void judge_honest(void)
{
	static uint8_t bytes[SIZE + 1];
	int fd = openat(scene.group.folder.fd, NAME, O_RDONLY);

	assert_int_equal(scene.phase, KNOWS);
	assert_int_equal(scene.result.verdict, TRANSFER_YES);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), SIZE);
	assert_memory_equal(bytes, scene.content, SIZE);
	close(fd);
}

/* ----------------------------------------------------------------------- tests */

static void run_to_the_end(void)
{
	while (nopal_world_now(scene.world) < LONGEST_NS &&
	       (scene.phase != KNOWS || scene.honest)) {
		strangers_meddle();
		scene_step();
	}
}

/* Strangers speak before it comes, and while it speaks; they know its name, and hold what goes by
 * that name for as long as they speak of it. */
TEST_WITH(NULL, hear_no_more, test_whatever_they_say_an_honest_one_is_served)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		scene_open(round);
		while (nopal_world_now(scene.world) < (int64_t)(round % 3) * NOPAL_SECOND) {
			strangers_meddle();
			scene_step();
		}
		scene_start_honest();
		run_to_the_end();
		judge_honest();
		assert_true(scene.ends > 0);
		scene_close();
		hear_no_more(NULL);
		judge_talk();
		judge_disk();
	}
}
