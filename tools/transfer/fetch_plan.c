/* SPDX-License-Identifier: MIT */
/*
 * fetch_plan.c -- which server is asked for which part of a file, and when.
 */
#include <stdlib.h>
#include <string.h>

#include "transfer/fetch_plan.h"

enum {
	PLAN_HERE = 255,     /* in place of a count of servers */
	PLAN_COPIES = 2,     /* of one part under way */
	PLAN_WINDOW_MIN = 2, /* one comes, one is next */
	PLAN_QUICK = 2,	     /* the rate follows a higher sample by half, */
	PLAN_SLOW = 8,	     /* and a lower one by so little: gaps are common */
	PLAN_LATE_PARTS = 4, /* silence begins after the time of so many parts */
	PLAN_NS_PER_US = 1000,
	PLAN_US_PER_S = 1000000,
};
#define PLAN_NS_PER_S  INT64_C(1000000000)
#define PLAN_AHEAD_NS  (PLAN_NS_PER_S / 5) /* beyond a round trip */
#define PLAN_ROUND_MAX (5 * PLAN_NS_PER_S)
#define PLAN_SILENT_NS (PLAN_NS_PER_S / 2)
#define PLAN_FIRST_NS  (2 * PLAN_NS_PER_S) /* silence of a new server */
#define PLAN_NEVER     INT64_MAX

bool fetch_plan_init(struct fetch_plan *plan, uint64_t parts, uint32_t part_bytes, unsigned servers)
{
	*plan = (struct fetch_plan){
		.part_bytes = part_bytes,
		.parts = parts,
		.servers = servers,
		.window_max = FETCH_APART_MAX / servers,
		.part = calloc(parts + 1, 1),
		.server = calloc(servers, sizeof(*plan->server)),
	};
	if (plan->window_max > FETCH_WINDOW_MAX)
		plan->window_max = FETCH_WINDOW_MAX;
	if (plan->part && plan->server)
		return true;
	fetch_plan_fini(plan);
	return false;
}

void fetch_plan_fini(struct fetch_plan *plan)
{
	free(plan->part);
	free(plan->server);
	*plan = (struct fetch_plan){ 0 };
}

void fetch_plan_have(struct fetch_plan *plan, uint64_t part)
{
	plan->here += plan->part[part] != PLAN_HERE;
	plan->part[part] = PLAN_HERE;
}

bool fetch_plan_is_whole(const struct fetch_plan *plan)
{
	return plan->here == plan->parts;
}

/* ------------------------------------------------------------------- estimates */

static int64_t plan_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Between two parts of a server whose rate is known. */
static int64_t plan_gap_ns(const struct fetch_plan *plan, const struct fetch_server *server)
{
	return (int64_t)(plan->part_bytes * (uint64_t)PLAN_NS_PER_S / server->rate);
}

/* The parts that a server brings in this time: so many may be under way. */
static unsigned plan_window(const struct fetch_plan *plan, const struct fetch_server *server,
			    int64_t ns)
{
	uint64_t parts = 1 + (server->rate * (uint64_t)(ns / PLAN_NS_PER_US) / PLAN_US_PER_S) /
				     plan->part_bytes;

	if (parts < PLAN_WINDOW_MIN)
		return PLAN_WINDOW_MIN;
	return parts < plan->window_max ? (unsigned)parts : plan->window_max;
}

/* The server owes a part, and has brought nothing since. */
static int64_t plan_waited_ns(const struct fetch_server *server, int64_t now_ns)
{
	return now_ns - plan_later(server->brought_ns, server->asked[0].asked_ns);
}

/* The time at which a server would have brought so many parts more; a server that has stopped for a
 * while is as slow as that while. */
static int64_t plan_due_ns(const struct fetch_plan *plan, const struct fetch_server *server,
			   unsigned parts, int64_t now_ns)
{
	int64_t gap_ns;

	if (!server->rate)
		return PLAN_NEVER;
	gap_ns = plan_gap_ns(plan, server);
	if (server->asked_count)
		gap_ns = plan_later(gap_ns, plan_waited_ns(server, now_ns) - server->round_ns);
	return now_ns + (int64_t)parts * gap_ns;
}

