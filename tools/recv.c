/* SPDX-License-Identifier: MIT */
/*
 * recv.c -- `nopal recv`: takes files from `nopal send`.  The sessions are in
 * recv_session.c, what is on disk in part.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "microprotocol.h"
#include "recv_session.h"
#include "recv_where.h"
#include "transfer.h"

enum { RECV_FOLDER_MODE = 0777 };
#define RECV_DEFAULT_LISTEN "[::]:9000"
#define RECV_DEFAULT_V4	    "0.0.0.0:9000"
#define RECV_PING_NS	    (5 * NOPAL_SECOND)

static void recv_on_ping(void *user)
{
	struct receiver *receiver = user;

	recv_session_ping(receiver);
	loop_event_start(receiver->ping, RECV_PING_NS);
}

static void recv_on_interrupt(void *user)
{
	struct receiver *receiver = user;

	receiver->exit = receiver->once ? TOOL_FAILED : TOOL_GOOD;
	loop_stop(receiver->loop);
}

static void recv_say_folder(const char *path)
{
	fprintf(stderr,
		"error: %s: %s\n"
		"  fix: give a folder that may be written with -o\n",
		path, strerror(errno));
}

static bool recv_folder(const struct tool_call *call, struct receiver *receiver)
{
	const char *path = tool_value(call, "output");
	int64_t limit;

	if (!tool_quantity(call, "limit", NOPAL_SIZE, INT64_MAX, &limit))
		return false;
	receiver->folder.limit = (uint64_t)limit;
	receiver->folder.overwrite = tool_value(call, "overwrite") != NULL;
	if (!path)
		path = ".";
	if (mkdir(path, RECV_FOLDER_MODE) && errno != EEXIST) {
		recv_say_folder(path);
		return false;
	}
	receiver->folder.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (receiver->folder.fd >= 0)
		return true;
	recv_say_folder(path);
	return false;
}

/* Looked at before anything is opened: a wrong word is the user's. */
static bool recv_listen_fits(const struct tool_call *call)
{
	const char *listen = tool_value(call, "listen");
	struct nopal_problems problems;
	struct nopal_address local;

	nopal_problems_init(&problems);
	if (listen)
		nopal_address_parse(listen, &local, &problems);
	return !tool_problems(&problems);
}

static bool recv_open(const struct tool_call *call, struct receiver *receiver)
{
	const char *listen = tool_value(call, "listen");
	struct nopal_problems problems;
	struct nopal_address local;

	nopal_problems_init(&problems);
	if (nopal_address_parse(listen ? listen : RECV_DEFAULT_LISTEN, &local,
				&problems) == 0)
		receiver->endpoint = nopal_endpoint_open(
			loop_world(receiver->loop), &local, &problems);
	if (!receiver->endpoint && !listen) { /* a machine without IPv6 */
		nopal_problems_fini(&problems);
		nopal_problems_init(&problems);
		if (nopal_address_parse(RECV_DEFAULT_V4, &local, &problems) ==
		    0)
			receiver->endpoint = nopal_endpoint_open(
				loop_world(receiver->loop), &local, &problems);
	}
	tool_problems(&problems);
	return receiver->endpoint &&
	       nopal_endpoint_allow(receiver->endpoint, receiver->plan, 0,
				    &recv_session_callbacks, receiver) == 0;
}

static bool recv_start(const struct tool_call *call, struct receiver *receiver)
{
	struct nopal_address local;
	const char *config = tool_value(call, "config");

	if (!recv_open(call, receiver))
		return false;
	receiver->ping = loop_event_new(receiver->loop, LOOP_TIMER, -1,
					recv_on_ping, receiver);
	if (!receiver->ping ||
	    !loop_on_interrupt(receiver->loop, recv_on_interrupt, receiver))
		return false;
	loop_event_start(receiver->ping, RECV_PING_NS);
	nopal_endpoint_local(receiver->endpoint, &local);
	recv_where_print("nopal send FILE...", &local, config,
			 tool_values(call, "set"), stderr);
	return true;
}

static enum tool_exit recv_with(const struct tool_call *call,
				struct receiver *receiver)
{
	enum tool_exit exit = TOOL_ENVIRONMENT;

	receiver->loop = loop_new(tool_value(call, "trace"));
	if (receiver->loop && recv_start(call, receiver)) {
		loop_run(receiver->loop);
		exit = receiver->exit;
	}
	if (receiver->loop) {
		receiver->once = false;
		loop_event_free(receiver->ping);
		loop_end_world(receiver->loop); /* its sessions use the loop */
		loop_free(receiver->loop);
	}
	return exit;
}

static enum tool_exit recv_run(const struct tool_call *call)
{
	const char *config = tool_value(call, "config");
	struct receiver receiver = { .folder.fd = -1,
				     .once = tool_value(call, "once") != NULL };
	enum tool_exit exit = TOOL_BAD_INPUT;

	if (!recv_listen_fits(call))
		return TOOL_BAD_INPUT;
	receiver.plan = tool_plan(call, config ? config : "bulk");
	if (!receiver.plan)
		return TOOL_BAD_INPUT;
	progress_init(&receiver.progress, "recv",
		      tool_value(call, "json") != NULL,
		      tool_value(call, "jsonl") != NULL);
	if (transfer_plan_fits(receiver.plan) && recv_folder(call, &receiver))
		exit = recv_with(call, &receiver);
	if (receiver.folder.fd >= 0)
		close(receiver.folder.fd);
	nopal_plan_unref(receiver.plan);
	return exit;
}

static const struct tool_option recv_options[] = {
	{ "config", 'c', "CONF",
	  "composition, the same on both sides (default bulk)" },
	{ "output", 'o', "DIR",
	  "where files go (default: here); made where missing" },
	{ "listen", 0, "ADDR:PORT", "UDP port (default [::]:9000)" },
	{ "once", 0, NULL, "end after the first session that brought files" },
	{ "overwrite", 0, NULL, "replace files of the same name that differ" },
	{ "limit", 0, "SIZE", "refuse longer files" },
	TOOL_SET_OPTION,
	TOOL_TRACE_OPTION,
	{ "json", 0, NULL, "print one JSON object a file" },
	{ "jsonl", 0, NULL, "print one a second, too" },
	{ NULL },
};

const struct tool tool_recv = {
	.name = "recv",
	.words = "",
	.summary = "take files from `nopal send`",
	.help = "Takes files from any number of `nopal send` with the same "
		"composition, until it is interrupted.  A file appears under "
		"its name "
		"only when it is whole, its hash agrees and it is on disk; "
		"until then "
		"it is .NAME.nopal-part, and a transfer that was cut short "
		"goes on "
		"from there.  A file that is there already and differs is "
		"refused, "
		"unless --overwrite is given.  Names are never paths, and "
		"names that "
		"begin with a dot are refused.\n"
		"\n"
		"  nopal recv -o incoming --listen 192.0.2.1:9000\n",
	.least_words = 0,
	.most_words = 0,
	.options = recv_options,
	.run = recv_run,
};
