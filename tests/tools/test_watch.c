/* SPDX-License-Identifier: MIT */
/*
 * test_watch -- children that answer, and children that use up too much.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/watch.c"

#include "support/test.h"

enum { MIB = 1 << 20, MORE_MIB = 48 };

struct scene {
	struct watch watch;
	int socket; /* the child's end */
};

/* Resident memory of this process, which each child begins with. */
static int64_t scene_memory(void)
{
	char status[WATCH_STATUS_BYTES] = "";
	FILE *file = fopen("/proc/self/status", "r");

	assert_non_null(file);
	assert_true(fread(status, 1, sizeof(status) - 1, file) > 0);
	fclose(file);
	return watch_status_kib(status, "\nVmRSS:") * 1024;
}

static struct scene *scene_begin(void (*work)(int answers))
{
	struct scene *scene = calloc(1, sizeof(*scene));
	int sockets[2], output[2];

	assert_non_null(scene);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_int_equal(pipe(output), 0);
	scene->watch = (struct watch){ .answers = sockets[0],
				       .output = output[0],
				       .processor_ns = INT64_C(60000000000),
				       .memory_bytes = scene_memory() + MORE_MIB * MIB };
	scene->socket = sockets[0];
	scene->watch.child = fork();
	assert_true(scene->watch.child >= 0);
	if (scene->watch.child == 0) {
		dup2(output[1], STDOUT_FILENO);
		dup2(output[1], STDERR_FILENO);
		close(sockets[0]);
		close(output[0]);
		close(output[1]);
		work(sockets[1]);
		_exit(0);
	}
	close(sockets[1]);
	close(output[1]);
	assert_int_equal(watch_begin(&scene->watch), 0);
	return scene;
}

/* Ends the child; its reason in words. */
static const char *scene_end(struct scene *scene, enum watch_end end)
{
	static char text[256];
	const int output = scene->watch.output;
	int status = 0;

	watch_close(&scene->watch);
	assert_int_equal(waitpid(scene->watch.child, &status, 0), scene->watch.child);
	watch_say(&scene->watch, end, status, FILTER_NO_CALL, text, sizeof(text));
	close(scene->socket);
	if (output >= 0)
		close(output);
	free(scene);
	return text;
}

static void work_answer(int answers)
{
	char question;

	while (read(answers, &question, 1) == 1)
		if (write(answers, &question, 1) != 1)
			break;
}

TEST(test_an_answer_is_waited_for)
{
	struct scene *scene = scene_begin(work_answer);
	char byte = 'x';

	for (int i = 0; i < 100; i++) {
		assert_int_equal(write(scene->socket, &byte, 1), 1);
		assert_int_equal(watch_wait(&scene->watch), WATCH_READABLE);
		assert_int_equal(read(scene->socket, &byte, 1), 1);
	}
	assert_true(watch_processor_ns(&scene->watch) > 0);
	assert_string_equal(scene_end(scene, WATCH_READABLE), "lives");
}

static void work_spin(int answers)
{
	(void)answers;
	for (volatile int turn = 0;; turn = turn + 1)
		continue;
}

TEST(test_a_child_that_computes_for_ever_is_ended)
{
	struct scene *scene = scene_begin(work_spin);

	scene->watch.processor_ns = 30000000;
	assert_int_equal(watch_wait(&scene->watch), WATCH_PROCESSOR);
	assert_string_equal(scene_end(scene, WATCH_PROCESSOR),
			    "used more than 30 ms of processor time");
}

static void last_words(int signal)
{
	static const char words[] = "nopal: a crash (SIGXCPU) while `x` handled Y\n";

	(void)signal;
	if (write(STDERR_FILENO, words, strlen(words)) > 0)
		_exit(1);
}

static void work_spin_and_say_where(int answers)
{
	signal(SIGXCPU, last_words);
	work_spin(answers);
}

TEST(test_a_child_that_computes_for_ever_can_say_where)
{
	struct scene *scene = scene_begin(work_spin_and_say_where);

	scene->watch.processor_ns = 30000000;
	assert_int_equal(watch_wait(&scene->watch), WATCH_PROCESSOR);
	assert_string_equal(scene_end(scene, WATCH_PROCESSOR),
			    "used more than 30 ms of processor time while `x` handled Y");
}

static void work_spin_deafly(int answers)
{
	signal(SIGXCPU, SIG_IGN);
	work_spin(answers);
}

TEST(test_a_child_that_computes_for_ever_need_not_say_where)
{
	struct scene *scene = scene_begin(work_spin_deafly);

	scene->watch.processor_ns = 30000000;
	assert_int_equal(watch_wait(&scene->watch), WATCH_PROCESSOR);
	assert_string_equal(scene_end(scene, WATCH_PROCESSOR),
			    "used more than 30 ms of processor time");
}

static void work_answer_and_spin(int answers)
{
	for (volatile int turn = 0;; turn = turn + 1)
		if (turn % 1000 == 0 && write(answers, "x", 1) != 1)
			break;
}

TEST(test_a_child_that_computes_for_ever_between_answers_is_ended)
{
	struct scene *scene = scene_begin(work_answer_and_spin);
	enum watch_end end;
	char bytes[4096];

	scene->watch.processor_ns = 30000000;
	while ((end = watch_wait(&scene->watch)) == WATCH_READABLE)
		assert_true(read(scene->socket, bytes, sizeof(bytes)) > 0);
	assert_int_equal(end, WATCH_PROCESSOR);
	scene_end(scene, end);
}

static void work_eat(int answers)
{
	(void)answers;
	for (;;) {
		volatile char *memory =
			mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; i < MIB; i += 4096)
			memory[i] = 1;
	}
}

