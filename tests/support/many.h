/* SPDX-License-Identifier: MIT */
/*
 * many.h -- one sender and its destinations in the simulated world: a star, of which each ray can
 * be cut, or a dumbbell, whose one bottleneck all share.
 *
 *     static struct many many;
 *     many_open(&many, MANY_RELIABLE("fan_out { acks = 2 }"), 3, "delay 10ms", 1);
 *     many_send(&many, "hello");
 *     many_run(&many, NOPAL_SECOND);
 *     assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
 *     many_close(&many);
 */
#ifndef NOPAL_TEST_MANY_H
#define NOPAL_TEST_MANY_H

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "session/endpoint_sessions.h"
#include "support/test.h"

enum {
	MANY_MAX = 1024,
	MANY_MESSAGES = 4096,
	MANY_LONGEST = 1 << 20,
	MANY_DIGITS = 16,
	MANY_PORT = 9000
};

/* A config: what is in the layer of the group, above sessions that lose nothing. */
#define MANY_RELIABLE(group)                                                                       \
	"layer \"group\" { transport_driver {} whole_messages {} " group                           \
	" }\nlayer \"destination\" {\n multiplicity = per_destination\n"                           \
	" transport_driver {} virtual_circuit {} keep_alive {} resize {}\n"                        \
	" sequenced_segments {} positive_ack { selective = on } retransmission_timer {}\n"         \
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"                                \
	" retransmit { attempts = 6 } reliable_fifo {} checksum {}\n}\n"

/* The same above datagrams that nobody acknowledges. */
#define MANY_PLAIN(group)                                                                          \
	"layer \"group\" { transport_driver {} whole_messages {} " group                           \
	" }\nlayer \"destination\" {\n multiplicity = per_destination\n"                           \
	" transport_driver {} fixed_size {}\n}\n"

/* The same with a channel: the keys of multicast and channel_repair, and what is above them
 * beside. */
#define MANY_CHANNEL(multicast, repair, more)                                                      \
	"layer \"group\" { transport_driver {} resize {} "                                         \
	"sequenced_messages {} multicast { " multicast " } channel_repair { " repair               \
	" } reliable_fifo {} " more                                                                \
	" }\nlayer \"destination\" {\n multiplicity = per_destination\n"                           \
	" transport_driver {} virtual_circuit {} keep_alive { interval = 1s "                      \
	" timeout = 5s } resize {}\n"                                                              \
	" sequenced_segments {} positive_ack { selective = on } retransmission_timer {}\n"         \
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"                                \
	" retransmit {} windowed_cc {} tcp_congestion {} reliable_fifo {} "                        \
	"checksum {}\n}\n"

/* By which family the destinations are spoken to, in order; and is the channel's address of IPv6?
 * A test may set it before it opens anything. */
enum many_family { MANY_V4, MANY_V6, MANY_MIXED /* V4 V6 V4 V6 ... */ };
extern enum many_family many_family;
extern bool many_cast6;

/* Sets a group of tests up: all of it is by IPv6. */
int many_of_ipv6(void **state);
#define MANY_GROUP6 "[ff15::4d:1]:9077"

struct many_end { /* one of the destinations */
	struct many *many;
	struct nopal_endpoint *endpoint;
	struct nopal_session *session; /* NULL before and after its life */
	struct nopal_address address;
	int64_t id;
	uint32_t delivered;
	uint8_t seen[MANY_MESSAGES]; /* how often, by message */
	uint32_t newest;
	uint32_t wrong; /* not the bytes that were sent, or no such message */
	uint32_t late;	/* messages that came after a newer one */
	int64_t came_ns[MANY_MESSAGES];
	/* what the sender's application was told of it */
	uint32_t opened, ended;
	int end;
};

struct many {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_session *group; /* NULL after its life */
	uint32_t count;
	uint32_t sent;
	uint32_t opened, ended;
	int end_code;
	char end_text[256];
	int64_t sent_ns[MANY_MESSAGES];
	size_t length[MANY_MESSAGES];
	uint32_t outcomes[3];
	uint8_t outcome_count[MANY_MESSAGES]; /* how often, by message */
	int64_t outcome_ns[MANY_MESSAGES];
	int outcome[MANY_MESSAGES];
	uint32_t answers;	/* messages that came back */
	uint64_t answer_from;	/* the last one: whose */
	uint32_t answers_wrong; /* that were no message of ours */
	bool echo;		/* destinations send back what they get */
	bool dumbbell;		/* else a star */
	uint64_t multicasts;	/* datagrams to multicast addresses, see many_watch() */
	/* (optional) an outcome was told */
	void (*on_outcome)(struct many *many, uint32_t message);
	struct many_end end[MANY_MAX]; /* last: only those in use are cleared */
};

/* The bytes of a message: its number, and what no other message has there. */
void many_write(uint32_t number, char *bytes, size_t length);
struct many_end *many_of(struct many *many, uint32_t id);
int64_t many_add(struct many *many, uint32_t index);
void many_parse(const char *link, struct nopal_link *ret_forward, struct nopal_link *ret_reverse);
void many_link(struct many *many, uint32_t index, const char *link);

/* No multicast passes its ray, or it does again. */
void many_deafen(struct many *many, uint32_t index, bool deaf);

/* Its ray is cut: nothing passes from now on. */
void many_cut(struct many *many, uint32_t index);
struct nopal_plan *many_plan(const char *config);
bool many_is_v6(uint32_t index);

/* Where somebody is for the one who speaks to it. */
void many_address(int host, uint16_t port, bool v6, struct nopal_address *ret_address);
void many_prepare_plan(struct many *many, struct nopal_plan *plan, uint32_t count, const char *link,
		       uint64_t seed);
void many_prepare(struct many *many, const char *config, uint32_t count, const char *link,
		  uint64_t seed);
void many_run(struct many *many, int64_t for_ns);

/* All added, behind one bottleneck; each edge is like the others. */
void many_open_dumbbell(struct many *many, const char *config, uint32_t count, const char *edge,
			const char *bottleneck, uint64_t seed);
void many_open(struct many *many, const char *config, uint32_t count, const char *link,
	       uint64_t seed);

/* Message `many->sent`, of so many bytes at least; its text begins with its number. */
int many_send_bytes(struct many *many, size_t length, uint64_t destination);
int many_send(struct many *many);

/* From now on: what leaves for multicast addresses is counted. */
void many_watch(struct many *many);

/* So many messages of so many bytes, with a time after each. */
void many_send_some(struct many *many, uint32_t count, size_t length, int64_t apart_ns);
/* How many are spoken to by the channel. */
uint32_t many_hearing(const struct many *many);
/* Opens, seed 1, until all are spoken to by the channel; then the links change (NULL: they stay). */
void many_hear(struct many *many, const char *config, uint32_t count, const char *link,
	       const char *then);

/* Of a destination: a shared variable; and of all that live, their sum. */
int64_t many_shared(const struct many *many, uint32_t index, const char *name);
int64_t many_sum(const struct many *many, const char *name);

/* Has it each message of [from, end) once, whole, in order, and nothing else? */
bool many_has(const struct many *many, uint32_t index, uint32_t from, uint32_t end);
/* Has each each message?  Fails the test where one has not. */
void many_all_have_all(const struct many *many);
void many_close(struct many *many);

#endif
