/* SPDX-License-Identifier: MIT */
/*
 * recv.c -- `nopal recv`: takes files from `nopal send`.  The sessions are in recv_session.c, their
 * loops in recv_loops.c, the files on disk in file/part.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <nopal/microprotocol.h>
#include "file/reset_key.h"
#include "file/transfer.h"
#include "peer/listen.h"
#include "peer/rendezvous.h"
#include "transfer/recv_session.h"

enum {
	RECV_FOLDER_MODE = 0777,
	RECV_DECIMAL = 10,
};

static bool recv_folder(const struct tool_call *call, struct recv_group *group)
{
	const char *output = tool_value(call, "output"), *path = output ? output : ".";
	struct part_folder *folder = &group->folder;
	enum reset_key kept = RESET_KEY_NONE;
	int64_t limit;

	if (!tool_quantity(call, "limit", NOPAL_SIZE, INT64_MAX, &limit))
		return false;
	folder->limit = (uint64_t)limit;
	folder->differs = "is there, and differs (recv --overwrite replaces it)";
	folder->overwrite = tool_value(call, "overwrite") != NULL;
	if (mkdir(path, RECV_FOLDER_MODE) == 0 || errno == EEXIST)
		folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd < 0)
		return tool_error("%s: %s\n  fix: give a folder that may be written with -o", path,
				  strerror(errno));
	/* A reset key is kept where the user gave a folder for received files. */
	if (output)
		kept = reset_key_keep(folder->fd, output, group->reset_key);
	group->keeps_key = kept == RESET_KEY_KEPT;
	return kept != RESET_KEY_REFUSED;
}

static bool recv_loops_fit(const struct tool_call *call, struct recv_group *group)
{
	static const char *const of_one_loop[] = { "rendezvous", "trace", "watch" };
	const char *text = tool_value(call, "loops");
	char *end = NULL;
	unsigned long count = text ? strtoul(text, &end, RECV_DECIMAL) : 1;

	if (text &&
	    (text[0] < '0' || text[0] > '9' || *end || count < 1 || count > NOPAL_SHARDS_MAX))
		return tool_error("--loops %s\n  fix: give a number from 1 to %d, one a core", text,
				  NOPAL_SHARDS_MAX);
	for (size_t i = 0; count > 1 && i < sizeof(of_one_loop) / sizeof(*of_one_loop); i++) {
		if (!tool_value(call, of_one_loop[i]))
			continue;
		return tool_error("--%s is of one loop\n  fix: leave out --loops, or --%s",
				  of_one_loop[i], of_one_loop[i]);
	}
	group->loops = (unsigned)count;
	group->trace = tool_value(call, "trace");
	return true;
}

static enum tool_exit recv_run(const struct tool_call *call)
{
	struct recv_group group = { .folder.fd = -1, .once = tool_value(call, "once") != NULL };
	const char *rendezvous = tool_value(call, "rendezvous");
	enum tool_exit exit = TOOL_BAD_INPUT;
	char here[NOPAL_ADDRESS_TEXT], there[NOPAL_ADDRESS_TEXT];
	struct nopal_address peer, local;
	int64_t bytes_each;
	unsigned sessions;

