/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "wire/wire.h"
#include "support/early.h"
#include "support/segments.h"

#include "../../microprotocols/base/virtual_circuit.h"

enum { LOST, ONCE, TWICE, LATE };
enum { AEAD_PUBLIC_BYTES = 32, EARLY_EXTENSION_BYTES = 32, EARLY_PROOF_BYTES = 8 };

static const int64_t WAY_NS = 10 * NOPAL_MILLISECOND;
static const int64_t LATE_NS = 700 * NOPAL_MILLISECOND;

void early_close(struct early *early)
{
	if (early->rig.world) {
		nopal_sim_tap(early->rig.world, NULL, NULL);
		rig_close(&early->rig);
	}
	memset(early, 0, sizeof(*early));
}

void early_open(struct early *early, const char *config)
{
	early_close(early);
	rig_open(&early->rig, config, NULL);
	nopal_endpoint_local(early->rig.opener.endpoint, &early->opener);
	nopal_endpoint_local(early->rig.acceptor.endpoint, &early->acceptor);
	rig_finish(&early->rig);
	assert_int_equal(early->rig.opener.end, NOPAL_ENDED_WELL);
}

static const struct nopal_callbacks *callbacks_of(struct early *early)
{
	return &early->rig.acceptor.endpoint->listeners->callbacks;
}

void early_again(struct early *early)
{
	struct rig_side *opener = &early->rig.opener;
	struct nopal_address peer;

	opener->opened = opener->ended = 0;
	early->rig.acceptor.ended = 0;
	memset(opener->outcomes, 0, sizeof(opener->outcomes));
	nopal_sim_address(1, RIG_ACCEPTOR_PORT, &peer);
	opener->session =
		nopal_open(opener->endpoint, early->rig.plan, &peer, callbacks_of(early), opener);
	assert_non_null(opener->session);
}

void early_send_bytes(struct early *early, const void *bytes, size_t length, bool marked)
{
	const struct nopal_property mark = { nopal_property(early->rig.plan, "early"), marked };

	assert_int_equal(nopal_send_message(early->rig.opener.session,
					    &(struct nopal_outgoing){ .bytes = bytes,
								      .length = length,
								      .properties = &mark,
								      .property_count = 1 }),
			 0);
}

void early_send(struct early *early, const char *text, bool marked)
{
	early_send_bytes(early, text, strlen(text), marked);
}

/* -------------------------------------------------------------- the network */

struct flight {
	struct early *early;
	struct nopal_address from;
	bool back;
	size_t length;
	uint8_t bytes[];
};

static void flight_lands(void *user)
{
	struct flight *flight = user;
	struct rig *rig = &flight->early->rig;
	struct nopal_endpoint *endpoint =
		flight->back ? rig->opener.endpoint : rig->acceptor.endpoint;

	nopal_sim_inject(rig->world, endpoint, &flight->from, flight->bytes, flight->length);
	free(flight);
}

static void flight_begins(struct early *early, const struct nopal_address *from, bool back,
			  const uint8_t *bytes, size_t length, int64_t delay_ns)
{
	struct flight *flight = malloc(sizeof(*flight) + length);

	assert_non_null(flight);
	*flight = (struct flight){ early, *from, back, length };
	memcpy(flight->bytes, bytes, length);
	assert_int_equal(nopal_sim_at(early->rig.world,
				      nopal_world_now(early->rig.world) + delay_ns, flight_lands,
				      flight),
			 0);
}

static void datagram_leaves(void *user, int64_t now_ns, const struct nopal_address *from,
			    const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct early *early = user;
	bool back = !nopal_address_equal(to, &early->acceptor);
	unsigned nth = early->count[back]++;
	unsigned fate = ONCE;

	(void)now_ns;
	if (nth < EARLY_FATES)
		fate = early->fates >> 2 * (nth + EARLY_FATES * back) & 3;
	if (fate == ONCE || fate == TWICE)
		flight_begins(early, from, back, bytes, length, WAY_NS);
	if (fate == TWICE)
		flight_begins(early, from, back, bytes, length, WAY_NS + NOPAL_MILLISECOND);
	if (fate == LATE)
		flight_begins(early, from, back, bytes, length, LATE_NS);
}

void early_network(struct early *early, unsigned fates)
{
	early->fates = fates;
	early->count[0] = early->count[1] = 0;
	rig_change_both(&early->rig, "loss 100%");
	nopal_sim_tap(early->rig.world, datagram_leaves, early);
}

/* ---------------------------------------------------------------- sent again */

static void request_leaves(void *user, int64_t now_ns, const struct nopal_address *from,
			   const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct early *early = user;

	(void)now_ns, (void)from;
	if (early->request.length || !nopal_address_equal(to, &early->acceptor))
		return;
	memcpy(early->request.bytes, bytes, length);
	early->request.length = length;
}

