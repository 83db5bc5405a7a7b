/* SPDX-License-Identifier: MIT */
/*
 * test_sandbox -- what a process can do inside the walls, and what ends it.
 *
 * Each try is a child that raises the walls around itself, does one thing, and says by its exit
 * code what came of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/filter.c"
#include "lab/landlock.c"
#include "lab/sandbox.c"

#include "support/test.h"

enum { INSIDE_DONE = 42, INSIDE_NOT_ENTERED = 43, MAP_BYTES = 4096 };

static volatile int32_t *noted;
static char folder[] = "/tmp/test_sandbox.XXXXXX";
static char named[64], other[64];

static void scene_write(char *path, const char *name)
{
	FILE *file;

	snprintf(path, sizeof(named), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("content", file);
	fclose(file);
}

static int scene_open(void **state)
{
	(void)state;
	noted = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_non_null(mkdtemp(strcpy(folder, "/tmp/test_sandbox.XXXXXX")));
	assert_int_equal(chmod(folder, 0755), 0);
	scene_write(named, "named");
	scene_write(other, "other");
	return 0;
}

static int scene_close(void **state)
{
	(void)state;
	munmap((void *)(uintptr_t)noted, MAP_BYTES);
	unlink(named);
	unlink(other);
	return rmdir(folder);
}

EACH_TEST(scene_open, scene_close);

/* The status of a child that does this inside the walls, and of `before` outside. */
static int inside_after(bool (*before)(void), int (*work)(void))
{
	const char *const readable[] = { named, NULL };
	const int descriptors[] = { STDOUT_FILENO, STDERR_FILENO };
	const struct sandbox sandbox = { .readable = readable,
					 .descriptors = descriptors,
					 .descriptor_count = 2,
					 .ret_call = noted };
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0) {
		char why[SANDBOX_WHY_BYTES] = "";

		if ((before && !before()) || sandbox_enter(&sandbox, why, sizeof(why)) < 0) {
			/* the reason, for tests of refusals */
			strncpy((char *)(uintptr_t)noted, why, MAP_BYTES - 1);
			_exit(INSIDE_NOT_ENTERED);
		}
		_exit(work());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static int inside(int (*work)(void))
{
	return inside_after(NULL, work);
}

static void expect_done(int status)
{
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), INSIDE_DONE);
}

static int done_if(bool it_is)
{
	return it_is ? INSIDE_DONE : 1;
}

/* ------------------------------------------------------------- what is forbidden */

