/* SPDX-License-Identifier: MIT */
#include "support/oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lines.h"
#include "io/sim/sim.h"
#include "session/endpoint_sessions.h"

enum {
	PORT = 1000,
	REBOUND_PORT = 40000,
	UNEVEN = 10,	     /* messages of the first opener for one of another */
	STEPS_MAX = 1000000, /* without any progress */
	BUSY = 100,	     /* transmissions in the second half of them */
};
/* Without progress, until sessions are closed where no handshake says when; until timeouts are so
 * long that nobody waits for them; and until the run counts as stuck. */
#define QUIET_NS    (35 * NOPAL_SECOND)
#define PATIENCE_NS (200 * NOPAL_SECOND) /* for outcomes and for orders */
#define LOOK_NS	    (5 * NOPAL_SECOND)
#define SLOW_NS	    (50000 * NOPAL_SECOND)
#define STILL_NS    (100000000 * NOPAL_SECOND)
#define AFTER_NS    (100 * NOPAL_SECOND) /* what is left runs out */

/* ------------------------------------------------------------------ the config */

/* A layer of streams above destinations keeps no state, and so has no oracle. */
static bool is_watched(const char *layer_line, bool to_many)
{
	static const char streams[] = "multiplicity = per_stream";
	const char *next = strchr(layer_line, '\n');

	return !to_many || !next || strncmp(next + 1, streams, strlen(streams)) != 0;
}

char *oracle_watched(const char *config)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	bool watched = strstr(config, "an_oracle") != NULL;
	bool to_many = strstr(config, "multiplicity = per_destination") != NULL;
	bool layers = false;

	while (*config) {
		size_t line = strcspn(config, "\n");
		bool layer = strncmp(config, "layer ", strlen("layer ")) == 0;

		fprintf(out, "%.*s\n%s", (int)line, config,
			layer && !watched && is_watched(config, to_many) ? "an_oracle {}\n" : "");
		layers |= layer;
		config += line + (config[line] == '\n');
	}
	if (!layers && !watched)
		fprintf(out, "an_oracle {}\n");
	fclose(out);
	return text;
}

/* A shipped config, by its name, and the oracle in each of its layers. */
static struct nopal_plan *load_named(const char *name, struct nopal_problems *problems)
{
	struct nopal_plan *plan = nopal_plan_load(name, NULL, problems);
	char *text = NULL;
	size_t length;
	FILE *out;

	if (!plan)
		return NULL;
	out = open_memstream(&text, &length);
	fprintf(out, "extends = \"%s\"\n", name);
	for (uint32_t i = 0; i < plan->layer_count; i++)
		fprintf(out,
			plan->layer_count == 1 ? "an_oracle {}\n"
					       : "layer \"%s\" { an_oracle {} }\n",
			plan->layers[i].name);
	fclose(out);
	nopal_plan_unref(plan);
	plan = nopal_plan_parse(text, "oracle.conf", NULL, problems);
	free(text);
	return plan;
}

struct nopal_plan *oracle_plan(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	char *watched;

	oracle_register();
	if (strchr(config, '\n')) {
		watched = oracle_watched(config);
		plan = nopal_plan_parse(watched, "oracle.conf", NULL, &problems);
		free(watched);
	} else {
		plan = load_named(config, &problems);
	}
	if (!plan)
		nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	return plan;
}

/* ------------------------------------------------------------------- the sides */

/* Has a part of this text a setting? */
static bool is_set(const char *config)
{
	int settings = 0;

	for (int line = lines_count(config); line; line--)
		if (lines_kind(config, line) == LINE_PART)
			settings += lines_settings(config, line);
	return settings != 0;
}

