/* SPDX-License-Identifier: MIT */
/*
 * fetch.c -- `nopal fetch`: one file from several `nopal serve`.  Sessions with the servers are in
 * fetch_talk.c, the assignment of parts to servers in fetch_plan.c, the file on disk in
 * file/part.c; here are its stages:
 *
 *   SEEKING --found--> CHECKING --bytes on disk--> TAKING --whole--> COMMITTING
 *      |                  |                           |                  |
 *      +------------------+----------- fails ---------+----> OVER <------+
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "file/part.h"
#include "frame/loop.h"
#include "frame/tool.h"
#include "transfer/fetch_talk.h"

#define FETCH_WAIT_NS (10 * NOPAL_SECOND)

enum fetch_stage {
	FETCH_SEEKING,
	FETCH_CHECKING,
	FETCH_TAKING,
	FETCH_COMMITTING,
	FETCH_OVER,
};

struct fetching {
	struct fetch fetch;
	struct loop *loop;
	struct table table;
	struct part_folder folder;
	char name[TRANSFER_TEXT_ROOM]; /* of the file here */
	struct part *part;	       /* NULL: none is open */
	enum fetch_stage stage;
	uint64_t compared; /* blocks of the bytes on disk */
	bool closed, committing, interrupted;
	uint64_t kept;	 /* bytes of an unfinished file */
	const char *fix; /* of the table's error; or NULL */
	char error[TRANSFER_TEXT_ROOM];
	struct live_judge judge;
	struct live_judge_options judges;
	enum tool_exit exit;
	struct loop_event *step, *job, *tick;
};

/* --------------------------------------------------------------- the file ends */

static void fetching_stop(struct fetching *fetching)
{
	if (fetching->stage == FETCH_OVER && fetching->closed)
		loop_stop(fetching->loop);
}

static void fetching_over(struct fetching *fetching, const char *error)
{
	struct table *table = &fetching->table;
	uint64_t kept = table->union_bytes;

	if (fetching->stage == FETCH_OVER)
		return;
	fetching->stage = FETCH_OVER;
	fetch_close(&fetching->fetch);
	table->file.error = error;
	table->file.transport = nopal_endpoint_transport(fetching->fetch.endpoint);
	fetching->exit = error ? TOOL_FAILED : TOOL_GOOD;
	table->ended_ns = loop_now(fetching->loop);
	loop_event_free(fetching->job);
	fetching->job = NULL;
	loop_event_stop(fetching->step);
	if (fetching->part) {
		if (fetching->part->existing)
			kept = 0; /* of an existing file, nothing is unfinished */
		part_close(fetching->part, true);
		fetching->part = NULL;
		if (error)
			fetching->kept = kept;
	}
	fetching_stop(fetching);
}

/* ----------------------------------------------------------- the file is whole */

static void fetching_try_commit(struct fetching *fetching)
{
	if (fetching->stage != FETCH_COMMITTING || fetching->part->job != PART_NO_JOB)
		return;
	fetching->committing = true;
	part_begin(fetching->part, PART_COMMITTING);
}

/* Each block was compared when it came: nothing is left to compare. */
static void fetching_on_whole(void *user)
{
	struct fetching *fetching = user;

	fetching->stage = FETCH_COMMITTING;
	fetching->judge.facts.bytes_seen = true;
	fetch_close(&fetching->fetch);
	fetching_try_commit(fetching);
}

/* A sync, or the last one with its rename, is done. */
static void fetching_on_job(void *user)
{
	struct fetching *fetching = user;
	int error = part_finish(fetching->part);

	if (error)
		transfer_wrong(fetching->error, fetching->name, strerror(-error));
	if (error || fetching->committing)
		fetching_over(fetching, error ? fetching->error : NULL);
	else
		fetching_try_commit(fetching);
}

/* ------------------------------------------------------------------- parts come */

