/* SPDX-License-Identifier: MIT */
/*
 * one_flow.h -- two hosts, a flow between them, and streams that the first one opens:
 * `pair.here[i]` there, `pair.there[i]` in the order in which the second accepted.
 *
 *     pair_open(STREAMED, "delay 10ms");
 *     open_stream(0);
 *     say(0, "hello");
 *     flow_pair_run(NOPAL_SECOND);
 *     pair_close();
 *
 * FLOW and STREAM are what the two layers of a config have.
 */
#ifndef NOPAL_TEST_ONE_FLOW_H
#define NOPAL_TEST_ONE_FLOW_H

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "session/endpoint_sessions.h"

enum { STREAMS = 100, PORT = 9000, TEXT = 64 };

#define FLOW                                                                                       \
	" transport_driver {} virtual_circuit {} keep_alive {} fixed_size "                        \
	"{}\n"                                                                                     \
	" sequenced_segments {} positive_ack { selective = on } retransmission_timer {}\n"         \
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"                                \
	" retransmit {} windowed_cc {} tcp_congestion {} checksum {}\n"
#define STREAM                                                                                     \
	" transport_driver {} stream_end {} resize {} sequenced_messages {}\n"                     \
	" reliable_fifo {}\n"
struct end {
	struct nopal_session *session; /* NULL before and after its life */
	uint32_t opened, delivered, ended, peer_closed;
	uint64_t bytes;
	char text[TEXT];
	int64_t first_ns, last_ns;
	int code;
	uint32_t arrived; /* outcomes of what it sent */
};

struct pair {
	struct nopal_world *world;
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint[2];
	struct nopal_address peer;
	struct end here[STREAMS], there[STREAMS];
	uint32_t accepted;
	bool answers; /* what is accepted sends back what it gets */
};
extern struct pair pair;

extern const struct nopal_callbacks callbacks;
extern const struct nopal_callbacks opens_only;

void pair_prepare(const char *config, const char *words, const struct nopal_callbacks *accepts);
void pair_open(const char *config, const char *words);
void flow_pair_run(int64_t for_ns);

/* The link of the first host to the second. */
void pair_change(const char *words);
void pair_close(void);
void open_stream(uint32_t index);
void say(uint32_t index, const char *text);

/* Awake or at rest. */
uint32_t flows(int side);

#endif
