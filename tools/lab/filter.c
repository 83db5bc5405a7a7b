/* SPDX-License-Identifier: MIT */
/*
 * filter.c -- an allow-list of system calls as a program of seccomp.
 *
 * The program compares the call's number with each line of a table.  A line has conditions on the
 * arguments: all must hold.  What is on no line, or breaks a condition, raises SIGSYS instead of
 * being done (SECCOMP_RET_TRAP).  Its handler notes the number, then makes a call for which the
 * kernel kills at once.  A process that blocks SIGSYS dies of it all the same, unnoted; it cannot
 * set another handler, as that is a forbidden call.  Whatever a hostile process does to the memory
 * of the handler: the forbidden call has not been done.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab/filter.h"

#if defined(__x86_64__)
#define FILTER_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_MACHINE AUDIT_ARCH_AARCH64
#else
#define FILTER_MACHINE 0
#endif

enum {
	FILTER_MAX_CONDITIONS = 6,
	FILTER_MAX_LINES = 512,
	FILTER_KILLED = __NR_reboot, /* nobody's work: the kernel kills for it */
	FILTER_WRITTEN_CODE = PROT_WRITE | PROT_EXEC,
	FILTER_BRANCH_MARKS = 0x10, /* PROT_BTI of aarch64: the loader adds them to code */
	/* of futex: waiting and waking, on bits too, shared or private, by either clock */
	FILTER_FUTEX_OTHERS = ~(FUTEX_WAIT_BITSET | FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG |
				FUTEX_CLOCK_REALTIME),
	FILTER_OPEN_TO_WRITE = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY),
	FILTER_DESCRIPTOR_FLAGS = F_GETFD | F_SETFD | F_GETFL,
};

/* A 32-bit word of an argument, under a mask, is a value; or is not. */
struct filter_condition {
	enum { FILTER_END, FILTER_IS, FILTER_IS_NOT, FILTER_IS_SELF } kind;
	int word; /* FILTER_LOW or FILTER_HIGH of an argument */
	uint32_t mask, value;
};
#define FILTER_LOW(argument)  (2 * (argument))
#define FILTER_HIGH(argument) (2 * (argument) + 1)
#define FILTER_WHOLE	      UINT32_MAX

struct filter_line {
	long call;
	struct filter_condition conditions[FILTER_MAX_CONDITIONS];
};
#define FILTER_CALL(name)                                                                          \
	{                                                                                          \
		.call = __NR_##name                                                                \
	}
#define FILTER_CALL_IF(name, ...)                                                                  \
	{                                                                                          \
		.call = __NR_##name, .conditions = { __VA_ARGS__ }                                 \
	}
#define FILTER_MASKED(argument, mask, value)                                                       \
	{                                                                                          \
		FILTER_IS, FILTER_LOW(argument), (uint32_t)(mask), value                           \
	}
#define FILTER_MASKED_NOT(argument, mask, value)                                                   \
	{                                                                                          \
		FILTER_IS_NOT, FILTER_LOW(argument), (uint32_t)(mask), value                       \
	}
#define FILTER_NULL(argument)                                                                      \
	FILTER_MASKED(argument, FILTER_WHOLE, 0),                                                  \
	{                                                                                          \
		FILTER_IS, FILTER_HIGH(argument), FILTER_WHOLE, 0                                  \
	}
#define FILTER_NOT(argument, value) FILTER_MASKED_NOT(argument, FILTER_WHOLE, value)

