/* SPDX-License-Identifier: MIT */
/*
 * test_hostile -- submissions that do their worst: each ends with its reason, within its limits, and
 * nothing outside of its host is touched.
 *
 * hostile/NNN_NAME.c are compiled and run as any submission is.  hostile/reasons.golden has a line
 * for each, which NOPAL_GOLDEN=write writes:
 *
 *     NAME: what the trial says of it, or `passes` where the deed came to nothing
 *     NAME checked: the same of a build with sanitizers
 *
 * with patterns of fnmatch(3) where machines and compilers differ; those that hold stay.  With
 * NOPAL_HOSTILE=PATTERN only those are tried whose file names match.
 *
 * Deeds that no other user of the machine may prevent are done to a canary: a folder with files
 * that everybody may read and write.  A deed that succeeds prints ESCAPED.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/tool.h"
#include "lab/arena.h"
#include "lab/build.h"

#include "support/test.h"

#define HOSTILE_FOLDER NOPAL_SOURCE_ROOT "/tests/labs/hostile"
#define HOSTILE_GOLDEN HOSTILE_FOLDER "/reasons.golden"
#define HOSTILE_SECRET "7f2c91-hidden"

enum {
	HOSTILE_MESSAGES = 3,
	HOSTILE_BYTES = 20,
	HOSTILE_DATAGRAMS = 1000,
	HOSTILE_TURNS = 2000,
};
/* By enum build_kind.  A sanitizer has memory of its own. */
static const int64_t hostile_memory_bytes[] = {
	[BUILD_CHECKED] = 160 << 20, [BUILD_QUICK] = 48 << 20
};
static const int64_t hostile_processor_ns[] = {
	[BUILD_CHECKED] = 500 * NOPAL_MILLISECOND, [BUILD_QUICK] = 150 * NOPAL_MILLISECOND
};

static const char hostile_config[] =
	"plugin = \"./hostile.so\"\ntransport_driver {}\nfixed_size {}\nhostile {}\n";
static const struct lab hostile_lab = { .name = "hostile", .part = "hostile" };

/* The submission's folder, those of its objects, the hand-out's and the canary. */
static struct {
	char root[64];
	char *submission, *quick, *checked, *canary;
	struct spawner spawners[2]; /* by enum build_kind */
	bool sanitized;		    /* there is a runtime for BUILD_CHECKED */
} scene;

static void scene_write(const char *folder, const char *name, const char *text)
{
	char *path = tool_printed("%s/%s", folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0666), 0);
	free(path);
}

