/* SPDX-License-Identifier: MIT */
/*
 * build.c -- the compiler, its walls, and what it says.
 *
 *   PART.c --cc -c--> INTO/PART.o --cc -shared--> INTO/PART.so
 *
 * In two steps, as an object with a name of its own makes messages that are always the same.
 *
 * Of a prefix as /usr the compiler sees the folders that compilers have there, with all below
 * them, and the files that lie directly in `lib`: plug-ins of Nopal are in a folder below it, with
 * the labs' references among them, and stay out of sight.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/compiler.h"
#include "lab/build.h"
#include "lab/landlock.h"
#include "lab/plain.h"

enum {
	BUILD_MAX_WORDS = 32,
	BUILD_PROCESSOR_SECONDS = 20,
	BUILD_FILE_BYTES = 64 << 20,
	BUILD_CLOSE_RANGE = 436, /* the same number on all machines */
	BUILD_WHY_BYTES = 512,
	BUILD_MODE = 0755, /* plug-ins are executable, and nobody must be able to read it */
};
#define BUILD_MEMORY_BYTES (INT64_C(2) << 30)

static const char *const build_endings[] = { ".c", ".h", NULL };
static const char *const build_flags[] = {
	"-fPIC",
	"-Wall",
	"-g1",
	"-pipe",
	"-Werror=implicit-function-declaration",
	"-fdiagnostics-color=never",
	NULL,
};
static const char *const build_kind_flags[][6] = {
	[BUILD_CHECKED] = { "-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined",
			    "-fno-sanitize-recover=all", NULL },
	[BUILD_QUICK] = { "-O2", NULL },
};

/* A compiler at work. */
struct build_job {
	const char *words[BUILD_MAX_WORDS];
	int count;
	int output;	    /* memory file that gets stdout and stderr */
	const char *folder; /* where it works */
	const char *into;   /* NULL: it works outside walls, as no source is read */
};

static void build_word(struct build_job *job, const char *word)
{
	if (job->count < BUILD_MAX_WORDS - 1)
		job->words[job->count++] = word;
}

static void build_words(struct build_job *job, const char *const *words)
{
	while (*words)
		build_word(job, *words++);
}

/* ------------------------------------------------------------------------- walls */

struct build_rules {
	struct landlock landlock;
	int result;
	char why[BUILD_WHY_BYTES];
};

__attribute__((format(printf, 3, 4))) static void build_allow(struct build_rules *rules,
							      unsigned may, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	if (rules->result == 0)
		rules->result =
			landlock_allow(&rules->landlock, path, may, rules->why, sizeof(rules->why));
}

static void build_allow_files(struct build_rules *rules, unsigned may, const char *folder,
			      const char *const *endings)
{
	if (rules->result == 0)
		rules->result = landlock_allow_files(&rules->landlock, folder, endings, may,
						     rules->why, sizeof(rules->why));
}

static void build_allow_prefix(struct build_rules *rules, const char *prefix)
{
	static const char *const trees[] = {
		"bin",	     "include",	  "libexec",	 "lib/gcc",	    "lib/gcc-cross",
		"lib64/gcc", "lib/clang", "lib64/clang", "lib/bfd-plugins",
	};
	static const char *const folders[] = { "lib", "lib64" };

	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++)
		build_allow(rules, LANDLOCK_RUN, "%s/%s", prefix, trees[i]);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%s/%s", prefix, folders[i]) < PATH_MAX)
			build_allow_files(rules, LANDLOCK_RUN | LANDLOCK_LINKS, path, NULL);
	}
}

/* Cuts the last name off a path: "/usr/bin/cc" becomes "/usr/bin". */
static void build_cut(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/* The compiler may have a prefix of its own: /usr/lib/llvm-14/bin/clang. */
static void build_allow_compiler(struct build_rules *rules, const char *name)
{
	const char *folders = getenv("PATH");
	char path[PATH_MAX], real[PATH_MAX];

	for (folders = folders ? folders : "/usr/bin"; *folders; folders += *folders == ':') {
		const size_t length = strcspn(folders, ":");

		if (strchr(name, '/'))
			snprintf(path, sizeof(path), "%s", name);
		else
			snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders, name);
		folders += length;
		if (access(path, X_OK) != 0 || !realpath(path, real))
			continue;
		build_allow(rules, LANDLOCK_RUN, "%s", real);
		build_cut(real);
		build_cut(real);
		build_allow_prefix(rules, real);
		return;
	}
}

