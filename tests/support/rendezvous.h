/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.h -- two hosts whose sessions open towards each other, and a forger.
 *
 *     rendezvous_begin(CIRCUIT, CIRCUIT, "delay 10ms", 1);
 *     rendezvous_open(0);
 *     rendezvous_run(20 * NOPAL_MILLISECOND);
 *     rendezvous_open(1);
 *     rendezvous_run(NOPAL_SECOND);
 *     rendezvous_expect_one_session();
 *     rendezvous_end();
 */
#ifndef NOPAL_TEST_RENDEZVOUS_H
#define NOPAL_TEST_RENDEZVOUS_H

#include <nopal/microprotocol.h>
#include <nopal/nopal.h>
#include "session/endpoint_sessions.h"
#include "virtual_circuit.h"

enum { RENDEZVOUS_PORT = 7000, RENDEZVOUS_TEXT = 1400, RENDEZVOUS_TAPPED = 64 };

struct rendezvous_datagram {
	size_t length;
	uint8_t bytes[1500];
};

struct rendezvous_side {
	struct nopal_plan *plan;
	struct nopal_endpoint *endpoint;
	struct nopal_address at;
	struct nopal_session *session; /* NULL before and after its life */
	uint32_t opened, ended, delivered, out;
	uint64_t bytes_out;
	bool opener; /* as of when it opened */
	int end;
	int64_t opened_ns, ended_ns;
	char end_text[RENDEZVOUS_TEXT], text[64];
	struct rendezvous_datagram sent[RENDEZVOUS_TAPPED]; /* the first ones */
};

struct rendezvous {
	struct nopal_world *world;
	struct rendezvous_side side[2];
	/* Host i lets in what answers something of its own alone. */
	bool firewalls, passed[2];
};
extern struct rendezvous rendezvous;

extern const struct nopal_callbacks rendezvous_callbacks;

void rendezvous_link(int from, const char *words);
void rendezvous_begin(const char *first, const char *second, const char *words, uint64_t seed);
void rendezvous_firewalls(void);
void rendezvous_run(int64_t for_ns);
void rendezvous_open(int who);
void rendezvous_say(int who, const char *text);
uint64_t rendezvous_sessions(int who);

/* State of virtual_circuit, in the lowest layer. */
struct virtual_circuit *rendezvous_circuit(int who);
int64_t rendezvous_shared(int who, const char *name);

/* One at each side, they are each other's, and by the rule. */
void rendezvous_expect_one_session(void);
void rendezvous_expect_talk(void);
void rendezvous_expect_good_end(void);
void rendezvous_end(void);

struct rendezvous_forged {
	uint64_t fingerprint, nonce, cookie;
	uint32_t id;
	bool cookie_given;
	size_t length;
};

/* A request that nobody made, into one side, as if it came from `from`. */
void rendezvous_forge(int to, const struct nopal_address *from,
		      const struct rendezvous_forged *forged);

#endif
