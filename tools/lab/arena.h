/* SPDX-License-Identifier: MIT */
/*
 * arena.h -- private to the files of a trial: its hosts, its network, and what it takes to begin
 * them.
 *
 *   trial.c    what a check calls: setting up, and the facts
 *   arena.c    hosts and network in step with each other
 *   secret.c   contents of messages, which tell their number to the grader alone
 *   checks.c   what is held against the facts
 */
#ifndef NOPAL_LAB_ARENA_H
#define NOPAL_LAB_ARENA_H

#include <nopal/microprotocol.h>
#include "lab/lab.h"
#include "lab/process.h"
#include "lab/spawner.h"
#include "lab/talk.h"

/* The most that a host may take for one trial. */
struct lab_limits {
	struct process_limits process;
	uint64_t turns, datagrams; /* of the whole trial, and of one host; and its deliveries */
};

/* All that trials of one submission have in common. */
struct lab_bench {
	const struct lab *lab;
	char *handout; /* the folder of what the lab hands out */
	/* By code: the folder with the host's configs, and PART.so beside them; and the spawner of
	 * its hosts (NULL: they live in this process). */
	const char *folder[LAB_CODES];
	struct spawner *spawner[LAB_CODES];
	bool sanitized[LAB_CODES];
	uint64_t secret[2];
	struct lab_limits limits;
	bool traced;
	struct process_pool *pool;
};

/* bench.c: the bytes of a file, and a 0 behind them, which the caller frees.  NULL: it is not there,
 * it is longer, a link, or no file at all: a submission could name the grader's own files by
 * one. */
enum { LAB_FILE_MAX = 1 << 20 };
char *lab_read_file(const char *path, size_t longest);

enum { LAB_SESSIONS = 256 }; /* of a host */

struct arena_host {
	struct lab_arena *arena;
	enum lab_code code;
	char *config;
	struct talk talk;
	struct nopal_sim_socket *socket;
	struct process *process; /* NULL: not begun, or ended */
	int trace_fd;
	int64_t next_ns;
	uint64_t datagrams, deliveries;
	uint64_t sessions;
	bool killed; /* by lab_kill() */
};

/* Where a datagram may still come out. */
struct arena_flight {
	uint32_t *datagrams; /* indices of the trial's */
	size_t count, room;
};

struct lab_arena {
	const struct lab_bench *bench;
	struct lab_trial *trial;
	struct nopal_world *world;
	uint64_t random;
	uint64_t key[2]; /* of secret.c */
	struct arena_host hosts[LAB_HOSTS];
	int64_t delays_ns[LAB_HOSTS][LAB_HOSTS]; /* least time from host to host */
	struct arena_flight flights[LAB_HOSTS][LAB_HOSTS];
	struct nopal_map carried; /* by message and first byte: how many datagrams */
	int made;		  /* hosts of the network */
	int mtu;
	uint64_t turns;
	size_t message_room, datagram_room, delivery_room, session_room, step_room;
	bool begun;
};

/* A trial of a bench: ends with lab_trial_free(). */
struct lab_trial *lab_trial_new(const struct lab_bench *bench, const char *name, uint64_t seed);
/* Ends all hosts. */
void lab_trial_free(struct lab_trial *trial);
/* Sorts the steps by time and ends all hosts; facts, traces and output stay. */
void lab_trial_finish(struct lab_trial *trial);
/* Why it failed: the text of that step; "": it did not. */
const char *lab_trial_reason(const struct lab_trial *trial);
enum lab_code lab_host_code(const struct lab_trial *trial, int host);
/* The descriptor of its trace, or -1. */
int lab_host_trace(const struct lab_trial *trial, int host);
/* Holders of each segment, as a host says; NULL: it does not.  The caller frees it. */
char *lab_holders(struct lab_trial *trial, int host);

/* trial.c: facts */
struct lab_datagram *lab_datagram_add(struct lab_arena *arena, int from, int to, int64_t time_ns,
				      const uint8_t *bytes, uint32_t length);
void lab_delivery_add(struct lab_arena *arena, const struct lab_delivery *delivery);
void lab_session_add(struct lab_arena *arena, const struct lab_session *session);

/* arena.c */
void arena_run(struct lab_arena *arena, int64_t until_ns);
void arena_end(struct lab_arena *arena);
void arena_kill(struct arena_host *host);
bool arena_shared(struct lab_arena *arena, int host, int session, const char *name,
		  int64_t *ret_value);
/* A frame for a host, which is sent with its next turn. */
void arena_command(struct lab_arena *arena, int host, enum talk_word word, int64_t time_ns,
		   uint64_t number, uint64_t other, const void *body, size_t length);

/* secret.c */
/* Fills in the bytes of message `number`. */
void secret_draw(const uint64_t key[2], uint32_t number, uint8_t *bytes, uint32_t length);
/* The message that these bytes carry a part of, from `ret_from` on, or 0. */
uint32_t secret_find(const struct lab_trial *trial, const uint8_t *bytes, size_t length,
		     uint32_t *ret_from);
/* The message of another host whose bytes a host delivers, or 0. */
uint32_t secret_match(const struct lab_trial *trial, int host, const uint8_t *bytes, size_t length);
/* A number that tells nothing of the bench's secret: of `seed` and `which`. */
uint64_t secret_seed(const uint64_t secret[2], uint64_t seed, uint64_t which);

#endif
