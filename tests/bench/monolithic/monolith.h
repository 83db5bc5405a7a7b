/* SPDX-License-Identifier: MIT */
/*
 * monolith.h -- a dedicated bulk transport, written by hand for one composition:
 * the wire format of the shipped config bulk_cubic, without events, holds, plans or handlers.
 * The transport is the control of the question what composing costs.
 *
 *   program --monolith_send--> sender.c ---+            +--> train --> world
 *                                ^  ^      +- core.c ---+
 *                  cubic.c, rtt -+  +-acks-+            +<-- batch <-- world
 *   program <---- received ---- receiver.c +
 *
 * The transport stands behind io.h where the runtime's core stands, in the same worlds, and has
 * composed peers.  The rules of runtime/nopal/nopal.h for callbacks hold here, but that an arriving
 * message is gone when `received` returns.  One world, one thread.
 */
#ifndef NOPAL_MONOLITH_H
#define NOPAL_MONOLITH_H

#include "session/endpoint_sessions.h"

/* The config's values, read once from its plan; runtime/nopal/nopal.h and the microprotocols'
 * manuals say what each means. */
struct monolith_setup {
	char *canonical;
	uint64_t fingerprint, message_limit, send_bytes;
	uint32_t body_bytes, trailer_bytes, datagram_bytes;
	int64_t retry_ns, retry_max_ns, attempts, linger_ns;
	int64_t alive_interval_ns, alive_timeout_ns, alive_probes;
	int64_t filter_window, ack_window, ack_every, ack_delay_ns;
	int64_t status_min_ns, status_max_ns, backoff_max;
	int64_t loss_threshold, loss_adapts;
	int64_t rtt_first_ns, rtt_min_ns, rtt_max_ns;
	int64_t timed_out_max;
	int64_t buffer_bytes, edge_initial, probe_ns;
	int64_t cubic_initial, cubic_hystart;
};

/* False: the plan is not one that this transport can stand in for; a problem was added. */
bool monolith_setup_read(struct monolith_setup *ret_setup, const struct nopal_plan *plan,
			 struct nopal_problems *problems);
void monolith_setup_free(struct monolith_setup *setup);

struct monolith_piece {
	const uint8_t *bytes;
	uint32_t length;
};

/* An arriving message, where it arrived. */
struct monolith_message {
	const struct monolith_piece *pieces;
	uint32_t count;
	uint64_t length;
};

struct monolith_endpoint;
struct monolith_connection;

struct monolith_callbacks {
	void (*opened)(struct monolith_connection *connection, void *user);
	void (*received)(struct monolith_connection *connection,
			 const struct monolith_message *message, void *user);
	void (*writable)(struct monolith_connection *connection, void *user);
	void (*ended)(struct monolith_connection *connection, enum nopal_end end, const char *text,
		      void *user);
};

struct monolith_counters {
	uint64_t datagrams_out, datagrams_in, transmissions, resends, control_out;
	uint64_t segments_lost, segments_timeout, bytes_delivered, malformed, sealed_badly;
};

/* The setup outlives the endpoint. */
struct monolith_endpoint *monolith_endpoint_open(struct nopal_world *world,
						 const struct nopal_address *local,
						 const struct monolith_setup *setup,
						 struct nopal_problems *problems);
void monolith_listen(struct monolith_endpoint *endpoint, const struct monolith_callbacks *callbacks,
		     void *user);
void monolith_endpoint_local(const struct monolith_endpoint *endpoint,
			     struct nopal_address *ret_address);

struct monolith_connection *monolith_open(struct monolith_endpoint *endpoint,
					  const struct nopal_address *peer,
					  const struct monolith_callbacks *callbacks, void *user);
/* As nopal_send_message. */
int monolith_send(struct monolith_connection *connection, struct nopal_buffer *buffer,
		  uint32_t from, uint32_t length);
void monolith_close(struct monolith_connection *connection);
const struct monolith_counters *monolith_counters(const struct monolith_connection *connection);

/* Functions that a world calls, as io.h has it. */
bool monolith__owns(const struct nopal_endpoint *endpoint);
void monolith__receive(struct monolith_endpoint *endpoint, const struct nopal_arrival *arrivals,
		       size_t count);
void monolith__writable(struct monolith_endpoint *endpoint);
void monolith__wake(struct nopal_world *world);
int64_t monolith__next(const struct nopal_world *world);
void monolith__fini(struct nopal_world *world);

#endif
