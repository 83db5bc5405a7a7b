/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.c -- `--rendezvous`: both sides open towards each other, and neither listens.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "peer/rendezvous.h"

enum { RENDEZVOUS_PORT_DIGITS = 5 };

bool rendezvous_fits(const struct nopal_plan *plan)
{
	if (nopal_plan_can_rendezvous(plan))
		return true;
	return tool_error("config %s has no rendezvous\n"
			  "  fix: take one with virtual_circuit and one destination, as -c bulk",
			  nopal_plan_info(plan)->name);
}

bool rendezvous_parse(const struct tool_call *call, const struct nopal_address *peer,
		      const struct nopal_plan *plan, struct rendezvous *ret_rendezvous)
{
	struct nopal_address *local = &ret_rendezvous->local;
	const char *text = tool_value(call, "rendezvous");
	char any[sizeof("0.0.0.0:") + RENDEZVOUS_PORT_DIGITS];
	size_t digits = text ? strspn(text, "0123456789") : 0;
	bool is_port;

	ret_rendezvous->wanted = text != NULL;
	if (!text)
		return true;
	is_port = digits > 0 && digits <= RENDEZVOUS_PORT_DIGITS && !text[digits];
	snprintf(any, sizeof(any), "0.0.0.0:%s", is_port ? text : "0");
	if (!tool_address(is_port ? any : text, local))
		return false;
	if (is_port)
		nopal_address_set_any(local, peer);
	if (local->port != 0)
		return rendezvous_fits(plan);
	return tool_error("--rendezvous %s: port 0 is none\n"
			  "  fix: give the port that the other side opens to",
			  text);
}

struct nopal_endpoint *rendezvous_endpoint(const struct rendezvous *rendezvous, struct loop *loop,
					   const struct nopal_address *peer)
{
	struct nopal_endpoint *endpoint;
	struct nopal_problems problems = { 0 };

	if (!rendezvous->wanted)
		return loop_endpoint_to(loop, peer);
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
