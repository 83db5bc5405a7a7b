/* SPDX-License-Identifier: MIT */
/*
 * meeting.h -- two hosts whose sessions open towards each other, and a forger.
 *
 *     meet_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
 *     meeting_open(0);
 *     meet_run(20 * NOPAL_MILLISECOND);
 *     meeting_open(1);
 *     meet_run(NOPAL_SECOND);
 *     meet_expect_one_session();
 *     meet_end();
 */
#ifndef NOPAL_TEST_MEETING_H
#define NOPAL_TEST_MEETING_H

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "session/endpoint_sessions.h"
#include "virtual_circuit.h"

enum { MEET_PORT = 7000, MEET_TEXT = 1400, MEET_TAPPED = 64 };

struct meet_datagram {
	size_t length;
	uint8_t bytes[1500];
};

struct meet_side {
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_address at;
	struct nopal_session *session; /* NULL before and after its life */
	uint32_t opened, ended, delivered, out;
	uint64_t bytes_out;
	bool opener; /* as of when it opened */
	int end;
	int64_t opened_ns, ended_ns;
	char end_text[MEET_TEXT], text[64];
	struct meet_datagram sent[MEET_TAPPED]; /* the first ones */
};

struct meet {
	struct nopal_world *world;
	struct meet_side side[2];
	/* Host i lets in what answers something of its own alone. */
	bool firewalls, passed[2];
};
extern struct meet meet;

extern const struct nopal_callbacks meet_callbacks;

void meet_link(int from, const char *words);
void meet_begin(const char *first, const char *second, const char *words, uint64_t seed);
void meet_firewalls(void);
void meet_run(int64_t for_ns);
void meeting_open(int who);
void meet_say(int who, const char *text);
uint64_t meet_sessions(int who);

/* State of virtual_circuit, in the lowest layer. */
struct virtual_circuit *meet_circuit(int who);
int64_t meet_shared(int who, const char *name);

/* One at each side, they are each other's, and by the rule. */
void meet_expect_one_session(void);
void meet_expect_talk(void);
void meet_expect_good_end(void);
void meet_end(void);

struct meet_forged {
	uint64_t fingerprint, nonce, cookie;
	uint32_t id;
	bool cookie_given;
	size_t length;
};

/* A request that nobody made, into one side, as if it came from `from`. */
void meet_forge(int to, const struct nopal_address *from, const struct meet_forged *forged);

#endif
