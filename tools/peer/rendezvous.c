/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.c -- `--rendezvous`: both sides open towards each other, and neither listens.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "peer/rendezvous.h"

enum { RENDEZVOUS_PORT_DIGITS = 5 };

static bool rendezvous_is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= RENDEZVOUS_PORT_DIGITS && !text[digits];
}

bool rendezvous_fits(const struct nopal_plan *plan)
{
	if (nopal_plan_can_rendezvous(plan))
		return true;
	fprintf(stderr,
		"error: nobody can meet a peer with config %s\n"
		"  fix: take one with virtual_circuit and one destination, as -c bulk\n",
		nopal_plan_name(plan));
	return false;
}

static bool rendezvous_parse_local(const char *text, const struct nopal_address *peer,
				   struct nopal_address *ret_local)
{
	char any[sizeof("0.0.0.0:") + RENDEZVOUS_PORT_DIGITS];
	struct nopal_problems problems;

	nopal_problems_init(&problems);
	snprintf(any, sizeof(any), "0.0.0.0:%s", rendezvous_is_port(text) ? text : "0");
	nopal_address_parse(rendezvous_is_port(text) ? any : text, ret_local, &problems);
	if (tool_problems(&problems))
		return false;
	if (rendezvous_is_port(text))
		nopal_address_set_any(ret_local, peer);
	if (ret_local->port != 0)
		return true;
	fprintf(stderr,
		"error: --rendezvous %s: port 0 is none\n"
		"  fix: give the port that the other side opens to\n",
		text);
	return false;
}

bool rendezvous_parse(const struct tool_call *call, const struct nopal_address *peer,
		      const struct nopal_plan *plan, struct rendezvous *ret_rendezvous)
{
	const char *text = tool_value(call, "rendezvous");

	ret_rendezvous->wanted = text != NULL;
	return !text || (rendezvous_parse_local(text, peer, &ret_rendezvous->local) &&
			 rendezvous_fits(plan));
}

struct nopal_endpoint *rendezvous_endpoint(const struct rendezvous *rendezvous, struct loop *loop,
					   const struct nopal_address *peer)
{
	struct nopal_endpoint *endpoint;
	struct nopal_problems problems;

	if (!rendezvous->wanted)
		return loop_endpoint_to(loop, peer);
	nopal_problems_init(&problems);
	endpoint = nopal_endpoint_open(loop_world(loop), &rendezvous->local, &problems);
	tool_problems(&problems);
	return endpoint;
}

struct nopal_session *rendezvous_open(const struct rendezvous *rendezvous,
				      struct nopal_endpoint *endpoint, struct nopal_plan *plan,
				      const struct nopal_address *peer,
				      const struct nopal_callbacks *callbacks, void *user)
{
	return nopal_session_open(&(struct nopal_open){ .endpoint = endpoint,
							.plan = plan,
							.peer = peer,
							.rendezvous = rendezvous->wanted,
							.callbacks = callbacks,
							.user = user });
}

const char *rendezvous_ended_fix(bool wanted, enum nopal_end end)
{
	if (wanted && end == NOPAL_UNREACHABLE)
		return "start both sides with --rendezvous, each with the other's address, within --set "
		       "virtual_circuit.rendezvous=TIME of each other";
	return tool_ended_fix(end);
}