/* --------------------------------------------------- servers come, servers go */

void fetch_plan_join(struct fetch_plan *plan, unsigned server)
{
	fetch_plan_leave(plan, server);
	plan->server[server] = (struct fetch_server){
		.there = true,
		.wrong = plan->server[server].wrong,
	};
}

static void plan_give_back(struct fetch_plan *plan, struct fetch_server *server)
{
	for (unsigned i = 0; i < server->asked_count; i++) {
		struct fetch_asked *asked = &server->asked[i];

		if (asked->given_back)
			continue;
		asked->given_back = true;
		if (plan->part[asked->part] == PLAN_HERE)
			continue;
		plan->part[asked->part]--;
		if (asked->part < plan->lowest)
			plan->lowest = asked->part;
	}
}

void fetch_plan_leave(struct fetch_plan *plan, unsigned server)
{
	plan_give_back(plan, &plan->server[server]);
	plan->server[server].asked_count = 0;
	plan->server[server].there = false;
}

void fetch_plan_look(struct fetch_plan *plan, int64_t now_ns)
{
	for (unsigned i = 0; i < plan->servers; i++) {
		struct fetch_server *server = &plan->server[i];
		int64_t max_ns = PLAN_FIRST_NS;

		if (server->silent || !server->there || !server->asked_count)
			continue;
		if (server->rate)
			max_ns = PLAN_SILENT_NS + 2 * server->round_ns +
				 PLAN_LATE_PARTS * plan_gap_ns(plan, server);
		if (plan_waited_ns(server, now_ns) <= max_ns)
			continue;
		server->silent = true;
		plan_give_back(plan, server);
	}
}

/* ----------------------------------------------------------------- put aside */

static bool plan_was_wrong(const struct fetch_server *server, uint64_t part)
{
	for (unsigned i = 0; i < server->wrong.count; i++)
		if (server->wrong.part[i] == part)
			return true;
	return false;
}

bool fetch_plan_is_useless(const struct fetch_plan *plan, unsigned server)
{
	const struct fetch_server *me = &plan->server[server];
	uint64_t missing = plan->parts - plan->here;

	for (unsigned i = 0; i < me->wrong.count; i++)
		missing -= plan->part[me->wrong.part[i]] != PLAN_HERE;
	return me->wrong.count && !me->asked_count && !missing;
}

/* --------------------------------------------------------------------- asking */

/* The part that another server alone owes and would bring last of all, where this one may bring it,
 * and sooner. */
static bool plan_part_again(const struct fetch_plan *plan, const struct fetch_server *me,
			    int64_t now_ns, uint64_t *ret_part)
{
	int64_t latest_ns = me->asked_count ? PLAN_NEVER : now_ns;
	bool found = false;

	if (me->rate)
		latest_ns = plan_later(now_ns + me->round_ns,
				       plan_due_ns(plan, me, me->asked_count + 1, now_ns));
	for (unsigned i = 0; i < plan->servers; i++) {
		const struct fetch_server *other = &plan->server[i];
		unsigned last = other == me ? 0 : other->asked_count;

		while (last > 0 && (other->asked[last - 1].given_back ||
				    plan->part[other->asked[last - 1].part] >= PLAN_COPIES ||
				    plan_was_wrong(me, other->asked[last - 1].part)))
			last--;
		if (!last || plan_due_ns(plan, other, last, now_ns) <= latest_ns)
			continue;
		latest_ns = plan_due_ns(plan, other, last, now_ns);
		*ret_part = other->asked[last - 1].part;
		found = true;
	}
	return found;
}

