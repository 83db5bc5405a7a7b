/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "support/servers.h"
#include "support/test.h"

#define STEP_NS (10 * NOPAL_MILLISECOND)
#define FOREVER (300 * NOPAL_SECOND)

const char *const links[SERVERS] = { "rate 5mbit delay 10ms limit 100",
				     "rate 10mbit delay 10ms limit 100",
				     "rate 20mbit delay 10ms limit 100" };
char folders[SERVERS][32];
uint8_t *bytes;

struct place place;

/* ------------------------------------------------------------------- what is told */

static void on_wake(void *user)
{
	*(bool *)user = true;
}

static void on_say(void *user, const char *peer, const char *text)
{
	(void)user;
	(void)peer;
	assert_non_null(text);
}

static void on_found(void *user)
{
	(void)user;
	place.found++;
	if (place.at_found)
		place.at_found();
	fetch_begin(&place.fetch);
}

static void on_part(void *user, uint64_t offset, const struct nopal_message *message)
{
	size_t length = nopal_message_length(message) - TRANSFER_DATA_HEADER;

	(void)user;
	assert_true(offset + length <= SIZE);
	nopal_message_copy(message, TRANSFER_DATA_HEADER, place.came + offset, length);
	place.came_bytes += length;
}

static void on_whole(void *user)
{
	(void)user;
	place.whole_ns = nopal_world_now(place.world);
	fetch_close(&place.fetch);
}

static void on_deserted(void *user, const char *why, const char *fix)
{
	(void)user;
	assert_non_null(fix);
	place.deserted++;
	snprintf(place.why, sizeof(place.why), "%s", why);
	fetch_close(&place.fetch);
}

static void on_closed(void *user)
{
	(void)user;
	place.closed++;
}

static const struct fetch_hooks hooks = { on_found, on_part, on_whole, on_deserted, on_closed };

/* ---------------------------------------------------------------------- the place */

void set_link(unsigned server, const char *words)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };

	assert_int_equal(nopal_link_parse(words, &forward, &reverse, &problems), 0);
	nopal_problems_fini(&problems);
	nopal_sim_change(place.world, 0, (int)server + 1, &forward);
	nopal_sim_change(place.world, (int)server + 1, 0, &reverse);
}

static void open_server(unsigned i)
{
	static const struct nopal_link any = { .limit = 1000, .mtu = 1500 };
	int host = nopal_sim_host(place.world);

	nopal_sim_connect(place.world, 0, host, &any, &any);
	set_link(i, links[i]);
	place.endpoint[i] = nopal_sim_endpoint(place.world, host, PORT);
	nopal_sim_address(host, PORT, &place.rows[i].address);
	place.serve[i] = (struct serve){
		.world = place.world,
		.plan = place.plan,
		.files.folder = open(folders[i], O_RDONLY | O_DIRECTORY),
		.user = &place.reading[i],
		.wake = on_wake,
		.say = on_say,
	};
	serve_init(&place.serve[i], GUESTS_SEATS_EACH);
	assert_int_equal(nopal_endpoint_allow(place.endpoint[i], place.plan, 0, &serve_callbacks,
					      &place.serve[i]),
			 0);
}

void open_place(void)
{
	struct nopal_problems problems = { 0 };

	memset(&place, 0, sizeof(place));
	place.plan = nopal_plan_load("fetch", NULL, &problems);
	nopal_problems_fini(&problems);
	assert_non_null(place.plan);
	place.world = nopal_sim_new(1);
	place.came = calloc(SIZE, 1);
	nopal_sim_host(place.world);
	for (unsigned i = 0; i < SERVERS; i++)
		open_server(i);
}

void servers_begin(unsigned first, unsigned count)
{
	place.fetch = (struct fetch){
		.endpoint = nopal_sim_endpoint(place.world, 0, PORT),
		.world = place.world,
		.plan = place.plan,
		.name = NAME,
		.ones = place.rows + first,
		.count = count,
		.wait_ns = 10 * NOPAL_SECOND,
		.hooks = &hooks,
	};
	assert_true(fetch_open(&place.fetch));
}

void close_place(void)
{
	nopal_world_free(place.world);
	fetch_fini(&place.fetch);
	for (unsigned i = 0; i < SERVERS; i++) {
		assert_null(place.serve[i].sessions);
		serve_fini(&place.serve[i]);
		close(place.serve[i].files.folder);
		free(place.rows[i].why);
	}
	nopal_plan_unref(place.plan);
	free(place.came);
}

void nothing(void *user)
{
	(void)user;
}

void step(void)
{
	place.now_ns += STEP_NS;
	nopal_sim_at(place.world, place.now_ns, nothing, NULL);
	nopal_sim_run(place.world, place.now_ns);
	for (unsigned i = 0; i < SERVERS; i++)
		while (place.reading[i])
			place.reading[i] = serve_step(&place.serve[i]);
	if (place.fetch.world && place.now_ns % FETCH_TICK_NS == 0)
		fetch_tick(&place.fetch);
}

void run_until(int64_t until_ns)
{
	while (!place.closed && place.now_ns < until_ns)
		step();
}

int64_t run_to_the_end(void)
{
	run_until(FOREVER);
	assert_int_equal(place.closed, 1);
	assert_int_equal(place.deserted, 0);
	assert_int_equal(place.found, 1);
	assert_int_equal(place.came_bytes, SIZE);
	assert_memory_equal(place.came, bytes, SIZE);
	return place.whole_ns;
}

/* ---------------------------------------------------------------------- the files */

void write_file(const char *folder, const uint8_t *from)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/films", folder);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/" NAME, folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(from, 1, SIZE, file), SIZE);
	fclose(file);
}

void list_of(const uint8_t *from, struct file_blocks *ret_blocks)
{
	file_blocks_init(ret_blocks, SIZE);
	while (!file_blocks_are_known(ret_blocks)) {
		struct range range = file_blocks_range(ret_blocks, ret_blocks->known);
		struct file_hash hash;

		file_hash_init(&hash);
		file_hash_update(&hash, from + range.from, (size_t)(range.end - range.from));
		assert_true(file_blocks_add(ret_blocks, file_hash_value(&hash)));
	}
}

uint64_t root_of(const uint8_t *from)
{
	struct file_blocks blocks;
	uint64_t root;

	list_of(from, &blocks);
	root = file_blocks_root(&blocks);
	file_blocks_fini(&blocks);
	return root;
}

int make_folders(void **state)
{
	(void)state;
	bytes = malloc(SIZE);
	srand(1);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)rand();
	for (unsigned i = 0; i < SERVERS; i++) {
		snprintf(folders[i], sizeof(folders[i]), "/tmp/nopal-fetch-XXXXXX");
		if (!mkdtemp(folders[i]))
			return -1;
		write_file(folders[i], bytes);
	}
	return 0;
}

int remove_folders(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SERVERS; i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/" NAME, folders[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s/films", folders[i]);
		rmdir(path);
		rmdir(folders[i]);
	}
	free(bytes);
	return 0;
}