static int try_exec(void)
{
	return execl("/bin/true", "true", (char *)NULL);
}
static int try_fork(void)
{
	return (int)syscall(__NR_clone, SIGCHLD, 0, 0, 0, 0);
}
static int try_kill(void)
{
	return kill(getppid(), 0);
}
static int try_kill_self(void)
{
	return kill(getpid(), SIGKILL);
}
static int try_tgkill(void)
{
	return (int)syscall(__NR_tgkill, 1, 1, SIGTERM);
}
static int try_stop(void)
{
	return raise(SIGSTOP);
}
static int try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}
static int try_send_elsewhere(void)
{
	const struct sockaddr address = { .sa_family = AF_INET };

	return (int)sendto(STDOUT_FILENO, "x", 1, 0, &address, sizeof(address));
}
static int try_sleep(void)
{
	const struct timespec time = { .tv_sec = 1 };

	return nanosleep(&time, NULL);
}
static int try_yield(void)
{
	return sched_yield();
}
static int try_timed_wait(void)
{
	const struct timespec time = { .tv_sec = 1 };
	int word = 0;

	return (int)syscall(__NR_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}
static int try_write_file(void)
{
	return open("/tmp/test_sandbox.new", O_WRONLY | O_CREAT, 0600);
}
static int try_write_named(void)
{
	return open(named, O_RDWR);
}
static int try_unlink(void)
{
	return unlinkat(AT_FDCWD, named, 0);
}
static int try_list(void)
{
	char entries[256];

	return (int)syscall(__NR_getdents64, 0, entries, sizeof(entries));
}
static int try_trace(void)
{
	return (int)syscall(__NR_ptrace, PTRACE_ATTACH, 1, 0, 0);
}
static int try_look_into(void)
{
	struct iovec here = { 0 }, there = { 0 };

	return (int)process_vm_readv(1, &here, 1, &there, 1, 0);
}
static int try_duplicate(void)
{
	return dup(STDOUT_FILENO);
}
static int try_memory_file(void)
{
	return memfd_create("x", 0);
}
static int try_code(void)
{
	return (int)(intptr_t)mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static int try_make_code(void)
{
	void *page =
		mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(page, MAP_BYTES, PROT_READ | PROT_EXEC);
}
static int try_handle_trap(void)
{
	const struct sigaction action = { .sa_handler = SIG_IGN };

	return sigaction(SIGSYS, &action, NULL);
}
static int try_limit(void)
{
	const struct rlimit limit = { 0, 0 };

	return setrlimit(RLIMIT_CORE, &limit);
}
static int try_other_walls(void)
{
	return (int)syscall(__NR_seccomp, 0, 0, NULL);
}
static int try_control(void)
{
	return prctl(PR_SET_NAME, "other");
}
static int try_parent(void)
{
	return (int)syscall(__NR_getppid);
}

TEST(test_a_forbidden_call_ends_the_process_and_is_named)
{
	static const struct {
		int (*work)(void);
		const char *words;
	} tries[] = {
		{ try_exec, "execve (runs another program)" },
		{ try_fork, "clone (starts a process or a thread)" },
		{ try_kill, "getppid (looks for its parent)" },
		{ try_kill_self, "kill (sends a signal to a process)" },
		{ try_tgkill, "tgkill (sends a signal to another process, or stops itself)" },
		{ try_stop, "tgkill (sends a signal to another process, or stops itself)" },
		{ try_socket, "socket (makes a socket)" },
		{ try_send_elsewhere, "sendto (sends to an address)" },
		{ try_sleep, "clock_nanosleep (sleeps)" },
		{ try_yield, "sched_yield (sleeps)" },
		{ try_timed_wait, "futex (sleeps for some time)" },
		{ try_write_file, "openat (opens a file for writing)" },
		{ try_write_named, "openat (opens a file for writing)" },
		{ try_unlink, "unlinkat (removes a file)" },
		{ try_list, "getdents64 (lists a folder)" },
		{ try_trace, "ptrace (looks into a process)" },
		{ try_look_into, "process_vm_readv (reads the memory of a process)" },
		{ try_duplicate, "dup (copies a descriptor)" },
		{ try_memory_file, "memfd_create (makes a file in memory)" },
		{ try_code, "mmap (maps memory to write and execute)" },
		{ try_make_code, "mprotect (makes memory executable)" },
		{ try_handle_trap, "rt_sigaction (handles the signal of these walls)" },
		{ try_limit, "prlimit64 (changes its limits)" },
		{ try_other_walls, "seccomp (changes these walls)" },
		{ try_control, "prctl (changes the process)" },
		{ try_parent, "getppid (looks for its parent)" },
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		int status = inside(tries[i].work);

		if (!WIFSIGNALED(status))
			print_error("%s: status %x\n", tries[i].words, (unsigned)status);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSYS);
		assert_string_equal(filter_call_words(*noted), tries[i].words);
	}
}

static int try_blocked_trap(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	return try_socket();
}

TEST(test_a_forbidden_call_with_all_signals_blocked_ends_the_process_too)
{
	int status = inside(try_blocked_trap);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
	assert_int_equal(*noted, FILTER_NO_CALL);
}

TEST(test_a_call_without_a_name_is_told_by_its_number)
{
	assert_string_equal(filter_call_words(9999), "number 9999");
	assert_string_equal(filter_call_words(FILTER_NO_CALL),
			    "a thread, one of another machine, or one with all signals blocked");
}

/* --------------------------------------------------------------- what is allowed */

static int try_work(void)
{
	char *memory = malloc(100), number[8];
	struct timespec now;
	sigset_t none;

	memory = realloc(memory, 10 << 20);
	memset(memory, 1, 10 << 20);
	free(memory);
	sigemptyset(&none);
	return done_if(clock_gettime(CLOCK_MONOTONIC, &now) == 0 &&
		       sigprocmask(SIG_SETMASK, &none, NULL) == 0 &&
		       syscall(__NR_getrandom, number, sizeof(number), 0) == sizeof(number) &&
		       write(STDOUT_FILENO, "", 0) == 0);
}

TEST(test_work_without_files_and_processes_goes_on)
{
	expect_done(inside(try_work));
}

static int try_talk(void)
{
	const int file = open(named, O_RDONLY);
	char byte = 'x';

	return done_if(send(file, &byte, 1, MSG_NOSIGNAL) < 0 && errno == ENOTSOCK &&
		       recv(file, &byte, 1, 0) < 0 && errno == ENOTSOCK);
}

TEST(test_sockets_that_are_there_can_be_talked_on)
{
	expect_done(inside(try_talk));
}

static int try_abort(void)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

TEST(test_abort_ends_the_process_by_its_own_signal)
{
	int status = inside(try_abort);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static int try_files(void)
{
	char text[8] = "";
	int file = open(named, O_RDONLY);

	return done_if(file >= 0 && read(file, text, sizeof(text) - 1) == 7 &&
		       strcmp(text, "content") == 0 && open(other, O_RDONLY) < 0 &&
		       open("/etc/passwd", O_RDONLY) < 0 && open("/proc/self/mem", O_RDONLY) < 0 &&
		       open("/dev/zero", O_RDONLY) < 0);
}

TEST(test_files_that_were_named_alone_can_be_read)
{
	expect_done(inside(try_files));
}

static int kept_open;

static bool before_descriptors(void)
{
	kept_open = open(named, O_RDONLY);
	return kept_open > STDERR_FILENO;
}

static int try_descriptors(void)
{
	return done_if(fcntl(kept_open, F_GETFD) < 0 && fcntl(STDIN_FILENO, F_GETFD) < 0 &&
		       fcntl(STDOUT_FILENO, F_GETFD) >= 0 && fcntl(STDERR_FILENO, F_GETFD) >= 0);
}

TEST(test_descriptors_that_were_not_named_are_closed)
{
	expect_done(inside_after(before_descriptors, try_descriptors));
}

/* -------------------------------------------------------------------------- users */

static int try_is_nobody(void)
{
	return done_if(getuid() == SANDBOX_NOBODY && geteuid() == SANDBOX_NOBODY &&
		       getgid() == SANDBOX_NOBODY);
}

TEST(test_root_becomes_nobody)
{
	if (geteuid() != 0)
		skip();
	expect_done(inside(try_is_nobody));
}

static bool before_ordinary(void)
{
	return geteuid() != 0 || (setgid(1234) == 0 && setuid(1234) == 0);
}

TEST(test_the_walls_stand_for_an_ordinary_user)
{
	int status = inside_after(before_ordinary, try_socket);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
	expect_done(inside_after(before_ordinary, try_files));
}

TEST(test_a_file_that_nobody_cannot_reach_is_told)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(WEXITSTATUS(inside(try_work)), INSIDE_NOT_ENTERED);
	assert_non_null(strstr((char *)(uintptr_t)noted, "  fix: chmod o+rX"));
}

/* ----------------------------------------------------- kernels that lack something */

/* From now on a call fails. */
static bool fail_call(long call, int error)
{
	struct filter filter = { .count = 0 };
	struct sock_fprog program = { .filter = filter.lines };

	filter_load(&filter, offsetof(struct seccomp_data, nr));
	filter_return_if(&filter, true, (uint32_t)call, SECCOMP_RET_ERRNO | (uint32_t)error);
	filter_return(&filter, SECCOMP_RET_ALLOW);
	program.len = filter.count;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static bool before_no_landlock(void)
{
	return fail_call(LANDLOCK_CREATE, ENOSYS);
}
static bool before_no_filters(void)
{
	return fail_call(__NR_seccomp, EINVAL);
}

TEST(test_without_landlock_there_are_no_walls)
{
	assert_int_equal(WEXITSTATUS(inside_after(before_no_landlock, try_work)),
			 INSIDE_NOT_ENTERED);
	assert_non_null(strstr((char *)(uintptr_t)noted, "no Landlock"));
	assert_non_null(strstr((char *)(uintptr_t)noted, "  fix: Linux 5.13"));
}

TEST(test_without_seccomp_there_are_no_walls)
{
	assert_int_equal(WEXITSTATUS(inside_after(before_no_filters, try_work)),
			 INSIDE_NOT_ENTERED);
	assert_non_null(strstr((char *)(uintptr_t)noted, "no filter of system calls"));
}
