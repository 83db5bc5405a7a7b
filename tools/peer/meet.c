/* SPDX-License-Identifier: MIT */
/*
 * meet.c -- `--meet`: both sides open towards each other, and neither listens.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "peer/meet.h"

enum { MEET_PORT_DIGITS = 5 };

static bool meet_is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= MEET_PORT_DIGITS && !text[digits];
}

bool meet_fits(const struct nopal_plan *plan)
{
	if (nopal_plan_can_meet(plan))
		return true;
	fprintf(stderr,
		"error: nobody can meet a peer with config %s\n"
		"  fix: take one with virtual_circuit and one destination, as -c bulk\n",
		nopal_plan_name(plan));
	return false;
}

static bool meet_parse_local(const char *text, const struct nopal_address *peer,
			     struct nopal_address *ret_local)
{
	char any[sizeof("0.0.0.0:") + MEET_PORT_DIGITS];
	struct nopal_problems problems;

	nopal_problems_init(&problems);
	snprintf(any, sizeof(any), "0.0.0.0:%s", meet_is_port(text) ? text : "0");
	nopal_address_parse(meet_is_port(text) ? any : text, ret_local, &problems);
	if (tool_problems(&problems))
		return false;
	if (meet_is_port(text))
		nopal_address_set_any(ret_local, peer);
	if (ret_local->port != 0)
		return true;
	fprintf(stderr,
		"error: --meet %s: port 0 is none\n"
		"  fix: give the port that the other side opens to\n",
		text);
	return false;
}

bool meet_parse(const struct tool_call *call, const struct nopal_address *peer,
		const struct nopal_plan *plan, struct meet *ret_meet)
{
	const char *text = tool_value(call, "meet");

	ret_meet->wanted = text != NULL;
	return !text || (meet_parse_local(text, peer, &ret_meet->local) && meet_fits(plan));
}

struct nopal_endpoint *meet_endpoint(const struct meet *meet, struct loop *loop,
				     const struct nopal_address *peer)
{
	struct nopal_endpoint *endpoint;
	struct nopal_problems problems;

	if (!meet->wanted)
		return loop_endpoint_to(loop, peer);
	nopal_problems_init(&problems);
	endpoint = nopal_endpoint_open(loop_world(loop), &meet->local, &problems);
	tool_problems(&problems);
	return endpoint;
}

struct nopal_session *meet_open(const struct meet *meet, struct nopal_endpoint *endpoint,
				struct nopal_plan *plan, const struct nopal_address *peer,
				const struct nopal_callbacks *callbacks, void *user)
{
	return (meet->wanted ? nopal_rendezvous_open : nopal_session_open)(endpoint, plan, peer,
									   callbacks, user);
}

const char *meet_ended_fix(bool wanted, int end)
{
	if (wanted && end == NOPAL_UNREACHABLE)
		return "start both sides with --meet, each with the other's address, within --set "
		       "virtual_circuit.rendezvous=TIME of each other";
	return tool_ended_fix(end);
}