static void read_plan(struct oracle *oracle)
{
	const struct nopal_plan *plan = oracle->plan;
	uint64_t limit = nopal_plan_info(plan)->message_limit;
	struct nopal_service service;

	for (unsigned i = 0; i < ORACLE_PROPERTIES; i++)
		oracle->property[i] = nopal_property(plan, oracle_properties[i]);
	oracle->set = is_set(oracle->run->config);
	oracle->cruel = weather_is_cruel(&oracle->weather);
	nopal_plan_service(plan, 0, NULL, &service);
	oracle->cruel |= service.quality[NOPAL_PACE].value == NOPAL_FIXED_RATE;
	oracle->corrupts = weather_has(&oracle->weather, "corrupt");
	oracle->replays =
		(weather_has(&oracle->weather, "duplicate") ||
		 weather_has(&oracle->weather, "reorder") || oracle->weather.phases > 1) &&
		nopal_plan_provides(plan, "confidentiality");
	oracle->interop = nopal_plan_provides(plan, "data_format");
	oracle->handshake = nopal_plan_provides(plan, "connection");
	oracle->group = plan->destinations != 0;
	oracle->longest = limit < ORACLE_LONGEST ? (uint32_t)limit : ORACLE_LONGEST;
	oracle->pairs = oracle->run->pairs ? oracle->run->pairs : 1;
	if (!oracle->group && !plan->flow)
		oracle->pairs = 1;
	oracle->openers = oracle->group ? 1 : oracle->pairs;
	oracle->sides = oracle->openers + oracle->pairs;
}

static uint32_t messages_of(const struct oracle_side *side)
{
	const struct oracle_run *run = side->oracle->run;

	if (!side->opener)
		return run->answers;
	return run->uneven && side->number ? run->messages / UNEVEN : run->messages;
}

static void prepare_sides(struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->sides; i++) {
		struct oracle_side *side = &oracle->side[i];

		side->oracle = oracle;
		side->number = i;
		side->opener = i < oracle->openers;
		for (unsigned from = 0; from < oracle->sides; from++) {
			side->heard[from].latest = -1;
			side->heard[from].newest[0] = -1;
			side->heard[from].newest[1] = -1;
			for (int tag = 0; tag < ORACLE_TAGS; tag++)
				side->heard[from].newest_of_tag[tag] = -1;
		}
		oracle_plan_messages(side, messages_of(side));
	}
}

static bool prepare(struct oracle *oracle, const struct oracle_run *run)
{
	memset(oracle, 0, sizeof(*oracle));
	oracle->run = run;
	oracle->plan = run->plan ? nopal_plan_ref(run->plan) : oracle_plan(run->config);
	if (!oracle->plan) {
		oracle_violated(oracle, "the config is bad");
		return false;
	}
	if (!weather_read(run->weather, &oracle->weather)) {
		oracle_violated(oracle, "the weather is bad");
		nopal_plan_unref(oracle->plan);
		return false;
	}
	oracle->draw = draw_of(run->seed);
	read_plan(oracle);
	prepare_sides(oracle);
	return true;
}

/* -------------------------------------------------------------------- the world */

static unsigned hosts(const struct oracle *oracle)
{
	return oracle->group ? 1 + oracle->pairs : 2;
}

/* Host 0 is where sessions are opened; to each other one leads a link. */
static void links(struct oracle *oracle, const char *words, bool change)
{
	struct nopal_link forward, reverse;
	struct nopal_problems problems = { 0 };

	nopal_link_parse(words, &forward, &reverse, &problems);
	nopal_problems_fini(&problems);
	for (int i = 1; i < (int)hosts(oracle); i++)
		if (change) {
			nopal_sim_change(oracle->world, 0, i, &forward);
			nopal_sim_change(oracle->world, i, 0, &reverse);
		} else {
			nopal_sim_connect(oracle->world, 0, i, &forward, &reverse);
		}
}

static void count_datagram(void *user, int64_t now_ns, const struct nopal_address *from,
			   const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct oracle *oracle = user;

	(void)now_ns, (void)from, (void)to, (void)bytes;
	oracle->traffic.datagrams++;
	oracle->traffic.bytes += length;
}