static char *scene_folder(const char *name, mode_t mode)
{
	char *path = tool_printed("%s/%s", scene.root, name);

	assert_int_equal(mkdir(path, mode), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void scene_copy(const char *from, const char *to)
{
	char *path = tool_printed("%s/%s", HOSTILE_FOLDER, from);
	char *text = lab_read_file(path, LAB_FILE_MAX);

	assert_non_null(text);
	scene_write(scene.submission, to, text);
	free(text);
	free(path);
}

static int scene_open(void **state)
{
	const char *program = getenv("NOPAL_PROGRAM");
	char preload[BUILD_PRELOAD_BYTES], said[BUILD_SAID_BYTES], *text;

	(void)state;
	assert_non_null(program);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_non_null(mkdtemp(strcpy(scene.root, "/tmp/test_hostile.XXXXXX")));
	assert_int_equal(chmod(scene.root, 0755), 0);
	scene.submission = scene_folder("submission", 0755);
	scene.quick = scene_folder("quick", 0755);
	scene.checked = scene_folder("checked", 0755);
	scene.canary = scene_folder("canary", 0777);
	scene_write(scene.canary, "file", "a file\n");
	scene_write(scene.canary, "secret", HOSTILE_SECRET "\n");
	text = tool_printed("#define CANARY \"%s\"\n#define CANARY_SECRET \"%s/secret\"\n",
			    scene.canary, scene.canary);
	scene_write(scene.submission, "canary.h", text);
	free(text);
	scene_copy("hostile.h", "hostile.h");
	scene_copy("frames.h", "frames.h");
	scene_write(scene.quick, "lab.conf", hostile_config);
	scene_write(scene.checked, "lab.conf", hostile_config);
	scene.sanitized = build_preload(preload, said);
	assert_int_equal(spawner_start(&scene.spawners[BUILD_QUICK], program, scene.quick, NULL),
			 0);
	if (scene.sanitized)
		assert_int_equal(spawner_start(&scene.spawners[BUILD_CHECKED], program,
					       scene.checked, preload),
				 0);
	return 0;
}

static int scene_close(void **state)
{
	char *command = tool_printed("rm -rf %s", scene.root);

	(void)state;
	spawner_stop(&scene.spawners[BUILD_QUICK]);
	spawner_stop(&scene.spawners[BUILD_CHECKED]);
	/* what lost its parent would be ours now */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(system(command), 0);
	free(command);
	free(scene.submission);
	free(scene.quick);
	free(scene.checked);
	free(scene.canary);
	return 0;
}

EACH_TEST(scene_open, scene_close);

/* ------------------------------------------------------------------------ a trial */

/* The canary is as it was: its files, and nothing else. */
static void expect_canary(const char *name)
{
	char *file = tool_printed("%s/file", scene.canary);
	char *secret = tool_printed("%s/secret", scene.canary);
	char *text = lab_read_file(file, LAB_FILE_MAX),
	     *hidden = lab_read_file(secret, LAB_FILE_MAX);
	DIR *folder = opendir(scene.canary);
	struct stat about;
	int entries = 0;

	assert_non_null(folder);
	while (readdir(folder))
		entries++;
	closedir(folder);
	if (entries != 4 || !text || !hidden)
		print_error("%s changed the canary\n", name);
	assert_int_equal(entries, 4); /* with . and .. */
	assert_string_equal(text, "a file\n");
	assert_string_equal(hidden, HOSTILE_SECRET "\n");
	assert_int_equal(stat(file, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0666);
	free(text);
	free(hidden);
	free(file);
	free(secret);
}

/* Nothing that a host printed shows that the deed was done, or what is hidden. */
static void expect_no_escape(const struct process *process)
{
	const struct watch *watch = &process->watch;
	const char *found = memmem(watch->said, watch->said_bytes, "ESCAPED", strlen("ESCAPED"));

	if (found)
		print_error("%.*s\n", (int)(watch->said + watch->said_bytes - found), found);
	assert_null(found);
	assert_null(memmem(watch->said, watch->said_bytes, HOSTILE_SECRET, strlen(HOSTILE_SECRET)));
}

void __real_process_free(struct process *process);
void __wrap_process_free(struct process *process);

/* The last that is seen of a host. */
void __wrap_process_free(struct process *process)
{
	expect_no_escape(process);
	__real_process_free(process);
}

/* The submission at both ends of a link; the reason in words, for the caller to free. */
static char *hostile_try(const char *name, enum build_kind kind)
{
	const char *folder = kind == BUILD_CHECKED ? scene.checked : scene.quick;
	struct process_pool pool = { .count = 0 };
	const struct lab_bench bench = {
		.lab = &hostile_lab,
		.handout = scene.root,
		.folder = { folder, folder },
		.spawner = { &scene.spawners[kind], &scene.spawners[kind] },
		.sanitized = { kind == BUILD_CHECKED },
		.pool = &pool,
		.limits = { .process = { hostile_processor_ns[kind], hostile_memory_bytes[kind] },
			    .turns = HOSTILE_TURNS,
			    .datagrams = HOSTILE_DATAGRAMS }
	};
	struct lab_trial *trial = lab_trial_new(&bench, name, 1);
	int sender = lab_host(trial, LAB_STUDENT, NULL),
	    receiver = lab_host(trial, LAB_STUDENT, NULL);
	char *reason;

	lab_link(trial, sender, receiver, "delay 10ms");
	lab_open(trial, sender, receiver, 0);
	for (int i = 0; i < HOSTILE_MESSAGES; i++)
		lab_send(trial, sender, 0, (i + 1) * 10 * NOPAL_MILLISECOND, HOSTILE_BYTES, NULL);
	lab_close(trial, sender, 0, 100 * NOPAL_MILLISECOND);
	lab_run(trial, NOPAL_SECOND);
	lab_check(trial, LAB_ALL | LAB_ONCE | LAB_INTACT);
	lab_trial_finish(trial);
	reason = tool_need(strdup(trial->failed ? lab_trial_reason(trial) : "passes"));
	lab_trial_free(trial);
	while (pool.count) {
		process_end(pool.idle[--pool.count], NULL);
		process_free(pool.idle[pool.count]);
	}
	return reason;
}

static char *hostile_reason(const char *name, enum build_kind kind)
{
	const struct build build = { kind, scene.submission, "hostile",
				     kind == BUILD_CHECKED ? scene.checked : scene.quick };
	char said[BUILD_SAID_BYTES], *file = tool_printed("%s.c", name), *reason;

	scene_copy(file, "hostile.c");
	free(file);
	if (build_part(&build, said) == TOOL_GOOD)
		reason = hostile_try(name, kind);
	else
		reason = tool_need(strdup("does not compile"));
	assert_null(strstr(said, HOSTILE_SECRET));
	for (const char *at = reason; *at; at++)
		assert_true(*at >= ' ' && *at <= '~');
	expect_canary(name);
	return reason;
}

/* ---------------------------------------------------------------------- all of them */

/* The golden line of a submission, without its name; NULL: there is none. */
static char *golden_reason(const char *golden, const char *label)
{
	const size_t length = strlen(label);
	const char *line = golden;

	while (line && (strncmp(line, label, length) != 0 || line[length] != ':'))
		line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
	if (!line)
		return NULL;
	line += length + strlen(": ");
	return tool_need(strndup(line, strcspn(line, "\n")));
}

/* Tries a submission, and writes its golden line: as it was, where that still holds. */
static bool hostile_holds(const char *name, enum build_kind kind, const char *golden, FILE *out)
{
	char *label = tool_printed("%s%s", name, kind == BUILD_CHECKED ? " checked" : "");
	char *reason = hostile_reason(name, kind), *expected = golden_reason(golden, label);
	bool holds = expected && fnmatch(expected, reason, 0) == 0;

	if (!holds)
		print_error("%s: %s\n  expected: %s\n", label, reason,
			    expected ? expected : "nothing");
	fprintf(out, "%s: %s\n", label, holds ? expected : reason);
	free(expected);
	free(reason);
	free(label);
	return holds;
}

static int hostile_is(const struct dirent *entry)
{
	const char *pattern = getenv("NOPAL_HOSTILE");

	return fnmatch("[0-9]*.c", entry->d_name, 0) == 0 &&
	       fnmatch(pattern ? pattern : "*", entry->d_name, 0) == 0;
}

/* What sanitizers say is another matter: these are built with them, too. */
static bool hostile_is_checked(const char *name)
{
	static const char *const checked[] = { "fork_bomb",	  "memory_stack", "crash_null",
					       "crash_abort",	  "end_exit",	  "loop_from_net",
					       "spoil_neighbour", "spoil_sum" };

	for (size_t i = 0; i < sizeof(checked) / sizeof(*checked); i++)
		if (strstr(name, checked[i]))
			return true;
	return false;
}

/* A host's process serves one trial after the other, and may remember. */
TEST(test_messages_of_two_cases_have_other_contents)
{
	const struct lab_bench bench = { .lab = &hostile_lab };
	struct lab_trial *one = lab_trial_new(&bench, "one", 1);
	struct lab_trial *other = lab_trial_new(&bench, "other", 1);

	lab_send(one, lab_host(one, LAB_STUDENT, NULL), 0, 0, HOSTILE_BYTES, NULL);
	lab_send(other, lab_host(other, LAB_STUDENT, NULL), 0, 0, HOSTILE_BYTES, NULL);
	assert_memory_not_equal(one->messages[0].bytes, other->messages[0].bytes, HOSTILE_BYTES);
	lab_trial_free(one);
	lab_trial_free(other);
}

TEST(test_hostile_submissions_end_with_their_reasons)
{
	const char *write = getenv("NOPAL_GOLDEN");
	char *golden = lab_read_file(HOSTILE_GOLDEN, LAB_FILE_MAX), *text = NULL;
	struct dirent **names;
	int count = scandir(HOSTILE_FOLDER, &names, hostile_is, alphasort), wrong = 0;
	size_t length = 0;
	FILE *out = tool_need(open_memstream(&text, &length));

	assert_true(count > 0);
	for (int i = 0; i < count; i++) {
		char *name = names[i]->d_name;

		name[strlen(name) - strlen(".c")] = '\0';
		wrong += !hostile_holds(name, BUILD_QUICK, golden, out);
		if (scene.sanitized && hostile_is_checked(name))
			wrong += !hostile_holds(name, BUILD_CHECKED, golden, out);
		free(names[i]);
	}
	free(names);
	fclose(out);
	if (write && strcmp(write, "write") == 0 && !getenv("NOPAL_HOSTILE")) {
		out = fopen(HOSTILE_GOLDEN, "w");
		assert_non_null(out);
		fputs(text, out);
		fclose(out);
		wrong = 0;
	}
	free(text);
	free(golden);
	assert_int_equal(wrong, 0);
}
