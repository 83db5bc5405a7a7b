/* SPDX-License-Identifier: MIT */
/*
 * progress.c -- lines and JSON about a transfer.
 */
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "peer/progress.h"

enum {
	PROGRESS_JSON_VERSION = 1,
	PROGRESS_PERCENT = 100,
	PROGRESS_STEP = 1000, /* between units, decimal as link rates are */
	PROGRESS_BITS = 8,
	PROGRESS_MINUTE_S = 60,
	PROGRESS_HOUR_S = 3600,
	PROGRESS_UNITS = 5,
	PROGRESS_LAST_ASCII = 0x7e,
};
#define PROGRESS_NS_PER_S    1e9
#define PROGRESS_TERMINAL_NS INT64_C(200000000)
#define PROGRESS_JSONL_NS    INT64_C(1000000000)
#define PROGRESS_NEW_WEIGHT  0.3 /* of the newest rate in the one shown */
#define PROGRESS_SILENCE_NS  INT64_C(2000000000)

void progress_init(struct progress *progress, const struct tool_call *call)
{
	*progress = (struct progress){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.role = call->tool->name,
		.terminal = isatty(STDERR_FILENO) == 1,
		.json = tool_value(call, "json") != NULL,
		.jsonl = tool_value(call, "jsonl") != NULL,
	};
}

static const char *progress_unit(double number, const char *const *units, char *text)
{
	unsigned unit = 0;

	while (number >= PROGRESS_STEP && unit + 1 < PROGRESS_UNITS) {
		number /= PROGRESS_STEP;
		unit++;
	}
	snprintf(text, PROGRESS_RATE_ROOM, unit ? "%.1f %s" : "%.0f %s", number, units[unit]);
	return text;
}

const char *progress_rate(double bps, char *text)
{
	static const char *const units[PROGRESS_UNITS] = { "bit/s", "kbit/s", "Mbit/s", "Gbit/s",
							   "Tbit/s" };

	return progress_unit(bps, units, text);
}

const char *progress_size(double bytes, char *text)
{
	static const char *const units[PROGRESS_UNITS] = { "B", "kB", "MB", "GB", "TB" };

	return progress_unit(bytes, units, text);
}

static void progress_line(struct progress *progress, const struct progress_file *file)
{
	char done[PROGRESS_RATE_ROOM], total[PROGRESS_RATE_ROOM], rate[PROGRESS_RATE_ROOM],
		eta[PROGRESS_RATE_ROOM];
	unsigned percent = PROGRESS_PERCENT;
	double left;
	unsigned long seconds;

	if (file->total_bytes > 0)
		percent = (unsigned)((double)file->bytes * PROGRESS_PERCENT /
				     (double)file->total_bytes);
	left = (double)(file->total_bytes - file->bytes) * PROGRESS_BITS;
	if (progress->rate_bps < 1) {
		snprintf(eta, PROGRESS_RATE_ROOM, "--:--");
	} else {
		seconds = (unsigned long)(left / progress->rate_bps + 1);
		if (seconds >= PROGRESS_HOUR_S)
			snprintf(eta, PROGRESS_RATE_ROOM, "%lu h %02lu min",
				 seconds / PROGRESS_HOUR_S,
				 seconds % PROGRESS_HOUR_S / PROGRESS_MINUTE_S);
		else
			snprintf(eta, PROGRESS_RATE_ROOM, "%lu:%02lu", seconds / PROGRESS_MINUTE_S,
				 seconds % PROGRESS_MINUTE_S);
	}
	fprintf(stderr, "\r\033[K%.40s  %u%%  %s of %s  %s  %s left", file->name, percent,
		progress_size((double)file->bytes, done),
		progress_size((double)file->total_bytes, total),
		progress_rate(progress->rate_bps, rate), eta);
	progress->line_open = true;
}

json_t *progress_string(const char *text)
{
	json_t *string = text ? json_string(text) : json_null();
	char plain[256];
	size_t i;

	if (string)
		return string;
	for (i = 0; text[i] && i + 1 < sizeof(plain); i++)
		plain[i] = text[i] > 0 && text[i] <= PROGRESS_LAST_ASCII ? text[i] : '?';
	plain[i] = '\0';
	return json_string(plain);
}

json_t *progress_object(const struct progress *progress, const struct progress_file *file,
			const char *type, int64_t duration_ns, uint64_t bytes)
{
	double rate = duration_ns > 0 ? (double)bytes * PROGRESS_BITS * PROGRESS_NS_PER_S /
						(double)duration_ns
				      : 0;
	json_t *object = json_object();

	json_object_set_new(object, "schema", json_string("nopal.transfer"));
	json_object_set_new(object, "version", json_integer(PROGRESS_JSON_VERSION));
	json_object_set_new(object, "type", json_string(type));
	json_object_set_new(object, "role", json_string(progress->role));
	json_object_set_new(object, "plan", progress_string(file->plan));
	json_object_set_new(object, "file", progress_string(file->name));
	if (file->peer)
		json_object_set_new(object, "peer", progress_string(file->peer));
	json_object_set_new(object, "done_bytes", json_integer((json_int_t)file->bytes));
	json_object_set_new(object, "total_bytes", json_integer((json_int_t)file->total_bytes));
	json_object_set_new(object, "resumed_bytes", json_integer((json_int_t)file->resumed_bytes));
	json_object_set_new(object, "duration_ns", json_integer(duration_ns));
	json_object_set_new(object, "goodput_bps", json_integer((json_int_t)rate));
	return object;
}

