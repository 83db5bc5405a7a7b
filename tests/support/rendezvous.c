/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"
#include "support/rendezvous.h"
#include "support/test.h"

struct rendezvous rendezvous;

static void rendezvous_on_opened(struct nopal_session *session, void *user)
{
	struct rendezvous_side *side = user;

	side->opened++;
	side->opener = nopal_session_is_opener(session);
	side->opened_ns = nopal_world_now(rendezvous.world);
}

static void rendezvous_on_received(struct nopal_session *session, struct nopal_message *message,
				   void *user)
{
	struct rendezvous_side *side = user;
	size_t length = nopal_message_copy(message, 0, side->text, sizeof(side->text) - 1);

	(void)session;
	side->text[length] = '\0';
	side->delivered++;
}

static void rendezvous_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
				void *user)
{
	struct rendezvous_side *side = user;

	(void)session;
	side->session = NULL;
	side->ended++;
	side->end = (int)end;
	side->ended_ns = nopal_world_now(rendezvous.world);
	snprintf(side->end_text, sizeof(side->end_text), "%s", text);
}

const struct nopal_callbacks rendezvous_callbacks = {
	.opened = rendezvous_on_opened,
	.received = rendezvous_on_received,
	.ended = rendezvous_on_ended,
};

static struct nopal_plan *rendezvous_plan(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_parse(config, "meet.conf", NULL, &problems);
	if (!plan)
		nopal_problems_print(&problems, stderr);
	assert_non_null(plan);
	nopal_problems_fini(&problems);
	return plan;
}

void rendezvous_link(int from, const char *words)
{
	struct nopal_problems problems = { 0 };
	struct nopal_link link;

	assert_int_equal(nopal_link_parse(words, &link, &link, &problems), 0);
	nopal_problems_fini(&problems);
	assert_int_equal(nopal_sim_change(rendezvous.world, from, !from, &link), 0);
}

static void rendezvous_tap(void *user, int64_t now_ns, const struct nopal_address *from,
			   const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	int who = nopal_address_equal(from, &rendezvous.side[1].at);
	struct rendezvous_side *side = &rendezvous.side[who];

	(void)user, (void)now_ns, (void)to;
	if (side->out < RENDEZVOUS_TAPPED && length <= sizeof(side->sent[0].bytes)) {
		side->sent[side->out].length = length;
		memcpy(side->sent[side->out].bytes, bytes, length);
	}
	side->out++;
	side->bytes_out += length;
	if (rendezvous.firewalls && !rendezvous.passed[who]) {
		rendezvous.passed[who] = true; /* answers to it may pass from now on */
		rendezvous_link(!who, "delay 10ms");
	}
}

void rendezvous_begin(const char *first, const char *second, const char *words, uint64_t seed)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };

	memset(&rendezvous, 0, sizeof(rendezvous));
	assert_int_equal(nopal_link_parse(words, &forward, &reverse, &problems), 0);
	nopal_problems_fini(&problems);
	rendezvous.world = nopal_sim_new(seed);
	nopal_sim_host(rendezvous.world);
	nopal_sim_host(rendezvous.world);
	nopal_sim_connect(rendezvous.world, 0, 1, &forward, &reverse);
	nopal_sim_tap(rendezvous.world, rendezvous_tap, NULL);
	for (int i = 0; i < 2; i++) {
		struct rendezvous_side *side = &rendezvous.side[i];

		side->plan = rendezvous_plan(i ? second : first);
		side->endpoint =
			nopal_sim_endpoint(rendezvous.world, i, (uint16_t)(RENDEZVOUS_PORT + i));
		nopal_sim_address(i, (uint16_t)(RENDEZVOUS_PORT + i), &side->at);
	}
}

void rendezvous_firewalls(void)
{
	rendezvous.firewalls = true;
	for (int i = 0; i < 2; i++)
		rendezvous_link(i, "delay 10ms loss 100%");
}

void rendezvous_run(int64_t for_ns)
{
	nopal_sim_run(rendezvous.world, nopal_world_now(rendezvous.world) + for_ns);
}

void rendezvous_open(int who)
{
	struct rendezvous_side *side = &rendezvous.side[who];

	side->session = nopal_session_open(&(struct nopal_open){ .endpoint = side->endpoint,
								 .plan = side->plan,
								 .peer = &rendezvous.side[!who].at,
								 .callbacks = &rendezvous_callbacks,
								 .user = side,
								 .rendezvous = true });
	assert_non_null(side->session);
}