static int build_rules(const struct build_job *job, struct build_rules *rules)
{
	const void *const in_libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	char libraries[PATH_MAX];
	Dl_info libc;

	rules->result = landlock_begin(&rules->landlock, rules->why, sizeof(rules->why));
	build_allow_prefix(rules, "/usr");
	build_allow_prefix(rules, "/usr/local");
	build_allow_prefix(rules, "");
	build_allow_compiler(rules, job->words[0]);
	if (in_libc && dladdr(in_libc, &libc) && libc.dli_fname) {
		snprintf(libraries, sizeof(libraries), "%s", libc.dli_fname);
		build_cut(libraries);
		build_allow_files(rules, LANDLOCK_RUN | LANDLOCK_LINKS, libraries, NULL);
	}
	build_allow(rules, LANDLOCK_READ, "/etc/ld.so.cache");
	build_allow(rules, LANDLOCK_READ | LANDLOCK_WRITE, "/dev/null");
	build_allow(rules, LANDLOCK_READ, "%s/runtime/nopal", compiler_sources());
	build_allow(rules, LANDLOCK_READ | LANDLOCK_WRITE, "%s", job->into);
	build_allow_files(rules, LANDLOCK_READ, job->folder, build_endings);
	return rules->result;
}

/* Root keeps one right: to read a folder of somebody else that the rules allow. */
static bool build_limit(void)
{
	static const struct {
		unsigned resource;
		int64_t most;
	} limits[] = {
		{ RLIMIT_CPU, BUILD_PROCESSOR_SECONDS },
		{ RLIMIT_AS, BUILD_MEMORY_BYTES },
		{ RLIMIT_FSIZE, BUILD_FILE_BYTES },
		{ RLIMIT_CORE, 0 },
	};
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = { 0 };

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		const struct rlimit limit = { (rlim_t)limits[i].most, (rlim_t)limits[i].most };

		/* the user's own limit may be lower */
		if (setrlimit(limits[i].resource, &limit) != 0 && errno != EPERM)
			return false;
	}
	if (geteuid() == 0)
		kept[0].permitted = kept[0].effective = 1U << CAP_DAC_READ_SEARCH;
	return syscall(__NR_capset, &header, kept) == 0;
}

/* The compiler's variables say where it writes; none of the user's come with them. */
static bool build_environment(const struct build_job *job)
{
	const char *path = getenv("PATH");
	char *kept = strdup(path ? path : "/usr/bin:/bin");

	return kept && clearenv() == 0 && setenv("PATH", kept, 1) == 0 &&
	       setenv("TMPDIR", job->into, 1) == 0 && setenv("LC_ALL", "C", 1) == 0 &&
	       setenv("CCACHE_DISABLE", "1", 1) == 0 && setenv("SOURCE_DATE_EPOCH", "0", 1) == 0;
}

/* In the child. */
static bool build_prepare(void *context)
{
	const struct build_job *job = context;
	struct build_rules rules = { .result = 0 };
	int input = open("/dev/null", O_RDONLY);

	if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(job->output, STDOUT_FILENO) < 0 ||
	    dup2(job->output, STDERR_FILENO) < 0)
		return false;
	if (!job->into)
		return true;
	if (build_rules(job, &rules) == 0 && chdir(job->folder) == 0 && build_environment(job) &&
	    build_limit() && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	    landlock_enter(&rules.landlock, rules.why, sizeof(rules.why)) == 0 &&
	    syscall(BUILD_CLOSE_RANGE, STDERR_FILENO + 1, UINT32_MAX, 0) == 0)
		return true;
	fprintf(stderr, "nopal: the compiler has no walls: %s\n",
		*rules.why ? rules.why : strerror(errno));
	return false;
}

/* ------------------------------------------------------------------------- work */

/* Runs the job; what it says goes behind what `said` holds already. */
static int build_do(struct build_job *job, char said[BUILD_SAID_BYTES])
{
	const size_t had = strlen(said);
	ssize_t length;
	int status;

	job->words[job->count] = NULL;
	job->output = memfd_create("said", MFD_CLOEXEC);
	if (job->output < 0)
		return -errno;
	status = compiler_run(job->words, build_prepare, job);
	length = pread(job->output, said + had, BUILD_SAID_BYTES - 1 - had, 0);
	said[had + (length > 0 ? (size_t)length : 0)] = '\0';
	close(job->output);
	return status;
}