/* The packet path's first.  Other machines lack some of these calls, and have no filter. */
static const struct filter_line filter_lines[] = {
#if FILTER_MACHINE
	FILTER_CALL(read),
	FILTER_CALL(write),
	FILTER_CALL(readv),
	FILTER_CALL(writev),
	/* on a socket that it has, to the other end */
	FILTER_CALL_IF(sendto, FILTER_MASKED(3, ~MSG_NOSIGNAL, 0), FILTER_NULL(4)),
	FILTER_CALL_IF(recvfrom, FILTER_MASKED(3, FILTER_WHOLE, 0), FILTER_NULL(4)),
	FILTER_CALL_IF(mmap, FILTER_MASKED_NOT(2, FILTER_WRITTEN_CODE, FILTER_WRITTEN_CODE)),
	FILTER_CALL(munmap),
	FILTER_CALL(mremap),
	FILTER_CALL(madvise),
	FILTER_CALL(brk),
	/* Memory that was written does not become code. */
	FILTER_CALL_IF(mprotect, FILTER_MASKED_NOT(2, PROT_EXEC | FILTER_BRANCH_MARKS, PROT_EXEC),
		       FILTER_MASKED_NOT(2, FILTER_WRITTEN_CODE, FILTER_WRITTEN_CODE)),
	/* No wait ends by itself: who sleeps, sleeps for ever. */
	FILTER_CALL_IF(futex, FILTER_MASKED(1, FILTER_FUTEX_OTHERS, 0), FILTER_NULL(3)),
	FILTER_CALL(clock_gettime),
	FILTER_CALL(clock_getres),
	FILTER_CALL(getrandom),
	FILTER_CALL(getpid),
	FILTER_CALL(gettid),
	FILTER_CALL(getuid),
	FILTER_CALL(geteuid),
	FILTER_CALL(getgid),
	FILTER_CALL(getegid),
	/* files that Landlock allows, to read */
	FILTER_CALL_IF(openat, FILTER_MASKED(2, FILTER_OPEN_TO_WRITE, 0)),
	FILTER_CALL(close),
	FILTER_CALL(pread64),
	FILTER_CALL(lseek),
	FILTER_CALL(fstat),
	FILTER_CALL(newfstatat),
	FILTER_CALL(statx),
	FILTER_CALL(faccessat),
	FILTER_CALL(faccessat2),
	FILTER_CALL(readlinkat),
	FILTER_CALL(getcwd),
	FILTER_CALL_IF(fcntl, FILTER_MASKED(1, ~FILTER_DESCRIPTOR_FLAGS, 0),
		       FILTER_NOT(1, F_DUPFD)),
	FILTER_CALL_IF(ioctl, FILTER_MASKED(1, FILTER_WHOLE, TCGETS)),
#ifdef __NR_open /* the old ones are those of x86 alone */
	FILTER_CALL_IF(open, FILTER_MASKED(1, FILTER_OPEN_TO_WRITE, 0)),
	FILTER_CALL(stat),
	FILTER_CALL(access),
	FILTER_CALL(readlink),
#endif
	FILTER_CALL_IF(prlimit64, FILTER_NULL(2)),
	FILTER_CALL(sched_getaffinity),
	FILTER_CALL(sigaltstack),
	FILTER_CALL_IF(rt_sigaction, FILTER_NOT(0, SIGSYS)),
	FILTER_CALL(rt_sigprocmask),
	FILTER_CALL(rt_sigreturn),
	FILTER_CALL(restart_syscall),
	/* A stopped process would never end. */
	FILTER_CALL_IF(tgkill, { FILTER_IS_SELF, FILTER_LOW(0), FILTER_WHOLE, 0 },
		       FILTER_NOT(2, SIGSTOP), FILTER_NOT(2, SIGTSTP), FILTER_NOT(2, SIGTTIN),
		       FILTER_NOT(2, SIGTTOU)),
	FILTER_CALL(exit),
#endif
	FILTER_CALL(exit_group),
};

/* ------------------------------------------------------------------ the program */

struct filter {
	struct sock_filter lines[FILTER_MAX_LINES];
	unsigned short count;
};

static void filter_put(struct filter *filter, struct sock_filter line)
{
	if (filter->count < FILTER_MAX_LINES)
		filter->lines[filter->count++] = line;
}

static void filter_load(struct filter *filter, size_t offset)
{
	filter_put(filter,
		   (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void filter_return(struct filter *filter, uint32_t verdict)
{
	filter_put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* Returns the verdict where the loaded word is `value`, or where it is not; else goes on. */
static void filter_return_if(struct filter *filter, bool is, uint32_t value, uint32_t verdict)
{
	filter_put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, !is, is));
	filter_return(filter, verdict);
}

static void filter_put_line(struct filter *filter, const struct filter_line *line)
{
	const struct filter_condition *one = line->conditions;
	const unsigned short at = filter->count;

	filter_put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							(uint32_t)line->call, 0, 0));
	for (; one < line->conditions + FILTER_MAX_CONDITIONS && one->kind != FILTER_END; one++) {
		uint32_t value = one->kind == FILTER_IS_SELF ? (uint32_t)getpid() : one->value;

		filter_load(filter, offsetof(struct seccomp_data, args) +
					    (size_t)one->word * sizeof(uint32_t));
		filter_put(filter,
			   (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, one->mask));
		filter_return_if(filter, one->kind == FILTER_IS_NOT, value, SECCOMP_RET_TRAP);
	}
	filter_return(filter, SECCOMP_RET_ALLOW);
	filter->lines[at].jf = (uint8_t)(filter->count - at - 1);
}

