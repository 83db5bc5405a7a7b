/* SPDX-License-Identifier: MIT */
/*
 * servers.h -- one file at three servers, over links of 5, 10 and 20 Mbit/s, and who fetches it: in
 * virtual time, what `nopal fetch` and `nopal serve` say, without their loops.
 *
 *     open_place();
 *     servers_begin(0, 3);
 *     run_to_the_end();
 *     assert_int_equal(place.rows[0].state, TABLE_SHARE);
 *     close_place();
 */
#ifndef NOPAL_TEST_SERVERS_H
#define NOPAL_TEST_SERVERS_H

#include "session/endpoint_sessions.h"
#include "transfer/fetch_talk.h"
#include "file/file_hash.h"
#include "transfer/serve_session.h"
#include "support/test.h"

enum { SERVERS = 3, PORT = 9000, SIZE = 6000000 };
#define DEAD_LINK "loss 100%"
#define NAME	  "films/film.mkv"

extern const char *const links[SERVERS];
extern char folders[SERVERS][32];
extern uint8_t *bytes;

struct place {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct serve serve[SERVERS];
	struct nopal_endpoint *endpoint[SERVERS];
	bool reading[SERVERS];
	struct fetch fetch;
	struct destination rows[SERVERS];
	uint8_t *came;
	uint64_t came_bytes;
	int64_t now_ns, whole_ns;
	unsigned found, deserted, closed;
	char why[64];
	void (*at_found)(void); /* or NULL */
};
extern struct place place;

void set_link(unsigned server, const char *words);
void open_place(void);

/* From `count` of them, the first of which is `first`. */
void servers_begin(unsigned first, unsigned count);
void close_place(void);

/* Time passes, whether anything happens or not. */
void nothing(void *user);
void step(void);
void run_until(int64_t until_ns);

/* How long it took until all was here, byte for byte, each byte once. */
int64_t run_to_the_end(void);
void write_file(const char *folder, const uint8_t *from);

/* Of these SIZE bytes. */
void list_of(const uint8_t *from, struct file_blocks *ret_blocks);
uint64_t root_of(const uint8_t *from);
int make_folders(void **state);
int remove_folders(void **state);

#endif
