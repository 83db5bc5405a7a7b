/* SPDX-License-Identifier: MIT */
/*
 * serve.c -- `nopal serve`: files of a folder for `nopal fetch`.  The sessions are in
 * serve_session.c, the files on disk in serve_file.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "frame/loop.h"
#include "peer/listen.h"
#include "peer/progress.h"
#include "transfer/serve_session.h"

#define SERVE_TICK_NS (5 * NOPAL_SECOND)

struct serving {
	struct serve serve;
	struct loop *loop;
	struct nopal_endpoint *endpoint;
	struct progress progress;
	struct loop_event *step, *tick;
};

static void serve_on_step(void *user)
{
	struct serving *serving = user;

	if (serve_step(&serving->serve))
		loop_event_start(serving->step, 0);
}

static void serve_on_wake(void *user)
{
	struct serving *serving = user;

	loop_event_start(serving->step, 0);
}

static void serve_on_say(void *user, const char *peer, const char *text)
{
	struct serving *serving = user;

	progress_say(&serving->progress, "%s: %s", peer, text);
}

static void serve_on_tick(void *user)
{
	struct serving *serving = user;

	serve_tick(&serving->serve);
	loop_event_start(serving->tick, SERVE_TICK_NS);
}

static void serve_on_interrupt(void *user)
{
	struct serving *serving = user;

	loop_stop(serving->loop);
}

/* --------------------------------------------------------------------- running */

static bool serve_open_at(const struct nopal_address *local, void *user,
			  struct nopal_problems *problems)
{
	struct serving *serving = user;

	serving->endpoint = nopal_endpoint_open(serving->serve.world, local, problems);
	return serving->endpoint && nopal_endpoint_allow(serving->endpoint, serving->serve.plan, 0,
							 &serve_callbacks, &serving->serve) == 0;
}

static enum tool_exit serve_run(const struct tool_call *call)
{
	struct serving serving = {
		.serve = { .user = &serving, .wake = serve_on_wake, .say = serve_on_say }
	};
	struct serve *serve = &serving.serve;
	const char *path = call->words[0];
	enum tool_exit exit = TOOL_BAD_INPUT;
	struct nopal_address local;
	struct loop *loop;
	unsigned sessions;

	if (!listen_fits(call) || !listen_sessions(call, &sessions))
		return TOOL_BAD_INPUT;
	serve->files.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (serve->files.folder < 0) {
		tool_error("%s: %s\n  fix: give the folder whose files are to be served", path,
			   strerror(errno));
		return TOOL_BAD_INPUT;
	}
	serve->plan = tool_chosen_plan(call, "fetch");
	if (serve->plan && transfer_plan_fits(serve->plan, true)) {
		progress_init(&serving.progress, call);
		serve_init(serve, sessions);
		exit = TOOL_ENVIRONMENT;
		serving.loop = loop = loop_new(tool_value(call, "trace"));
		serve->world = loop ? loop_world(loop) : NULL;
		if (loop) {
			serving.step =
				loop_event_new(loop, LOOP_TIMER, -1, serve_on_step, &serving);
			serving.tick =
				loop_event_new(loop, LOOP_TIMER, -1, serve_on_tick, &serving);
		}
		if (serving.step && serving.tick &&
		    loop_on_interrupt(loop, serve_on_interrupt, &serving) &&
		    listen_open(call, serve_open_at, &serving)) {
			nopal_endpoint_local(serving.endpoint, &local);
			listen_print("nopal fetch NAME", &local, call);
			loop_event_start(serving.tick, SERVE_TICK_NS);
			loop_run(loop);
			exit = TOOL_GOOD;
		}
		/* The world ends first: its sessions have files. */
		if (loop)
			loop_end_world(loop);
		serve_fini(serve);
		loop_event_free(serving.step);
		loop_event_free(serving.tick);
		if (loop)
			loop_free(loop);
	}
	if (serve->plan)
		nopal_plan_unref(serve->plan);
	close(serve->files.folder);
	return exit;
}

static const struct tool_option serve_options[] = {
	{ "config", 'c', "CONF", "composition, the same on both sides (default fetch)" },
	LISTEN_OPTION,
	LISTEN_SESSIONS_OPTION,
	TOOL_SET_OPTION,
	TOOL_TRACE_OPTION,
	{ NULL },
};

const struct tool tool_serve = {
	.name = "serve",
	.words = "DIR",
	.summary = "serve the files below a folder to `nopal fetch`",
	.help = "Gives the plain files below DIR to any number of `nopal fetch`, to each the parts "
		"that it asks for, until it is interrupted.  Nothing outside DIR is reached: "
		"names are looked up below it, links are not followed, and names that begin with "
		"a dot are not there.  A file is read once for its hash before its first part "
		"leaves, and again only when it has changed.\n"
		"\n"
		"  nopal serve incoming --listen 192.0.2.1:9000\n",
	.min_words = 1,
	.max_words = 1,
	.options = serve_options,
	.run = serve_run,
};
