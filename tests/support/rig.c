/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "engine/composite.h"
#include "registry/registry.h"
#include "support/rig.h"
#include "support/test.h"

/* ----------------------------------------------------------------- the tap */

static void note(struct nopal_session *session, enum nopal_event event, uint32_t number,
		 uint8_t kind)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct rig_side *side = nopal__top(composite)->user;

	if (!side || side->events == RIG_EVENTS)
		return;
	side->event[side->events++] = (struct rig_event){ event, number, kind, session->now_ns };
}

#define NUMBER(subject)                                                                            \
	_Generic((subject), struct nopal_segment *                                                 \
		 : number_of_segment, struct nopal_message *                                       \
		 : number_of_message, default                                                      \
		 : number_of_other)(subject)
#define KIND(subject)                                                                              \
	_Generic((subject), struct nopal_segment *                                                 \
		 : kind_of_segment, default                                                        \
		 : kind_of_other)(subject)

static uint32_t number_of_segment(const struct nopal_segment *segment)
{
	return segment->number;
}

static uint32_t number_of_message(const struct nopal_message *message)
{
	return message->number;
}

static uint32_t number_of_other(const void *subject)
{
	(void)subject;
	return 0;
}

static uint8_t kind_of_segment(const struct nopal_segment *segment)
{
	return segment->kind;
}

static uint8_t kind_of_other(const void *subject)
{
	(void)subject;
	return 0;
}

#define EVENT(name, type, doc)                                                                     \
	static enum nopal_verdict tap_on_##name(struct nopal_at at, type *subject)                 \
	{                                                                                          \
		note(at.session, NOPAL_##name, NUMBER(subject), KIND(subject));                    \
		return NOPAL_CONTINUE;                                                             \
	}
#include <nopal/events.def>
#undef EVENT

static const struct nopal_binding tap_bindings[] = {
#define EVENT(name, type, doc) NOPAL_ON(name, tap_on_##name, .kinds = NOPAL_EVERY_KIND),
#include <nopal/events.def>
#undef EVENT
	{ 0 },
};

static const struct nopal_microprotocol tap = {
	.abi = NOPAL_ABI,
	.name = "a_tap",
	.family = "check",
	.summary = "notes every event for a test",
	.bindings = tap_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};

void rig_add(const struct nopal_microprotocol *microprotocol)
{
	struct nopal_problems problems = { 0 };

	assert_true(nopal__registry_add(microprotocol, "test", &problems));
	nopal_problems_fini(&problems);
}

/* --------------------------------------------------------------- callbacks */

static void *on_accepted(struct nopal_session *session, void *listener_user)
{
	struct rig *rig = listener_user;

	rig->acceptor.session = session;
	return &rig->acceptor;
}

static void on_opened(struct nopal_session *session, void *user)
{
	struct rig_side *side = user;

	(void)session;
	side->opened++;
}

static void on_received(struct nopal_session *session, struct nopal_message *message, void *user)
{
	struct rig_side *side = user;

	if (side->delivered < RIG_MESSAGES) {
		char *text = side->text[side->delivered];
		size_t length = nopal_message_copy(message, 0, text, RIG_TEXT - 1);

		text[length] = '\0';
		side->length[side->delivered] = nopal_message_length(message);
		side->delivered_ns[side->delivered] = session->now_ns;
	}
	side->delivered++;
	side->delivered_bytes += nopal_message_length(message);
}

static void on_sent(struct nopal_session *session, uint64_t cookie, enum nopal_outcome outcome,
		    void *user)
{
	struct rig_side *side = user;

	(void)session;
	(void)cookie;
	side->outcomes[outcome]++;
}

static void on_writable(struct nopal_session *session, void *user)
{
	struct rig_side *side = user;

	(void)session;
	side->writable++;
}

static void on_peer_closed(struct nopal_session *session, void *user)
{
	struct rig_side *side = user;

	side->peer_closed++;
	nopal_session_close(session);
}

static void on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
		     void *user)
{
	struct rig_side *side = user;

	side->counters = *nopal_session_counters(session);
	side->session = NULL;
	side->ended++;
	side->end = (enum nopal_end)end;
	snprintf(side->end_text, sizeof(side->end_text), "%s", text);
}