json_t *progress_result(const struct progress *progress, const struct progress_file *file,
			int64_t duration_ns)
{
	json_t *object = progress_object(progress, file, "result", duration_ns,
					 file->bytes - file->resumed_bytes);
	char hash[2 * sizeof(uint64_t) + 1];

	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)file->hash);
	json_object_set_new(object, "hash",
			    file->error || file->share ? json_null() : json_string(hash));
	json_object_set_new(object, "result",
			    json_string(file->error   ? "failed"
					: file->share ? "share"
						      : "ok"));
	json_object_set_new(object, "error", progress_string(file->error));
	json_object_set_new(object, "transport", progress_string(file->transport));
	if (file->judged)
		json_object_set_new(object, "judged", file->judged);
	return object;
}

void progress_print(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}

/* Measures the rate since the last line; false: there was none, or the file begins anew. */
static bool progress_measure(struct progress *progress, const struct progress_file *file,
			     int64_t now_ns)
{
	int64_t passed = now_ns - progress->shown_ns;
	bool again = progress->shown_ns != 0 && passed > 0 && file->bytes >= progress->shown_bytes;
	double rate;

	if (again) {
		rate = (double)(file->bytes - progress->shown_bytes) * PROGRESS_BITS *
		       PROGRESS_NS_PER_S / (double)passed;
		progress->rate_bps =
			progress->rate_bps < 1
				? rate
				: progress->rate_bps +
					  PROGRESS_NEW_WEIGHT * (rate - progress->rate_bps);
	}
	progress->shown_ns = now_ns;
	progress->shown_bytes = file->bytes;
	return again;
}

void progress_draw(struct progress *progress, const struct progress_file *file, int64_t now_ns)
{
	pthread_mutex_lock(&progress->lock);
	progress_measure(progress, file, now_ns);
	progress_line(progress, file);
	pthread_mutex_unlock(&progress->lock);
}

void progress_show(struct progress *progress, const struct progress_file *file, int64_t now_ns)
{
	int64_t interval, passed;
	uint64_t bytes;

	if (!progress->terminal && !progress->jsonl)
		return;
	pthread_mutex_lock(&progress->lock);
	interval = progress->jsonl ? PROGRESS_JSONL_NS : PROGRESS_TERMINAL_NS;
	passed = now_ns - progress->shown_ns;
	bytes = file->bytes - progress->shown_bytes;
	if (progress->shown_ns == 0 || passed >= interval || file->bytes < progress->shown_bytes) {
		if (progress_measure(progress, file, now_ns) && progress->jsonl)
			progress_print(progress_object(progress, file, "interval", passed, bytes));
		if (progress->terminal)
			progress_line(progress, file);
	}
	pthread_mutex_unlock(&progress->lock);
}

static void progress_close_line(struct progress *progress)
{
	if (progress->line_open)
		fputs("\r\033[K", stderr);
	progress->line_open = false;
}

void progress_print_file(const struct progress_file *file, int64_t duration_ns, const char *more,
			 const char *behind)
{
	char size[PROGRESS_RATE_ROOM], rate[PROGRESS_RATE_ROOM];
	uint64_t bytes = file->bytes - file->resumed_bytes;
	double seconds = (double)duration_ns / PROGRESS_NS_PER_S;

	fprintf(stderr, "%s: %s", file->name, progress_size((double)file->total_bytes, size));
	if (bytes == 0 && file->total_bytes > 0) {
		fputs(", was there already", stderr);
	} else {
		progress_rate((double)bytes * PROGRESS_BITS / (seconds > 0 ? seconds : 1), rate);
		fprintf(stderr, " in %.2f s, %s", seconds, rate);
		if (file->resumed_bytes > 0)
			fprintf(stderr, ", resumed at %s",
				progress_size((double)file->resumed_bytes, size));
		fputs(more, stderr);
	}
	fprintf(stderr, ", hash %016llx%s\n", (unsigned long long)file->hash, behind);
}

void progress_end(struct progress *progress, const struct progress_file *file, int64_t now_ns)
{
	char from[2 * NOPAL_ADDRESS_TEXT] = "";
	int64_t duration_ns;

	pthread_mutex_lock(&progress->lock);
	duration_ns = now_ns - file->started_ns;
	progress_close_line(progress);
	progress->shown_ns = 0;
	progress->shown_bytes = 0;
	progress->rate_bps = 0;
	if (file->peer)
		snprintf(from, sizeof(from), ", from %s", file->peer);
	if (file->error)
		tool_error("%s%s", file->error, from);
	else if (file->share)
		fprintf(stderr,
			"%s: a share of the file, %llu of %llu bytes, is in place in "
			".%s.nopal-part; others have the rest%s\n",
			file->name, (unsigned long long)file->bytes,
			(unsigned long long)file->total_bytes, file->name, from);
	else
		progress_print_file(file, duration_ns, "", from);
	if (!progress->json && !progress->jsonl)
		json_decref(file->judged);
	else
		progress_print(progress_result(progress, file, duration_ns));
	pthread_mutex_unlock(&progress->lock);
}

void progress_say(struct progress *progress, const char *format, ...)
{
	va_list arguments;

	if (progress) {
		pthread_mutex_lock(&progress->lock);
		progress_close_line(progress);
	}
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	if (progress)
		pthread_mutex_unlock(&progress->lock);
}

void progress_say_silence(struct progress *progress, const struct nopal_session *session,
			  bool *said)
{
	bool silent = session && nopal_session_silence(session) >= PROGRESS_SILENCE_NS;
	char peer[NOPAL_ADDRESS_TEXT];
	struct nopal_address address;

	if (!session || silent == *said)
		return;
	*said = silent;
	nopal_session_peer(session, &address);
	nopal_address_format(&address, peer);
	progress_say(progress, silent ? "nothing heard from %s for 2 s" : "%s is heard again",
		     peer);
}