static void build(struct oracle *oracle)
{
	const struct oracle_run *run = oracle->run;

	oracle->world = nopal_sim_new(run->seed);
	nopal_sim_tap(oracle->world, count_datagram, oracle);
	if (run->traced)
		nopal_trace_start(oracle->world, run->trace_file, NOPAL_TRACE_EVENTS);
	for (unsigned i = 0; i < hosts(oracle); i++)
		nopal_sim_host(oracle->world);
	links(oracle, oracle->weather.phase[0].words, false);
	for (unsigned i = 0; i < hosts(oracle); i++) {
		oracle->endpoint[i] = nopal_sim_endpoint(oracle->world, (int)i, PORT);
		if (i)
			nopal_endpoint_allow(oracle->endpoint[i], oracle->plan,
					     NOPAL_ALLOW_CONNECTIONLESS, &oracle_callbacks,
					     &oracle->side[oracle->openers + i - 1]);
	}
	if (!oracle_has_early(oracle))
		return;
	links(oracle, "delay 1ms", true);
	oracle_get_ticket(oracle);
	links(oracle, oracle->weather.phase[0].words, true);
}

/* Of a host by the family of the channel; without one by IPv4. */
static void address_of(const struct oracle *oracle, unsigned host,
		       struct nopal_address *ret_address)
{
	/* in a canonical config, brackets are around addresses of IPv6 alone */
	bool v6 = strstr(nopal_plan_info(oracle->plan)->canonical, "=[") != NULL;

	(v6 ? nopal__sim_address6 : nopal_sim_address)((int)host, PORT, ret_address);
}

static void open_group(struct oracle *oracle)
{
	struct oracle_side *side = &oracle->side[0];
	struct nopal_address peer;

	side->session = nopal_session_open(&(struct nopal_open){ .endpoint = oracle->endpoint[0],
								 .plan = oracle->plan,
								 .callbacks = &oracle_callbacks,
								 .user = side });
	side->begun = true;
	side->gathers = true;
	if (!side->session)
		oracle_violated(oracle, "a group was not opened");
	for (unsigned i = 1; side->session && i < oracle->sides; i++) {
		address_of(oracle, i, &peer);
		oracle->side[i].destination = nopal_destination_add(side->session, &peer);
	}
	side->gathers = false;
	oracle_push(side);
}

static void open_pairs(struct oracle *oracle)
{
	struct nopal_address peer;

	address_of(oracle, 1, &peer);
	for (unsigned i = 0; i < oracle->openers; i++) {
		struct oracle_side *side = &oracle->side[i];

		if (i && !oracle->plan->flow_shared)
			side->session = nopal_session_open(
				&(struct nopal_open){ .beside = oracle->side[0].session,
						      .callbacks = &oracle_callbacks,
						      .user = side });
		else
			side->session = nopal_open(oracle->endpoint[0], oracle->plan, &peer,
						   &oracle_callbacks, side);
		side->begun = true;
		if (!side->session)
			oracle_violated(oracle, "a session was not opened");
		if (side->ended) /* in the call */
			side->session = NULL;
		if (oracle_has_early(oracle))
			oracle_push(side);
	}
}

/* ------------------------------------------------------------------- the run */

static bool all_ended(const struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->sides; i++)
		if (oracle->side[i].begun && !oracle->side[i].ended)
			return false;
	return true;
}

/* Without a handshake: when all has been sent, and nothing has moved for a while. */
static void close_when_quiet(void *user)
{
	struct oracle *oracle = user;
	int64_t now_ns = nopal_world_now(oracle->world);
	bool quiet = oracle->moved_ns + QUIET_NS <= now_ns;

	for (unsigned i = 0; i < oracle->sides; i++) {
		const struct oracle_side *side = &oracle->side[i];

		quiet &= !side->session ||
			 (side->outcomes == side->messages && !oracle_keeps_messages(side)) ||
			 oracle->moved_ns + PATIENCE_NS <= now_ns;
	}
	if (!quiet) {
		nopal_sim_at(oracle->world, now_ns + LOOK_NS, close_when_quiet, oracle);
		return;
	}
	for (unsigned i = 0; i < oracle->sides; i++)
		oracle_close(&oracle->side[i]);
}

/* A NAT gives the openers' host another port: datagrams leave from it from now on, and those to the
 * old one are lost. */