static const struct nopal_callbacks callbacks = {
	.accepted = on_accepted,
	.opened = on_opened,
	.received = on_received,
	.sent = on_sent,
	.writable = on_writable,
	.peer_closed = on_peer_closed,
	.ended = on_ended,
};

/* ------------------------------------------------------------ opening, closing */

static struct nopal_plan *plan_of(const char *config, const char *const *sets)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	rig_add(&tap);
	plan = nopal_plan_parse(config, "rig.conf", sets, &problems);
	if (!plan)
		nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	assert_non_null(plan);
	return plan;
}

struct nopal_plan *rig_plan(const char *config)
{
	return plan_of(config, NULL);
}

bool rig_refused(const char *config, char *text, size_t room)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	FILE *out = fmemopen(text, room, "w");

	rig_add(&tap);
	plan = nopal_plan_parse(config, "rig.conf", NULL, &problems);
	nopal_problems_print(&problems, out);
	nopal_problems_fini(&problems);
	fclose(out);
	nopal_plan_unref(plan);
	return plan == NULL;
}

static void links(const char *words, struct nopal_link *ret_forward, struct nopal_link *ret_reverse)
{
	struct nopal_problems problems = { 0 };

	assert_int_equal(nopal_link_parse(words, ret_forward, ret_reverse, &problems), 0);
	nopal_problems_fini(&problems);
}

void rig_change(struct rig *rig, const char *words)
{
	struct nopal_link forward, reverse;

	links(words, &forward, &reverse);
	assert_int_equal(nopal_sim_change(rig->world, 0, 1, &forward), 0);
}

void rig_change_both(struct rig *rig, const char *words)
{
	struct nopal_link forward, reverse;

	links(words, &forward, &reverse);
	assert_int_equal(nopal_sim_change(rig->world, 0, 1, &forward), 0);
	assert_int_equal(nopal_sim_change(rig->world, 1, 0, &reverse), 0);
}

static void connect_hosts(struct rig *rig, const char *words, const char *edge)
{
	struct nopal_link forward, reverse, near, far;

	links(words, &forward, &reverse);
	if (edge) {
		links(edge, &near, &far);
		assert_int_equal(nopal_sim_dumbbell(rig->world, 1, &near, &forward, &reverse), 0);
		return;
	}
	nopal_sim_host(rig->world);
	nopal_sim_host(rig->world);
	assert_true(nopal_sim_connect(rig->world, 0, 1, &forward, &reverse) >= 0);
}

static void session_open(struct rig *rig)
{
	struct nopal_address peer;

	nopal_sim_address(1, RIG_ACCEPTOR_PORT, &peer);
	rig->opener.session =
		nopal_open(rig->opener.endpoint, rig->plan, &peer, &callbacks, &rig->opener);
	assert_non_null(rig->opener.session);
}

void rig_open(struct rig *rig, const char *config, const struct rig_options *options)
{
	static const struct rig_options defaults;

	options = options ? options : &defaults;
	memset(rig, 0, sizeof(*rig));
	rig->plan = plan_of(config, options->sets);
	rig->world = nopal_sim_new(options->seed ? options->seed : 1);
	connect_hosts(rig, options->link ? options->link : "delay 10ms", options->edge);
	rig->opener.rig = rig->acceptor.rig = rig;
	rig->opener.endpoint = nopal_sim_endpoint(rig->world, 0, RIG_OPENER_PORT);
	rig->acceptor.endpoint = nopal_sim_endpoint(rig->world, 1, RIG_ACCEPTOR_PORT);
	assert_int_equal(nopal_endpoint_allow(rig->acceptor.endpoint, rig->plan,
					      NOPAL_ALLOW_CONNECTIONLESS, &callbacks, rig),
			 0);
	if (!options->stay_closed)
		rig_start(rig);
}