	if (!listen_fits(call) || !recv_loops_fit(call, &group) ||
	    !listen_sessions(call, &sessions) ||
	    !tool_quantity(call, "peer-bytes", NOPAL_SIZE, 0, &bytes_each) ||
	    !live_judge_read(call, &group.judges) ||
	    (rendezvous && !tool_destination(rendezvous, &peer)))
		return TOOL_BAD_INPUT;
	group.rendezvous = rendezvous ? &peer : NULL;
	group.plan = tool_chosen_plan(call, "bulk");
	if (!group.plan)
		return TOOL_BAD_INPUT;
	pthread_mutex_init(&group.lock, NULL);
	progress_init(&group.progress, call);
	if (transfer_plan_fits(group.plan, false) && (!rendezvous || rendezvous_fits(group.plan)) &&
	    recv_folder(call, &group)) {
		guests_house_init(&group.house, sessions, 0);
		recv_claims_find(&group, (uint64_t)bytes_each);
		exit = TOOL_ENVIRONMENT;
		if (listen_open(call, recv_loops_open, &group)) {
			nopal_endpoint_local(group.receivers[0].endpoint, &local);
			if (!group.rendezvous) {
				listen_print("nopal send FILE...", &local, call);
				if (!transfer_plan_tells(group.plan))
					fprintf(stderr,
						"note: %s has no handshake: a sender's address is believed as it "
						"stands in its datagrams\n",
						nopal_plan_info(group.plan)->name);
			} else {
				fprintf(stderr, "opening from %s towards %s\n",
					nopal_address_format(&local, here),
					nopal_address_format(group.rendezvous, there));
			}
			recv_loops_run(&group);
			recv_loops_close(&group);
			exit = group.exit;
		}
		guests_house_fini(&group.house);
	}
	if (group.folder.fd >= 0)
		close(group.folder.fd);
	pthread_mutex_destroy(&group.lock);
	nopal_plan_unref(group.plan);
	return exit;
}

static const struct tool_option recv_options[] = {
	{ "config", 'c', "CONF", "composition, the same on both sides (default bulk)" },
	{ "output", 'o', "DIR", "where files go (default: here); made where missing" },
	LISTEN_OPTION,
	{ "rendezvous", 0, "HOST:PORT",
	  "open towards `nopal send --rendezvous`, and take its files alone" },
	{ "once", 0, NULL, "end after the first sessions that brought files" },
	{ "overwrite", 0, NULL, "replace files of the same name that differ" },
	{ "limit", 0, "SIZE", "refuse longer files" },
	LISTEN_SESSIONS_OPTION,
	{ "peer-bytes", 0, "SIZE",
	  "length of all unfinished files of one address (default: nine tenths of the free disk)" },
	{ "loops", 0, "N", "share the port among N threads, for N cores (default 1)" },
	LIVE_JUDGE_OPTIONS,
	TOOL_SET_OPTION,
	TOOL_TRACE_OPTION,
	PROGRESS_JSON_OPTIONS,
	{ NULL },
};

const struct tool tool_recv = {
	.name = "recv",
	.words = "",
	.summary = "take files from `nopal send`",
	.help = "Takes files from any number of `nopal send` with the same composition, until it "
		"is interrupted.  A file appears under its name only when it is whole, its hash "
		"agrees and it is on disk; until then it is .NAME.nopal-part, and a transfer that "
		"was cut short goes on from there.  A file that is there already and differs is "
		"refused, unless --overwrite is given.  Names are never paths, and names that "
		"begin with a dot are refused.  Of a file that is spread over several receivers "
		"each keeps its share, at its place in .NAME.nopal-part, and calls it no file.\n"
		"\n"
		"Disk is taken as data come. One address, of IPv6 one /64, has at most "
		"--peer-sessions that offer a file, and unfinished files of --peer-bytes; an offer "
		"beyond that is refused with this reason. An empty part is removed when its "
		"session ends, after 10 minutes, or when the next recv starts here.\n"
		"\n"
		"A session runs on one core.  With --loops several take part: sessions are spread "
		"over so many threads, by the addresses of their senders.\n"
		"\n"
		"  nopal recv -o incoming --listen 192.0.2.1:9000\n"
		"\n"
		"With --rendezvous the receiver does not listen: sender and receiver open towards "
		"each other, as where firewalls let no datagram in; --listen gives the port of this "
		"side.  The receiver ends with the session.\n"
		"\n"
		"  nopal recv --listen 0.0.0.0:9000 --rendezvous A:9001\n"
		"  nopal send big.iso B:9000 --rendezvous 9001\n",
	.min_words = 0,
	.max_words = 0,
	.options = recv_options,
	.run = recv_run,
};