void early_record(struct early *early)
{
	early->request.length = 0;
	nopal_sim_tap(early->rig.world, request_leaves, early);
}

void early_replay(struct early *early, const struct nopal_address *from)
{
	nopal_sim_inject(early->rig.world, early->rig.acceptor.endpoint, from, early->request.bytes,
			 early->request.length);
	rig_run(&early->rig, NOPAL_MILLISECOND);
}

uint32_t early_extension(const struct early *early)
{
	const uint8_t *text = early->request.bytes + EARLY_HEAD + EARLY_CHECK;

	return (uint32_t)(EARLY_HEAD + EARLY_CHECK + strlen((const char *)text) + 1 +
			  HANDSHAKE_NONCE_BYTES + HANDSHAKE_NUMBER_BYTES) +
	       NOPAL_RESET_PROOF_BYTES +
	       (nopal_plan_provides(early->rig.plan, "confidentiality") ? AEAD_PUBLIC_BYTES : 0);
}

static void make_check_good(struct early *early)
{
	uint8_t *bytes = early->request.bytes, *body = bytes + EARLY_HEAD + EARLY_CHECK;
	const uint64_t key[2] = { nopal_plan_info(early->rig.plan)->fingerprint,
				  nopal__get(bytes + 1, NOPAL_ID_BYTES) };

	nopal__put(bytes + EARLY_HEAD,
		   nopal__siphash(key, body, early->request.length - EARLY_HEAD - EARLY_CHECK),
		   EARLY_CHECK);
}

void early_replay_changed(struct early *early, uint32_t at)
{
	uint8_t before[EARLY_REQUEST_BYTES];

	memcpy(before, early->request.bytes, sizeof(before));
	early->request.bytes[at] ^= 1;
	make_check_good(early);
	early_replay(early, &early->opener);
	memcpy(early->request.bytes, before, sizeof(before));
}

void early_forge(struct early *early)
{
	uint8_t *extension = early->request.bytes + early_extension(early);
	uint8_t *block = extension + EARLY_EXTENSION_BYTES + HANDSHAKE_PROOF_BYTES;
	uint32_t length = (uint32_t)nopal__get(block, HANDSHAKE_EARLY_BYTES);
	uint8_t said[EARLY_REQUEST_BYTES];
	struct nopal_writer writer = nopal_writer_over(said, sizeof(said));
	struct nopal_ticket ticket;
	int64_t age_ns;

	assert_true(nopal_ticket_recall(early->rig.opener.session, &ticket, &age_ns));
	block += HANDSHAKE_EARLY_BYTES;
	memset(block, 'x', length);
	nopal_write_bytes(&writer, extension, EARLY_EXTENSION_BYTES - EARLY_PROOF_BYTES);
	nopal_write_bytes(&writer, early->request.bytes + 1, NOPAL_ID_BYTES);
	nopal_write_bytes(&writer, block, length);
	nopal__put(extension + EARLY_EXTENSION_BYTES - EARLY_PROOF_BYTES,
		   nopal_ticket_hash(&ticket, said, nopal_written(&writer)), EARLY_PROOF_BYTES);
	make_check_good(early);
}

static void answer_leaves(void *user, int64_t now_ns, const struct nopal_address *from,
			  const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct early *early = user;

	(void)now_ns, (void)from, (void)bytes;
	if (!nopal_address_equal(to, &early->acceptor))
		early->answer_bytes += length;
}

void early_count_answers(struct early *early)
{
	early->answer_bytes = 0;
	nopal_sim_tap(early->rig.world, answer_leaves, early);
}

void early_restart(struct early *early)
{
	struct rig_side *acceptor = &early->rig.acceptor;
	const struct nopal_callbacks callbacks = *callbacks_of(early);

	nopal_endpoint_close(acceptor->endpoint);
	acceptor->endpoint = nopal_sim_endpoint(early->rig.world, 1, RIG_ACCEPTOR_PORT);
	assert_int_equal(nopal_endpoint_allow(acceptor->endpoint, early->rig.plan, 0, &callbacks,
					      &early->rig),
			 0);
}

void early_cookie(struct early *early)
{
	const struct virtual_circuit *circuit =
		rig_state(early->rig.opener.session, "virtual_circuit");
	const struct handshake_connect cookie = { .nonce = circuit->connect.nonce,
						  .cookie = 11,
						  .cookie_epoch = 3 };
	uint8_t bytes[32];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	struct arriving one;

	handshake_write_cookie(&writer, &cookie);
	one = arriving_begin(early->rig.opener.session, NOPAL_KIND_REPLY, bytes,
			     nopal_written(&writer));
	arriving_end(&one);
}