void rig_start(struct rig *rig)
{
	session_open(rig);
	if (nopal_plan_provides(rig->plan, "connection"))
		for (int step = 0; step < 1000 && rig->opener.session &&
				   !(rig->opener.opened && rig->acceptor.opened);
		     step++)
			rig_run(rig, 10 * NOPAL_MILLISECOND);
}

void rig_begin(struct rig *rig, const char *config)
{
	rig_open(rig, config, NULL);
	rig_send(rig, "x");
	rig_run(rig, NOPAL_SECOND);
	assert_int_equal(rig->acceptor.delivered, 1);
}

static void check_side(const struct rig_side *side)
{
	const struct nopal_counters *counters =
		side->session ? nopal_session_counters(side->session) : &side->counters;

	assert_int_equal(counters->misuses, 0);
}

void rig_close(struct rig *rig)
{
	check_side(&rig->opener);
	check_side(&rig->acceptor);
	nopal_world_free(rig->world);
	assert_null(rig->opener.session);
	assert_null(rig->acceptor.session);
	nopal_plan_unref(rig->plan);
}

void rig_run(struct rig *rig, int64_t duration_ns)
{
	nopal_sim_run(rig->world, nopal_world_now(rig->world) + duration_ns);
}

static void nothing(void *user)
{
	(void)user;
}

void rig_pass(struct rig *rig, int64_t duration_ns)
{
	nopal_sim_at(rig->world, nopal_world_now(rig->world) + duration_ns, nothing, NULL);
	rig_run(rig, duration_ns);
}

int rig_send(struct rig *rig, const char *text)
{
	return nopal_send(rig->opener.session, text, strlen(text), rig->cookie++);
}

int rig_send_bytes(struct rig *rig, size_t length)
{
	uint8_t *bytes = malloc(length ? length : 1);
	int result;

	assert_non_null(bytes);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(i + rig->cookie);
	result = nopal_send(rig->opener.session, bytes, length, rig->cookie++);
	free(bytes);
	return result;
}

void rig_finish(struct rig *rig)
{
	if (rig->opener.session)
		nopal_session_close(rig->opener.session);
	for (int second = 0; second < 120 && (rig->opener.session || rig->acceptor.session);
	     second++)
		rig_run(rig, NOPAL_SECOND);
}

/* -------------------------------------------------------------- looking inside */

const struct nopal_part *rig_part(const struct nopal_session *session, const char *name)
{
	const struct nopal_plan *plan = nopal__composite(session)->layer->plan;

	nopal__be_awake(nopal__composite(session));
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++)
		if (strcmp(nopal_plan_part(plan, i)->microprotocol->name, name) == 0)
			return nopal_plan_part(plan, i);
	fail_msg("no microprotocol %s in the session", name);
	return NULL;
}

struct nopal_at rig_at(struct nopal_session *session, const char *name)
{
	return (struct nopal_at){ session, rig_part(session, name) };
}

void *rig_state(struct nopal_session *session, const char *name)
{
	return nopal_state(rig_at(session, name));
}

struct nopal_segment *rig_segment(struct nopal_session *session, uint32_t number)
{
	struct nopal_segment *segment = nopal__pool_oldest(&rig_awake(session)->segments);

	while (segment && segment->number != number)
		segment = nopal__pool_newer(segment);
	return segment;
}

int64_t rig_shared(const struct nopal_session *session, const char *name)
{
	int64_t value = 0;

	assert_true(nopal_session_shared(session, name, &value));
	return value;
}

uint32_t rig_count(const struct rig_side *side, enum nopal_event event)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < side->events; i++)
		count += side->event[i].event == event;
	return count;
}

void rig_send_many(struct rig *rig, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(rig_send(rig, "x"), 0);
}

void rig_open_spoken(struct rig *rig, const char *config, const char *link)
{
	rig_open(rig, config, &(struct rig_options){ .link = link });
	assert_int_equal(rig_send(rig, "first"), 0);
	rig_run(rig, NOPAL_SECOND);
	assert_int_equal(rig->acceptor.delivered, 1);
}