/* Numbers of another machine's calls (32-bit, x32) mean other calls: x32's lie beyond the table. */
static void filter_build(struct filter *filter)
{
	filter_load(filter, offsetof(struct seccomp_data, arch));
	filter_return_if(filter, false, FILTER_MACHINE, SECCOMP_RET_KILL_PROCESS);
	filter_load(filter, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(filter_lines) / sizeof(*filter_lines); i++)
		filter_put_line(filter, &filter_lines[i]);
	filter_return_if(filter, true, FILTER_KILLED, SECCOMP_RET_KILL_PROCESS);
	filter_return(filter, SECCOMP_RET_TRAP);
}

/* ------------------------------------------------------------------ its reports */

static volatile int32_t *filter_noted;

static void filter_note(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (filter_noted)
		*filter_noted = info->si_syscall;
	for (;;)
		syscall(FILTER_KILLED, 0, 0, 0, NULL);
}

int filter_enter(volatile int32_t *ret_call, char *why, size_t room)
{
	struct sigaction action = { .sa_sigaction = filter_note, .sa_flags = SA_SIGINFO };
	struct filter filter = { .count = 0 };
	struct sock_fprog program = { .filter = filter.lines };
	sigset_t traps;

	if (!FILTER_MACHINE) {
		snprintf(why, room,
			 "system calls can be kept in on x86_64 and aarch64 alone\n  fix: grade "
			 "on such a machine");
		return -ENOSYS;
	}
	filter_noted = ret_call;
	if (ret_call)
		*ret_call = FILTER_NO_CALL;
	sigemptyset(&action.sa_mask);
	sigemptyset(&traps);
	sigaddset(&traps, SIGSYS);
	filter_build(&filter);
	program.len = filter.count;
	if (sigaction(SIGSYS, &action, NULL) != 0 || sigprocmask(SIG_UNBLOCK, &traps, NULL) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
		int error = errno;

		snprintf(why, room,
			 "this kernel has no filter of system calls (seccomp: %s)\n  fix: a kernel "
			 "with CONFIG_SECCOMP_FILTER, in a container that allows it",
			 strerror(error));
		return -error;
	}
	return 0;
}