static void rebind(void *user)
{
	struct oracle *oracle = user;
	struct nopal_endpoint *endpoint = oracle->endpoint[0];
	const struct nopal_world_ops *ops = oracle->world->ops;

	ops->port_close(oracle->world, endpoint);
	endpoint->port.local.port = REBOUND_PORT;
	if (ops->port_open(oracle->world, endpoint, NULL) < 0)
		oracle_violated(oracle, "the openers' host has no other port");
	endpoint->port.local.port = PORT; /* a host does not learn the other */
}

static void run_until(struct oracle *oracle, int64_t until_ns)
{
	if (!all_ended(oracle))
		nopal_sim_run(oracle->world, until_ns);
}

/* The words change; from the cut on nothing passes. */
static void change(struct oracle *oracle)
{
	int64_t cut_ns = oracle->run->cut_ns;

	for (unsigned i = 1; i < oracle->weather.phases; i++) {
		const struct weather_phase *phase = &oracle->weather.phase[i];

		if (cut_ns && phase->from_ns >= cut_ns)
			break;
		run_until(oracle, phase->from_ns);
		links(oracle, phase->words, true);
	}
	if (!cut_ns)
		return;
	run_until(oracle, cut_ns);
	links(oracle, "loss 100%", true);
}

/* Until all sessions have ended, or nothing moves any more. */
static void settle(struct oracle *oracle)
{
	uint32_t moves = oracle->moves, steps = 0;
	uint64_t transmissions = 0;

	oracle->moved_ns = nopal_world_now(oracle->world);
	while (!all_ended(oracle) && !oracle->violation[0] && nopal_sim_step(oracle->world)) {
		if (oracle->moves != moves) {
			moves = oracle->moves;
			steps = 0;
		}
		if (++steps == STEPS_MAX / 2)
			transmissions = oracle_transmissions(oracle);
		if (steps > STEPS_MAX ||
		    nopal_world_now(oracle->world) > oracle->moved_ns + STILL_NS)
			break;
	}
	oracle->tired = steps > STEPS_MAX;
	oracle->busy =
		oracle->tired && (oracle_transmissions(oracle) > transmissions + BUSY ||
				  nopal_world_now(oracle->world) > oracle->moved_ns + SLOW_NS);
}

/* Nothing of a session outlives it; one that nobody heard of may live yet. */
static void check_returned(struct oracle *oracle)
{
	for (unsigned i = 0; i < hosts(oracle); i++) {
		const struct nopal_endpoint *endpoint = oracle->endpoint[i];
		const struct nopal_pool *pool = endpoint->pools;
		bool idle = !endpoint->sessions && !endpoint->idle;

		for (; idle && pool; pool = pool->next)
			if (pool->free_count != pool->made)
				oracle_violated(oracle,
						"%u objects are left when all "
						"sessions have ended",
						pool->made - pool->free_count);
	}
}

static void go(struct oracle *oracle)
{
	build(oracle);
	if (oracle->group)
		open_group(oracle);
	else
		open_pairs(oracle);
	if (!oracle_closes_itself(oracle))
		nopal_sim_at(oracle->world, weather_calm_ns(&oracle->weather) + QUIET_NS,
			     close_when_quiet, oracle);
	if (oracle->run->rebind_ns)
		nopal_sim_at(oracle->world, oracle->run->rebind_ns, rebind, oracle);
	change(oracle);
	settle(oracle);
	oracle_judge(oracle);
	if (getenv("NOPAL_LAW_DUMP"))
		oracle_dump(oracle);
	if (!oracle->violation[0] && all_ended(oracle)) {
		nopal_sim_run(oracle->world, nopal_world_now(oracle->world) + AFTER_NS);
		check_returned(oracle);
	}
}

bool oracle_run(struct oracle *oracle, const struct oracle_run *run)
{
	if (prepare(oracle, run)) {
		go(oracle);
		if (run->traced)
			oracle->trace = nopal_trace_hash(oracle->world);
		nopal_world_free(oracle->world);
		nopal_plan_unref(oracle->plan);
	}
	return oracle->violation[0] == '\0';
}