static enum tool_exit build_outcome(int status, char said[BUILD_SAID_BYTES])
{
	if (status < 0) {
		snprintf(said, BUILD_SAID_BYTES, "nopal: cannot run the compiler: %s\n",
			 strerror(-status));
		return TOOL_ENVIRONMENT;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return TOOL_GOOD;
	return WIFEXITED(status) && WEXITSTATUS(status) == TOOL_ENVIRONMENT ? TOOL_ENVIRONMENT
									    : TOOL_FAILED;
}

/* One step of the two: the words that differ are its last. */
static enum tool_exit build_step(const struct build *build, const char *const *words,
				 char said[BUILD_SAID_BYTES])
{
	struct build_job job = { .folder = build->folder, .into = build->into };
	char prefix[PATH_MAX + sizeof("-fdebug-prefix-map==.")];

	snprintf(prefix, sizeof(prefix), "-fdebug-prefix-map=%s=.", build->folder);
	build_word(&job, compiler_name(NULL));
	build_words(&job, build_flags);
	build_words(&job, build_kind_flags[build->kind]);
	build_word(&job, prefix);
	build_words(&job, words);
	return build_outcome(build_do(&job, said), said);
}

/* Is the compiler clang?  Its runtime of sanitizers is another. */
static bool build_by_clang(void)
{
	struct build_job job = { .words = { compiler_name(NULL), "--version" }, .count = 2 };
	char said[BUILD_SAID_BYTES] = "";

	return build_do(&job, said) == 0 && strstr(said, "clang");
}

static void build_name(char path[PATH_MAX], const char *folder, const char *part,
		       const char *ending)
{
	if (snprintf(path, PATH_MAX, "%s/%s.%s", folder, part, ending) >= PATH_MAX)
		*path = '\0'; /* the compiler says that it cannot write there */
}

/* Takes the path of a folder off the names of files in it. */
static void build_shorten(char *text, const char *folder)
{
	char path[PATH_MAX + 1];
	const int length = snprintf(path, sizeof(path), "%s/", folder);

	for (char *at = text; (at = strstr(at, path));)
		memmove(at, at + length, strlen(at + length) + 1);
}

enum tool_exit build_part(const struct build *build, char said[BUILD_SAID_BYTES])
{
	const bool shared = build->kind == BUILD_CHECKED && build_by_clang();
	char folder[PATH_MAX], into[PATH_MAX], headers[PATH_MAX];
	char source[NAME_MAX], object[PATH_MAX], output[PATH_MAX];
	const char *const compile[] = { "-isystem", headers, "-c", "-o", object, source, NULL };
	const char *const link[] = { "-shared", "-Wl,-z,noexecstack",
				     "-o",	output,
				     object,	shared ? "-shared-libasan" : NULL,
				     NULL };
	const struct build real = { build->kind, folder, build->part, into };
	enum tool_exit result;

	if (!realpath(build->folder, folder) || !realpath(build->into, into)) {
		snprintf(said, BUILD_SAID_BYTES, "nopal: %s: %s\n", build->folder, strerror(errno));
		return TOOL_ENVIRONMENT;
	}
	*said = '\0';
	snprintf(headers, sizeof(headers), "%s/runtime", compiler_sources());
	snprintf(source, sizeof(source), "%s.c", build->part);
	build_name(object, into, build->part, "o");
	build_name(output, into, build->part, "so");
	result = build_step(&real, compile, said);
	if (result == TOOL_GOOD)
		result = build_step(&real, link, said);
	if (result == TOOL_GOOD && chmod(output, BUILD_MODE) != 0)
		result = TOOL_ENVIRONMENT;
	unlink(object);
	build_shorten(said, into);
	build_shorten(said, folder);
	plain_text(said);
	return result;
}

/* Where the compiler has a file of its own; false: nowhere. */
static bool build_find(const char *name, char path[PATH_MAX])
{
	char option[NAME_MAX], said[BUILD_SAID_BYTES] = "";
	struct build_job job = { .words = { compiler_name(NULL), option }, .count = 2 };

	snprintf(option, sizeof(option), "-print-file-name=%s", name);
	if (build_do(&job, said) != 0)
		return false;
	said[strcspn(said, "\n")] = '\0';
	return strchr(said, '/') && realpath(said, path);
}

bool build_preload(char preload[BUILD_PRELOAD_BYTES], char said[BUILD_SAID_BYTES])
{
	static const char *const of_clang[] = {
		"libclang_rt.asan-x86_64.so",
		"libclang_rt.asan-aarch64.so",
		"libclang_rt.asan.so",
	};
	char address[PATH_MAX] = "", undefined[PATH_MAX] = "";
	bool found = false;

	if (build_by_clang()) {
		for (size_t i = 0; i < sizeof(of_clang) / sizeof(*of_clang) && !found; i++)
			found = build_find(of_clang[i], address);
		snprintf(preload, BUILD_PRELOAD_BYTES, "%s", address);
	} else {
		found = build_find("libasan.so", address) && build_find("libubsan.so", undefined);
		snprintf(preload, BUILD_PRELOAD_BYTES, "%s:%s", address, undefined);
	}
	if (!found)
		snprintf(said, BUILD_SAID_BYTES,
			 "nopal: %s has no sanitizers\n  fix: install them (libasan and libubsan, "
			 "or compiler-rt), or name another compiler by $CC\n",
			 compiler_name(NULL));
	return found;
}