void rendezvous_say(int who, const char *text)
{
	assert_int_equal(nopal_send(rendezvous.side[who].session, text, strlen(text), 0), 0);
}

uint64_t rendezvous_sessions(int who)
{
	return nopal_endpoint_counters(rendezvous.side[who].endpoint)->sessions;
}

struct virtual_circuit *rendezvous_circuit(int who)
{
	struct nopal_composite *composite =
		nopal__bottom(nopal__composite(rendezvous.side[who].session));

	nopal__be_awake(composite);
	return nopal_state(
		((struct nopal_at){ &composite->session, composite->layer->plan->admission }));
}

int64_t rendezvous_shared(int who, const char *name)
{
	int64_t value = -1;

	assert_true(nopal_session_shared(rendezvous.side[who].session, name, &value));
	return value;
}

void rendezvous_expect_one_session(void)
{
	const struct nopal_composite *composites[2];

	for (int i = 0; i < 2; i++) {
		assert_int_equal(rendezvous.side[i].opened, 1);
		assert_int_equal(rendezvous.side[i].ended, 0);
		assert_int_equal(rendezvous_sessions(i), 1);
		composites[i] = nopal__bottom(nopal__composite(rendezvous.side[i].session));
	}
	assert_int_equal(rendezvous.side[0].opener, !rendezvous.side[1].opener);
	assert_int_equal(composites[0]->local_id, composites[1]->peer_id);
	assert_int_equal(composites[1]->local_id, composites[0]->peer_id);
	assert_true(rendezvous_circuit(0)->connect.nonce == rendezvous_circuit(1)->connect.nonce);
}

void rendezvous_expect_talk(void)
{
	rendezvous_say(0, "from the first");
	rendezvous_say(1, "from the second");
	rendezvous_run(NOPAL_SECOND);
	assert_string_equal(rendezvous.side[0].text, "from the second");
	assert_string_equal(rendezvous.side[1].text, "from the first");
}

void rendezvous_expect_good_end(void)
{
	nopal_session_close(rendezvous.side[0].session);
	rendezvous_run(10 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rendezvous.side[i].ended, 1);
		assert_int_equal(rendezvous.side[i].end, NOPAL_ENDED_WELL);
		assert_int_equal(rendezvous_sessions(i), 0);
	}
}

void rendezvous_end(void)
{
	for (int i = 0; i < 2; i++)
		if (rendezvous.side[i].session)
			assert_int_equal(
				nopal_session_counters(rendezvous.side[i].session)->misuses, 0);
	nopal_world_free(rendezvous.world);
	for (int i = 0; i < 2; i++)
		nopal_plan_unref(rendezvous.side[i].plan);
}

/* -------------------------------------------------------------------- forged */

void rendezvous_forge(int to, const struct nopal_address *from,
		      const struct rendezvous_forged *forged)
{
	const struct handshake_connect connect = {
		.nonce = forged->nonce,
		.initial = 1,
		.cookie_given = forged->cookie_given,
		.cookie = forged->cookie,
	};
	const char *text = nopal_plan_info(rendezvous.side[to].plan)->canonical;
	const uint8_t extensions[NOPAL_RESET_PROOF_BYTES] = { 0 };
	uint8_t bytes[1500];
	struct nopal_writer writer = nopal_writer_over(bytes, forged->length);
	uint8_t *check = bytes + 13, *body = check + NOPAL_CHECK_BYTES;
	const uint64_t key[2] = { forged->fingerprint, forged->id };
	struct nopal_writer again = nopal_writer_over(check, NOPAL_CHECK_BYTES);

	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_RENDEZVOUS), 1);
	nopal_write(&writer, forged->id, NOPAL_ID_BYTES);
	nopal_write(&writer, forged->fingerprint, NOPAL_FINGERPRINT_BYTES);
	nopal_write(&writer, 0, NOPAL_CHECK_BYTES);
	handshake_write_known(&writer, text, sizeof(extensions), &connect);
	nopal_write_bytes(&writer, extensions, sizeof(extensions));
	handshake_write_proof(&writer, &connect);
	nopal_write(&again, nopal__siphash(key, body, (size_t)(writer.at - body)),
		    NOPAL_CHECK_BYTES);
	nopal_sim_inject(rendezvous.world, rendezvous.side[to].endpoint, from, bytes,
			 nopal_written(&writer));
	nopal_sim_step(rendezvous.world);
}