static const struct filter_name {
	long call;
	const char *name, *purpose;
} filter_names[] = {
#define FILTER_NAME(name, purpose)                                                                 \
	{                                                                                          \
		__NR_##name, #name, purpose                                                        \
	}
	FILTER_NAME(execve, "runs another program"),
#if FILTER_MACHINE
	FILTER_NAME(execveat, "runs another program"),
	FILTER_NAME(clone, "starts a process or a thread"),
	FILTER_NAME(clone3, "starts a process or a thread"),
	FILTER_NAME(openat, "opens a file for writing"),
	FILTER_NAME(openat2, "opens a file"),
	FILTER_NAME(unlinkat, "removes a file"),
	FILTER_NAME(renameat, "renames a file"),
	FILTER_NAME(renameat2, "renames a file"),
	FILTER_NAME(linkat, "makes a link"),
	FILTER_NAME(symlinkat, "makes a link"),
	FILTER_NAME(mkdirat, "makes a folder"),
	FILTER_NAME(mknodat, "makes a file"),
	FILTER_NAME(fchmodat, "changes a file"),
	FILTER_NAME(fchmod, "changes a file"),
	FILTER_NAME(truncate, "changes a file"),
	FILTER_NAME(ftruncate, "changes a file"),
	FILTER_NAME(getdents64, "lists a folder"),
	FILTER_NAME(chdir, "changes the working folder"),
	FILTER_NAME(chroot, "changes the root folder"),
	FILTER_NAME(mount, "mounts a file system"),
	FILTER_NAME(memfd_create, "makes a file in memory"),
	FILTER_NAME(mmap, "maps memory to write and execute"),
	FILTER_NAME(mprotect, "makes memory executable"),
	FILTER_NAME(pkey_mprotect, "changes the protection of memory"),
	FILTER_NAME(mlock, "keeps memory in place"),
	FILTER_NAME(shmget, "shares memory"),
	FILTER_NAME(dup, "copies a descriptor"),
	FILTER_NAME(dup3, "copies a descriptor"),
	FILTER_NAME(fcntl, "changes a descriptor"),
	FILTER_NAME(close_range, "closes descriptors"),
	FILTER_NAME(ioctl, "changes a device"),
	FILTER_NAME(pipe2, "makes a pipe"),
	FILTER_NAME(socket, "makes a socket"),
	FILTER_NAME(socketpair, "makes sockets"),
	FILTER_NAME(connect, "connects a socket"),
	FILTER_NAME(sendto, "sends to an address"),
	FILTER_NAME(sendmsg, "sends on a socket"),
	FILTER_NAME(recvfrom, "receives from an address"),
	FILTER_NAME(recvmsg, "receives on a socket"),
	FILTER_NAME(setsockopt, "changes a socket"),
	FILTER_NAME(shutdown, "ends a socket"),
	FILTER_NAME(kill, "sends a signal to a process"),
	FILTER_NAME(tkill, "sends a signal to a thread"),
	FILTER_NAME(tgkill, "sends a signal to another process, or stops itself"),
	FILTER_NAME(rt_sigqueueinfo, "sends a signal to a process"),
	FILTER_NAME(pidfd_open, "looks for a process"),
	FILTER_NAME(pidfd_getfd, "takes a descriptor of a process"),
	FILTER_NAME(pidfd_send_signal, "sends a signal to a process"),
	FILTER_NAME(rt_sigaction, "handles the signal of these walls"),
	FILTER_NAME(rt_sigtimedwait, "sleeps"),
	FILTER_NAME(rt_sigsuspend, "sleeps"),
	FILTER_NAME(nanosleep, "sleeps"),
	FILTER_NAME(clock_nanosleep, "sleeps"),
	FILTER_NAME(futex, "sleeps for some time"),
	FILTER_NAME(ppoll, "sleeps"),
	FILTER_NAME(pselect6, "sleeps"),
	FILTER_NAME(epoll_pwait, "sleeps"),
	FILTER_NAME(setitimer, "sets an alarm"),
	FILTER_NAME(timer_create, "sets an alarm"),
	FILTER_NAME(timerfd_create, "sets an alarm"),
	FILTER_NAME(clock_settime, "sets the clock"),
	FILTER_NAME(ptrace, "looks into a process"),
	FILTER_NAME(process_vm_readv, "reads the memory of a process"),
	FILTER_NAME(process_vm_writev, "writes the memory of a process"),
	FILTER_NAME(getppid, "looks for its parent"),
	FILTER_NAME(setpgid, "leaves its process group"),
	FILTER_NAME(setsid, "leaves its session"),
	FILTER_NAME(setuid, "changes its user"),
	FILTER_NAME(setresuid, "changes its user"),
	FILTER_NAME(unshare, "makes namespaces"),
	FILTER_NAME(setns, "enters a namespace"),
	FILTER_NAME(prctl, "changes the process"),
	FILTER_NAME(seccomp, "changes these walls"),
	FILTER_NAME(prlimit64, "changes its limits"),
	FILTER_NAME(setpriority, "changes its priority"),
	FILTER_NAME(sched_yield, "sleeps"), /* on a busy machine it costs no processor time */
	FILTER_NAME(io_uring_setup, "makes calls behind these walls"),
	FILTER_NAME(userfaultfd, "handles faults of memory"),
	FILTER_NAME(perf_event_open, "measures the machine"),
	FILTER_NAME(bpf, "loads a program into the kernel"),
#ifdef __NR_open
	FILTER_NAME(fork, "starts a process"),
	FILTER_NAME(vfork, "starts a process"),
	FILTER_NAME(open, "opens a file for writing"),
	FILTER_NAME(creat, "makes a file"),
	FILTER_NAME(unlink, "removes a file"),
	FILTER_NAME(rename, "renames a file"),
	FILTER_NAME(mkdir, "makes a folder"),
	FILTER_NAME(rmdir, "removes a folder"),
	FILTER_NAME(symlink, "makes a link"),
	FILTER_NAME(link, "makes a link"),
	FILTER_NAME(chmod, "changes a file"),
	FILTER_NAME(pipe, "makes a pipe"),
	FILTER_NAME(dup2, "copies a descriptor"),
	FILTER_NAME(alarm, "sets an alarm"),
	FILTER_NAME(pause, "sleeps"),
	FILTER_NAME(poll, "sleeps"),
	FILTER_NAME(select, "sleeps"),
	FILTER_NAME(epoll_wait, "sleeps"),
	FILTER_NAME(setrlimit, "changes its limits"),
	FILTER_NAME(arch_prctl, "changes the process"),
	FILTER_NAME(modify_ldt, "changes the machine's segments"),
#endif
#endif
};

const char *filter_call_words(int32_t call)
{
	static char words[96];

	for (size_t i = 0; i < sizeof(filter_names) / sizeof(*filter_names); i++) {
		const struct filter_name *one = &filter_names[i];

		if (one->call == call) {
			snprintf(words, sizeof(words), "%s (%s)", one->name, one->purpose);
			return words;
		}
	}
	if (call == FILTER_NO_CALL)
		return "a thread, one of another machine, or one with all signals blocked";
	snprintf(words, sizeof(words), "number %d", call);
	return words;
}