static void fetching_on_part(void *user, uint64_t offset, const struct nopal_message *message)
{
	struct fetching *fetching = user;

	if (fetching->stage != FETCH_TAKING)
		return;
	live_judge_moved(&fetching->judge);
	if (!part_write_message(fetching->part, offset, message, TRANSFER_DATA_HEADER,
				fetching->error)) {
		fetching_over(fetching, fetching->error);
		return;
	}
	fetching->table.union_bytes += nopal_message_length(message) - TRANSFER_DATA_HEADER;
	part_save_sometimes(fetching->part, loop_now(fetching->loop));
}

/* --------------------------------------------------- blocks that are here already */

/* A step over the bytes on disk: an existing file under its own name is compared whole, an
 * unfinished one block by block. */
static void fetching_check(void *user)
{
	struct fetching *fetching = user;
	const struct file_blocks *blocks = &fetching->fetch.blocks;
	struct table *table = &fetching->table;
	uint64_t max = TRANSFER_STEP_BYTES / blocks->block_bytes;

	while (fetching->stage == FETCH_CHECKING && max-- > 0 &&
	       fetching->compared < blocks->count) {
		uint64_t index = fetching->compared++, hash;
		struct range block = file_blocks_range(blocks, index);

		if (part_block_hash(fetching->part, &block, &hash) &&
		    hash == blocks->hashes[index]) {
			table->union_bytes += block.end - block.from;
			if (!fetching->part->existing)
				fetch_plan_have(&fetching->fetch.parts, index);
		} else if (fetching->part->existing) {
			/* Another file has the name: the unfinished one is compared instead. */
			fetching->compared = table->union_bytes = 0;
			if (!part_leave_existing(fetching->part, fetching->error))
				fetching_over(fetching, fetching->error);
		}
	}
	if (fetching->stage != FETCH_CHECKING)
		return;
	if (fetching->compared < blocks->count) {
		loop_event_start(fetching->step, 0);
		return;
	}
	table->file.resumed_bytes = table->union_bytes;
	if (fetching->part->existing) {
		fetching_over(fetching, NULL);
		return;
	}
	table->file.bytes = table->union_bytes;
	if (!part_start_blocks(fetching->part, fetching->error)) {
		fetching_over(fetching, fetching->error);
		return;
	}
	fetching->stage = FETCH_TAKING;
	live_judge_moved(&fetching->judge);
	fetch_begin(&fetching->fetch);
}

static void fetching_on_found(void *user)
{
	struct fetching *fetching = user;
	const struct fetch *fetch = &fetching->fetch;
	struct transfer_note offer = fetch->offer;
	enum transfer_verdict verdict;

	snprintf(offer.text, sizeof(offer.text), "%s", fetching->name);
	offer.id = transfer_id(fetching->name, offer.size, (int64_t)fetch->hash);
	fetching->table.file.total_bytes = offer.size;
	fetching->table.file.hash = fetch->hash;
	verdict = part_open(&fetching->folder, &offer, &fetching->part, fetching->error);
	if (verdict == TRANSFER_YES)
		fetching->job = loop_event_new(fetching->loop, LOOP_READABLE,
					       fetching->part->done_fd, fetching_on_job, fetching);
	if (!fetching->job) {
		fetching_over(fetching,
			      verdict == TRANSFER_YES ? "out of memory" : fetching->error);
		return;
	}
	loop_event_start(fetching->job, 0);
	fetching->stage = FETCH_CHECKING;
	loop_event_start(fetching->step, 0);
}

static void fetching_on_deserted(void *user, const char *why, const char *fix)
{
	struct fetching *fetching = user;

	if (fetching->stage != FETCH_OVER)
		fetching->fix = fix;
	fetching_over(fetching, why);
}

static void fetching_on_closed(void *user)
{
	struct fetching *fetching = user;

	fetching->closed = true;
	fetching_stop(fetching);
}

static const struct fetch_hooks fetching_hooks = {
	.found = fetching_on_found,
	.part = fetching_on_part,
	.whole = fetching_on_whole,
	.deserted = fetching_on_deserted,
	.closed = fetching_on_closed,
};

/* ---------------------------------------------------------------------- running */