TEST(test_a_child_that_takes_memory_is_ended)
{
	struct scene *scene = scene_begin(work_eat);

	assert_int_equal(watch_wait(&scene->watch), WATCH_MEMORY);
	assert_non_null(strstr(scene_end(scene, WATCH_MEMORY), "MiB of memory"));
}

/* Pages that are read only are one page of zeros, but each has its place in a table. */
static void work_eat_tables(int answers)
{
	const size_t step = 2 * MIB, size = step << 16;
	volatile char *memory =
		mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char sum = 0;

	(void)answers;
	for (size_t at = 0; at < size; at += step)
		sum = (char)(sum + memory[at]);
	work_spin(sum);
}

TEST(test_a_child_that_fills_the_tables_of_its_pages_is_ended)
{
	struct scene *scene = scene_begin(work_eat_tables);

	assert_int_equal(watch_wait(&scene->watch), WATCH_MEMORY);
	scene_end(scene, WATCH_MEMORY);
}

static void work_sleep(int answers)
{
	char bytes[4096];

	while (read(answers, bytes, sizeof(bytes)) > 0)
		continue;
}

TEST(test_a_child_that_sleeps_is_ended)
{
	struct scene *scene = scene_begin(work_sleep);

	assert_int_equal(watch_wait(&scene->watch), WATCH_STUCK);
	assert_string_equal(scene_end(scene, WATCH_STUCK), "sleeps, and nothing will wake it");
}

static void work_stop(int answers)
{
	(void)answers;
	raise(SIGSTOP);
}

TEST(test_a_child_that_stops_itself_is_ended)
{
	struct scene *scene = scene_begin(work_stop);

	assert_int_equal(watch_wait(&scene->watch), WATCH_STUCK);
	scene_end(scene, WATCH_STUCK);
}

static void work_talk(int answers)
{
	char line[1000];

	(void)answers;
	memset(line, 'x', sizeof(line));
	while (write(STDOUT_FILENO, line, sizeof(line)) > 0)
		continue;
}

TEST(test_a_child_that_writes_for_ever_is_ended)
{
	struct scene *scene = scene_begin(work_talk);

	assert_int_equal(watch_wait(&scene->watch), WATCH_OUTPUT);
	assert_int_equal(scene->watch.said_bytes, WATCH_SAID_BYTES);
	assert_string_equal(scene_end(scene, WATCH_OUTPUT), "wrote more than 1 MiB to its output");
}

/* Everything that a socket takes is said to a child. */
static void scene_fill(const struct scene *scene)
{
	char bytes[4096] = "";

	while (send(scene->socket, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		continue;
}

TEST(test_a_child_that_reads_can_be_written_to)
{
	struct scene *scene = scene_begin(work_sleep);

	for (int i = 0; i < 10; i++) {
		scene_fill(scene);
		assert_int_equal(watch_wait_to_write(&scene->watch), WATCH_READABLE);
	}
	scene_end(scene, WATCH_READABLE);
}

static void work_deafly(int answers)
{
	(void)answers;
	pause();
}

TEST(test_a_child_that_reads_nothing_is_ended)
{
	struct scene *scene = scene_begin(work_deafly);

	scene_fill(scene);
	assert_int_equal(watch_wait_to_write(&scene->watch), WATCH_STUCK);
	scene_end(scene, WATCH_STUCK);
}

static void work_exit(int answers)
{
	(void)answers;
	_exit(5);
}

TEST(test_a_child_that_ends_is_told)
{
	struct scene *scene = scene_begin(work_exit);

	assert_int_equal(watch_wait(&scene->watch), WATCH_DIED);
	assert_string_equal(scene_end(scene, WATCH_DIED), "ended by itself, with exit code 5");
}

static void work_crash(int answers)
{
	(void)answers;
	signal(SIGFPE, SIG_DFL);
	raise(SIGFPE);
}

TEST(test_a_child_that_crashes_is_told)
{
	struct scene *scene = scene_begin(work_crash);

	assert_int_equal(watch_wait(&scene->watch), WATCH_DIED);
	assert_string_equal(scene_end(scene, WATCH_DIED), "crashed: SIGFPE (a division by zero)");
}

/* Words said before the end are there, answers first. */
static void work_last_words(int answers)
{
	static const char words[] = "==7==ERROR\nSUMMARY: AddressSanitizer: x at 0x60a1b2 in y "
				    "/tmp/q1/a.c:3 (/tmp/q1/a.so+0x12)\n==7==END\n";

	if (write(STDERR_FILENO, words, strlen(words)) > 0 && write(answers, "a", 1) == 1)
		_exit(1);
}

TEST(test_what_a_sanitizer_found_is_told)
{
	struct scene *scene = scene_begin(work_last_words);
	char byte;

	assert_int_equal(watch_wait(&scene->watch), WATCH_READABLE);
	assert_int_equal(read(scene->socket, &byte, 1), 1);
	assert_int_equal(watch_wait(&scene->watch), WATCH_DIED);
	assert_string_equal(scene_end(scene, WATCH_DIED),
			    "has a fault that a sanitizer found: AddressSanitizer: x at 0x in y "
			    "a.c:3 (a.so+0x)");
}

static void work_close(int answers)
{
	close(answers);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	pause();
}

TEST(test_a_child_that_closes_its_descriptors_and_lives_is_ended)
{
	struct scene *scene = scene_begin(work_close);

	assert_int_equal(watch_wait(&scene->watch), WATCH_STUCK);
	scene_end(scene, WATCH_STUCK);
}