bool fetch_plan_ask(struct fetch_plan *plan, unsigned server, int64_t now_ns, uint64_t *ret_part)
{
	struct fetch_server *me = &plan->server[server];
	uint64_t part;
	int64_t ahead_ns;

	if (!me->there || me->silent)
		return false;
	/* A round trip, and a while in which the server does not wait. */
	ahead_ns = plan_later(PLAN_AHEAD_NS, me->round_ns);
	if (me->asked_count >= plan_window(plan, me, me->round_ns + ahead_ns))
		return false;
	for (unsigned i = 0; me->wrong.count && i < plan->servers; i++) {
		const struct fetch_server *better = &plan->server[i];

		if (better->there && !better->silent && !better->wrong.count)
			return false;
	}
	while (plan->lowest < plan->parts && plan->part[plan->lowest])
		plan->lowest++;
	part = plan->lowest; /* the first free part in the file */
	while (part < plan->parts && (plan->part[part] || plan_was_wrong(me, part)))
		part++;
	/* A second copy is asked for only where the server would be idle before the next part. */
	if (part == plan->parts && !(me->asked_count < plan_window(plan, me, me->round_ns) &&
				     plan_part_again(plan, me, now_ns, &part)))
		return false;
	plan->part[part]++;
	me->asked[me->asked_count] = (struct fetch_asked){
		.part = part,
		.asked_ns = now_ns,
		.brought_ns = me->asked_count ? plan_later(me->brought_ns, me->asked[0].asked_ns)
					      : now_ns,
		.brought = me->brought,
	};
	me->asked_count++;
	*ret_part = part;
	return true;
}

/* --------------------------------------------------------------------- arriving */

/* The place of the part among those that the server was asked for, or their count. */
static unsigned plan_find(const struct fetch_server *server, uint64_t part)
{
	unsigned i = 0;

	while (i < server->asked_count && server->asked[i].part != part)
		i++;
	return i;
}

static void plan_forget(struct fetch_server *server, unsigned index)
{
	server->asked_count--;
	memmove(&server->asked[index], &server->asked[index + 1],
		(server->asked_count - index) * sizeof(server->asked[0]));
}

enum fetch_came fetch_plan_came(struct fetch_plan *plan, unsigned server, uint64_t part,
				uint64_t length, int64_t now_ns)
{
	struct fetch_server *from = &plan->server[server];
	unsigned index = plan_find(from, part);
	struct fetch_asked asked;
	int64_t took_ns, since_ns;
	uint64_t rate;

	if (index == from->asked_count)
		return FETCH_UNASKED;
	asked = from->asked[index];
	plan_forget(from, index);
	from->brought += length;
	from->brought_ns = now_ns;
	from->silent = false;
	took_ns = now_ns - asked.asked_ns;
	since_ns = now_ns - asked.brought_ns;
	if (took_ns < 1)
		took_ns = 1;
	if (took_ns > PLAN_ROUND_MAX)
		took_ns = PLAN_ROUND_MAX;
	if (!from->round_ns || took_ns < from->round_ns)
		from->round_ns = took_ns;
	if (since_ns < PLAN_NS_PER_US)
		since_ns = PLAN_NS_PER_US;
	rate = (from->brought - asked.brought) * PLAN_US_PER_S /
	       (uint64_t)(since_ns / PLAN_NS_PER_US);
	if (!from->rate)
		from->rate = rate;
	else if (rate > from->rate)
		from->rate += (rate - from->rate) / PLAN_QUICK;
	else
		from->rate -= (from->rate - rate) / PLAN_SLOW;
	if (!from->rate)
		from->rate = 1;
	if (plan->part[part] == PLAN_HERE)
		return FETCH_TWICE;
	fetch_plan_have(plan, part);
	return FETCH_NEW;
}

bool fetch_plan_wrong(struct fetch_plan *plan, unsigned server, uint64_t part)
{
	struct fetch_server *from = &plan->server[server];
	struct fetch_wrong *wrong = &from->wrong;
	unsigned index = plan_find(from, part);

	if (index == from->asked_count || wrong->count == FETCH_WRONG_MAX)
		return false;
	if (!plan_was_wrong(from, part))
		wrong->part[wrong->count++] = part;
	plan_give_back(plan, from);
	plan_forget(from, index);
	return true;
}