static void fetching_on_tick(void *user)
{
	struct fetching *fetching = user;
	int64_t now_ns = loop_now(fetching->loop);
	struct live_judge *judge = &fetching->judge;
	struct nopal_session *group;

	fetch_tick(&fetching->fetch);
	group = fetching->fetch.group;
	/* Ends where no server gives anything, or too much leaves. */
	if (group && live_judge_storms(judge, group)) {
		fetching_over(fetching, LIVE_JUDGE_STORM);
	} else if ((fetching->stage == FETCH_TAKING || fetching->stage == FETCH_SEEKING) &&
		   live_judge_stands(judge) &&
		   now_ns - judge->moved_ns >= fetching->fetch.wait_ns) {
		live_judge_stuck(judge, group, "nothing of the file came");
		fetching_over(fetching, "no server gives anything any more");
	}
	if (fetching->stage == FETCH_TAKING)
		table_show(&fetching->table, now_ns);
	loop_event_start(fetching->tick, FETCH_TICK_NS);
}

static void fetching_on_interrupt(void *user)
{
	struct fetching *fetching = user;

	fetching->interrupted = true;
	if (fetching->stage == FETCH_OVER)
		loop_stop(fetching->loop);
	fetching_over(fetching, "interrupted");
}

static void fetching_run(struct fetching *fetching, const struct tool_call *call,
			 char *const *servers, const struct nopal_address *peers)
{
	struct loop *loop = fetching->loop = loop_new(tool_value(call, "trace"));
	struct fetch *fetch = &fetching->fetch;
	struct table *table = &fetching->table;

	if (!loop || !table_init(table, servers, peers, fetch->count))
		return;
	fetch->ones = table->rows;
	fetch->world = loop_world(loop);
	fetching->step = loop_event_new(loop, LOOP_TIMER, -1, fetching_check, fetching);
	fetching->tick = loop_event_new(loop, LOOP_TIMER, -1, fetching_on_tick, fetching);
	if (!fetching->step || !fetching->tick ||
	    !loop_on_interrupt(loop, fetching_on_interrupt, fetching))
		return;
	fetch->endpoint = loop_endpoint_to_all(loop, peers, fetch->count);
	if (!fetch->endpoint || !live_judge_watch(&fetching->judges, fetch->world, fetch->plan))
		return;
	table->file.started_ns = table->shown_ns = loop_now(fetching->loop);
	live_judge_begin(&fetching->judge, fetch->plan, fetch->world, &fetching->judges, false);
	fetch->judge = &fetching->judge;
	if (!fetch_open(fetch)) {
		bool broke = fetching->judge.facts.receiver_end != JUDGE_OPEN;

		/* There was no memory for a session; or there was one. */
		live_judge_is_broken(&fetching->judge, &table->progress);
		tool_error("no session: %s", broke ? "it broke at once" : "out of memory");
		fetching->exit = broke ? TOOL_FAILED : TOOL_ENVIRONMENT;
		return;
	}
	loop_event_start(fetching->tick, FETCH_TICK_NS);
	loop_run(fetching->loop);
	/* The last session has ended: reports the promises and the file. */
	if (live_judge_is_broken(&fetching->judge, &table->progress) && fetching->exit == TOOL_GOOD)
		fetching->exit = TOOL_FAILED;
	table->file.judged = live_judge_result(&fetching->judge);
	table_end(table);
	if (fetching->kept)
		progress_say(&table->progress,
			     "%s: %llu of %llu bytes are kept; the same command goes on from there",
			     fetching->name, (unsigned long long)fetching->kept,
			     (unsigned long long)table->file.total_bytes);
	if (fetching->fix)
		progress_say(&table->progress, "  fix: %s", fetching->fix);
}

/* ----------------------------------------------------------------------- words */

enum { WORDS_HASH_DIGITS = 16, WORDS_HASH_BASE = 16 };

static bool fetch_wrong_output(const char *path, const char *why, const char *fix)
{
	return tool_error("%s: %s\n  fix: %s", path, why, fix);
}

/* The destination of a served file, option "output" or its last name here: a folder, which is open
 * then, and a name in it, of TRANSFER_TEXT_ROOM bytes. */
static bool fetch_output(const struct tool_call *call, const char *served,
			 struct part_folder *ret_folder, char *ret_name)
{
	static const char *const fix = "give a file in a folder that may be written with -o";
	char folder[TRANSFER_TEXT_ROOM * 16] = ".";
	const char *path = tool_value(call, "output");
	const char *slash = strrchr(served, '/'), *refused, *name;
	struct stat now;

