/* SPDX-License-Identifier: MIT */
/*
 * threads -- one connection by calls that block, and where its four threads run.
 *
 *     threads CONFIG MEGABYTES [PLACE]
 *
 * Each side of a blocking connection is two threads: the application's, which copies messages in or
 * out, and the loop's, which is the protocol and the socket.  Sends so many 10^6 bytes in messages
 * of 64 KiB over loopback, within one process, and prints the goodput and what each of the threads
 * had of a core.  PLACE:
 *
 *     one     all four on core 0
 *     sides   the sender's two on core 0, the receiver's on core 1
 *     roles   the loops' two on core 0, the applications' on core 1
 *     free    where the kernel puts them (default)
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nopal/nopal.h>

enum { MESSAGE = 1 << 16, MEGABYTE = 1000000, BITS = 8, PERCENT = 100 };
static const int64_t timeout_ns = 60 * NOPAL_SECOND;

enum thread { SENDING, SENDER_LOOP, RECEIVER_LOOP, RECEIVING, THREADS };
static const char *const thread_names[THREADS] = {
	[SENDING] = "application that sends",
	[SENDER_LOOP] = "its loop",
	[RECEIVER_LOOP] = "loop that receives",
	[RECEIVING] = "its application",
};
static const struct place {
	const char *name;
	int core[THREADS]; /* -1: any */
} places[] = {
	{ "one", { 0, 0, 0, 0 } },
	{ "sides", { 0, 0, 1, 1 } },
	{ "roles", { 1, 0, 0, 1 } },
	{ "free", { -1, -1, -1, -1 } },
};

static long task[RECEIVING]; /* kernel's numbers of the threads; the last one asks itself */

/* Of the calling thread, and of those that it makes from now on. */
static void run_on(const struct place *place, enum thread thread)
{
	cpu_set_t cores;

	CPU_ZERO(&cores);
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (place->core[thread] < 0 || place->core[thread] == core)
			CPU_SET((size_t)core, &cores);
	if (sched_setaffinity(0, sizeof(cores), &cores))
		perror("threads: sched_setaffinity");
}

/* The thread that was made last. */
static long newest_task(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	long newest = 0;

	while (folder && (entry = readdir(folder))) {
		long one = strtol(entry->d_name, NULL, 10);

		newest = one > newest ? one : newest;
	}
	if (folder)
		closedir(folder);
	return newest;
}

/* Nanoseconds on a core so far. */
static int64_t task_ns(long one)
{
	char path[64];
	long long ns = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", one);
	file = fopen(path, "r");
	if (file && fscanf(file, "%lld", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return ns;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NOPAL_SECOND + now.tv_nsec;
}

struct talk {
	struct nopal_listener *listener;
	struct nopal_connection *here, *there;
	struct nopal_problems problems;
	uint64_t bytes;
	int64_t receiving_ns; /* on a core: of the thread that receives */
	const struct place *place;
};

static void *receives(void *user)
{
	uint8_t *bytes = malloc(MESSAGE);
	struct talk *talk = user;
	uint64_t had = 0;
	int64_t length;

	run_on(talk->place, RECEIVING);
	while (had < talk->bytes &&
	       (length = nopal_connection_receive(talk->there, bytes, MESSAGE, timeout_ns)) >= 0)
		had += (uint64_t)length;
	talk->receiving_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	free(bytes);
	return had < talk->bytes ? NULL : user;
}

static bool meet(struct talk *talk, const char *config)
{
	struct nopal_address address;
	char text[NOPAL_ADDRESS_TEXT];

	run_on(talk->place, RECEIVER_LOOP);
	talk->listener = nopal_listen(config, "127.0.0.1:0", &talk->problems);
	if (!talk->listener)
		return false;
	task[RECEIVER_LOOP] = newest_task();
	nopal_listener_address(talk->listener, &address);
	run_on(talk->place, SENDER_LOOP);
	talk->here = nopal_dial(config, nopal_address_format(&address, text), timeout_ns,
				&talk->problems);
	task[SENDER_LOOP] = newest_task();
	if (talk->here)
		talk->there = nopal_accept(talk->listener, timeout_ns, &talk->problems);
	return talk->there != NULL;
}

/* Sends all; the wall-clock time that it took, or 0. */
static int64_t run(struct talk *talk, int64_t *ret_used_ns)
{
	uint8_t *bytes = calloc(1, MESSAGE);
	uint64_t sent = 0;
	pthread_t thread;
	int64_t began_ns = now_ns(CLOCK_MONOTONIC);
	void *good = NULL;
	int error = 0;

	run_on(talk->place, SENDING);
	task[SENDING] = getpid();
	for (int i = 0; i < RECEIVING; i++)
		ret_used_ns[i] = -task_ns(task[i]);
	if (pthread_create(&thread, NULL, receives, talk))
		return 0;
	for (; !error && sent < talk->bytes; sent += MESSAGE)
		error = nopal_connection_send(talk->here, bytes, MESSAGE, timeout_ns);
	nopal_connection_wait(talk->here, 0, timeout_ns);
	for (int i = 0; i < RECEIVING; i++)
		ret_used_ns[i] += task_ns(task[i]);
	pthread_join(thread, &good);
	ret_used_ns[RECEIVING] = talk->receiving_ns;
	free(bytes);
	return good && !error ? now_ns(CLOCK_MONOTONIC) - began_ns : 0;
}

static void print(const struct talk *talk, int64_t took_ns, const int64_t *used_ns)
{
	double gigabytes = (double)talk->bytes / (MEGABYTE * 1000.0), all = 0;

	printf("%s: %.2f Gbit/s\n", talk->place->name,
	       gigabytes * BITS * NOPAL_SECOND / (double)took_ns);
	for (int i = 0; i < THREADS; i++) {
		double share = PERCENT * (double)used_ns[i] / (double)took_ns;

		printf("  %-22s %4.0f %% of a core, %.2f s/GB\n", thread_names[i], share,
		       (double)used_ns[i] / NOPAL_SECOND / gigabytes);
		all += share;
	}
	printf("  %-22s %4.0f %%\n", "together", all);
}

int main(int count, char **words)
{
	struct talk talk = { .place = &places[3] };
	int64_t used_ns[THREADS], took_ns = 0;

	for (size_t i = 0; count > 3 && i < sizeof(places) / sizeof(places[0]); i++)
		if (strcmp(words[3], places[i].name) == 0)
			talk.place = &places[i];
	talk.bytes = count > 2 ? strtoull(words[2], NULL, 10) * MEGABYTE : 0;
	if (!talk.bytes) {
		fprintf(stderr, "usage: threads CONFIG MEGABYTES [one|sides|roles|free]\n");
		return 2;
	}
	if (meet(&talk, words[1]))
		took_ns = run(&talk, used_ns);
	nopal_problems_print(&talk.problems, stderr);
	if (took_ns)
		print(&talk, took_ns, used_ns);
	if (talk.here)
		nopal_connection_close(talk.here, timeout_ns, &talk.problems);
	if (talk.there)
		nopal_connection_close(talk.there, timeout_ns, &talk.problems);
	if (talk.listener)
		nopal_listener_close(talk.listener);
	nopal_problems_fini(&talk.problems);
	return took_ns ? 0 : 1;
}