	if (!path)
		path = slash ? slash + 1 : served;
	name = path;
	if (stat(path, &now) == 0 && S_ISDIR(now.st_mode))
		return fetch_wrong_output(path, "is a folder", fix);
	slash = strrchr(path, '/');
	if (slash) {
		name = slash + 1;
		snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path),
			 path);
	}
	refused = transfer_name_refused(name);
	if (refused)
		return fetch_wrong_output(path, refused, fix);
	snprintf(ret_name, TRANSFER_TEXT_ROOM, "%s", name);
	ret_folder->limit = INT64_MAX;
	ret_folder->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret_folder->fd >= 0 && faccessat(ret_folder->fd, ".", W_OK, 0) == 0)
		return true;
	fetch_wrong_output(folder, strerror(errno), fix);
	if (ret_folder->fd >= 0)
		close(ret_folder->fd);
	return false;
}

/* The number of words that are names: at the end stand addresses, one at least, which have a colon;
 * the first word is a name whatever it has.  0: one of the words is wrong. */
static int fetch_names(const struct tool_call *call)
{
	static const char *const of_one_file[] = { "output", "hash", "trace" };
	int names = 1;

	while (names < call->word_count - 1 && !strchr(call->words[names], ':'))
		names++;
	for (int i = 0; i < names; i++) {
		const char *name = call->words[i];
		const char *refused = transfer_path_refused(name);

		if (!refused)
			continue;
		tool_error(
			"%s: %s\n"
			"  fix: give the file's name as it is below the served folder, as film.mkv "
			"or films/film.mkv",
			name, refused);
		return 0;
	}
	for (size_t i = 0; names > 1 && i < sizeof(of_one_file) / sizeof(*of_one_file); i++) {
		if (!tool_value(call, of_one_file[i]))
			continue;
		tool_error("--%s with several names\n  fix: give this option with one name alone",
			   of_one_file[i]);
		return 0;
	}
	if (call->word_count - names > FETCH_SERVERS_MAX) {
		tool_error("%d servers\n  fix: give at most %d", call->word_count - names,
			   FETCH_SERVERS_MAX);
		return 0;
	}
	return names;
}

/* False: a word is wrong, and the problem was printed. */
static bool fetching_read(struct fetching *fetching, const struct tool_call *call)
{
	struct fetch *fetch = &fetching->fetch;
	const char *hash = tool_value(call, "hash");
	size_t digits = hash ? strspn(hash, "0123456789abcdefABCDEF") : 0;

	if (hash && (digits != WORDS_HASH_DIGITS || hash[digits]))
		return tool_error(
			"--hash %s: no hash of a file\n"
			"  fix: give the %d digits that `nopal serve` and `nopal fetch` print",
			hash, WORDS_HASH_DIGITS);
	fetch->given = hash != NULL;
	fetch->hash = hash ? strtoull(hash, NULL, WORDS_HASH_BASE) : 0;
	fetching->folder.differs = "is there, and differs (--overwrite replaces it)";
	fetching->folder.overwrite = tool_value(call, "overwrite") != NULL;
	if (!live_judge_read(call, &fetching->judges) ||
	    !tool_quantity(call, "wait", NOPAL_TIME, FETCH_WAIT_NS, &fetch->wait_ns))
		return false;
	fetch->plan = tool_chosen_plan(call, "fetch");
	if (!fetch->plan)
		return false;
	if (transfer_plan_fits(fetch->plan, true) &&
	    fetch_output(call, fetch->name, &fetching->folder, fetching->name))
		return true;
	nopal_plan_unref(fetch->plan);
	return false;
}

/* Fetches one file; *ret_stop: the user has interrupted it, and no other follows. */
static enum tool_exit fetch_one_from(const struct tool_call *call, int name, int names,
				     const struct nopal_address *peers, bool *ret_stop)
{
	struct fetching fetching = {
		.fetch = { .name = call->words[name],
			   .count = (unsigned)(call->word_count - names),
			   .hooks = &fetching_hooks,
			   .user = &fetching },
		.table = { .mode = "fetch", .spread = true, .fetched = true },
		.exit = TOOL_ENVIRONMENT,
	};
	struct fetch *fetch = &fetching.fetch;

	if (!fetching_read(&fetching, call))
		return TOOL_BAD_INPUT;
	progress_init(&fetching.table.progress, call);
	fetching.table.file.name = fetching.name;
	fetching.table.file.plan = nopal_plan_info(fetch->plan)->name;
	fetching_run(&fetching, call, call->words + names, peers);
	loop_event_free(fetching.step);
	loop_event_free(fetching.job);
	loop_event_free(fetching.tick);
	live_judge_fini(&fetching.judge);
	if (fetching.loop)
		loop_free(fetching.loop);
	fetch_fini(fetch);
	table_fini(&fetching.table);
	close(fetching.folder.fd);
	nopal_plan_unref(fetch->plan);
	*ret_stop = fetching.interrupted;
	return fetching.exit;
}

static enum tool_exit fetch_run(const struct tool_call *call)
{
	int names = fetch_names(call);
	enum tool_exit exit = TOOL_BAD_INPUT;
	struct nopal_address *peers;
	bool stop = false;

	if (!names)
		return TOOL_BAD_INPUT;
	peers = calloc((size_t)call->word_count, sizeof(*peers));
	if (!peers)
		return TOOL_ENVIRONMENT;
	if (tool_destinations(call, names, peers) &&
	    tool_destinations_differ(call, names, peers, ""))
		exit = TOOL_GOOD;
	/* One after another, also where one of them fails: the exit code tells at the end. */
	for (int i = 0; i < names && !stop && exit != TOOL_BAD_INPUT; i++) {
		enum tool_exit one = fetch_one_from(call, i, names, peers, &stop);

		if (exit == TOOL_GOOD)
			exit = one;
		stop |= one == TOOL_BAD_INPUT;
	}
	free(peers);
	return exit;
}

static const struct tool_option fetch_options[] = {
	{ "config", 'c', "CONF", "composition, the same on both sides (default fetch)" },
	{ "output", 'o', "FILE", "write the file here (default: its last name, in this folder)" },
	{ "hash", 0, "HASH",
	  "take the file with this hash (default: the hash that most servers announce)" },
	{ "overwrite", 0, NULL, "replace a file of this name that differs" },
	{ "wait", 0, "TIME", "wait so long for a server, while none is there (default 10s)" },
	LIVE_JUDGE_OPTIONS,
	TOOL_SET_OPTION,
	TOOL_TRACE_OPTION,
	PROGRESS_JSON_OPTIONS,
	{ NULL },
};

const struct tool tool_fetch = {
	.name = "fetch",
	.words = "NAME... HOST:PORT...",
	.summary = "files, each from several `nopal serve` at once",
	.help = "Asks each server for other parts of the file NAME, as much at a time as the server "
		"delivers.  Parts that a slow server owes at the end, or that a server owed when it "
		"died, come from the others.  A server may come late, or come back: a session is "
		"tried once a second.  The table at the end says what each server gave: a share, "
		"or why not.\n"
		"\n"
		"Of several versions of the file, the one is taken that more than half of the "
		"servers announce, or most of those that answer within a second of the first; "
		"--hash names one.  Servers without it are left out before a byte is asked of "
		"them.  Each part is compared with its hash when it comes: a wrong part is thrown "
		"away and asked of another server, and the first is asked for no more while there "
		"is a server that gave no wrong part.  Hashes find damage, and stop no forger.\n"
		"\n"
		"The file appears under its name only when it is whole and on disk; until then it "
		"is .NAME.nopal-part.  However the run ends, the parts that came are kept, and the "
		"same command goes on from there, with those parts whose hashes are right.  Several "
		"files come one after another.\n"
		"\n"
		"  nopal serve films                     # on A, B and C\n"
		"  nopal fetch film.mkv A:9000 B:9000 C:9000\n",
	.min_words = 2,
	.max_words = -1,
	.options = fetch_options,
	.run = fetch_run,
};
