/* SPDX-License-Identifier: MIT */
/*
 * tool.h -- the frame of the subcommands of `nopal`.
 *
 * A subcommand is one file with one `const struct tool tool_NAME`; its option table gives parsing,
 * --help, the man page and the shell completions.  Results go to stdout, talk to stderr.
 */
#ifndef NOPAL_TOOL_H
#define NOPAL_TOOL_H

#include <nopal/nopal.h>

/* Exit codes of every subcommand. */
enum tool_exit {
	TOOL_GOOD = 0,
	TOOL_FAILED = 1,      /* the work failed */
	TOOL_BAD_INPUT = 2,   /* the user's input is wrong */
	TOOL_ENVIRONMENT = 3, /* the machine refused */
	TOOL_SKIPPED = 77,
};

enum { TOOL_MAX_OPTIONS = 24, TOOL_MAX_REPEATS = 64 };

struct tool_option {
	const char *name;     /* long name, without dashes; NULL ends the table */
	char letter;	      /* short name, or 0 */
	const char *argument; /* word for its argument; NULL: a switch */
	const char *doc;
};

/* The parsed command line: values[i] belongs to options[i]. */
struct tool_call {
	const struct tool *tool;
	const char *values[TOOL_MAX_OPTIONS]; /* last value; "" for a switch; NULL: absent */
	const char *repeats[TOOL_MAX_OPTIONS][TOOL_MAX_REPEATS + 1]; /* all values, NULL-ended */
	char **words;						     /* all that are no options */
	int word_count;
};

struct tool {
	const char *name, *words, *summary; /* words: "CONF..." */
	const char *help;		    /* paragraphs: purpose, examples */
	int min_words, max_words;	    /* most < 0: any number */
	const struct tool_option *options;
	enum tool_exit (*run)(const struct tool_call *call);
};

/* The result of parsing a command line. */
enum tool_parsed {
	TOOL_PARSED,
	TOOL_PARSED_HELP,  /* --help was asked for */
	TOOL_PARSED_BADLY, /* a problem was printed */
};

/* `argv[0]` is the subcommand's name. */
enum tool_parsed tool_parse(const struct tool *tool, int argc, char **argv,
			    struct tool_call *ret_call);
void tool_help(const struct tool *tool, FILE *out);
/* The tool of that name in a NULL-ended table, or NULL. */
const struct tool *tool_find(const struct tool *const *table, const char *name);
/* The nearest name in the table, or NULL. */
const char *tool_nearest(const struct tool *const *table, const char *name);
/* Completions for bash, zsh or fish; false: no such shell. */
bool tool_complete(const struct tool *const *table, const char *shell, FILE *out);
/* The manual page, for man(1). */
void tool_man(const struct tool *const *table, FILE *out);
/* From now on a crash prints the microprotocol at work before the process dies. */
void tool_watch_crashes(void);
/* The exit code of main(): a run without enough memory is TOOL_ENVIRONMENT, unless it failed. */
enum tool_exit tool_outcome(enum tool_exit result);

/* Prints an error of the user, or of the machine, as "CAUSE\n  fix: FIX"; always false. */
bool tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Value of an option by long name; NULL when absent. */
const char *tool_value(const struct tool_call *call, const char *option);
/* All values of a repeated option, NULL-ended. */
const char *const *tool_values(const struct tool_call *call, const char *option);
/* A quantity with unit (enum nopal_unit) or `fallback` where absent.  False:
 * a problem was printed; exit with TOOL_BAD_INPUT. */
bool tool_quantity(const struct tool_call *call, const char *option, int unit, int64_t fallback,
		   int64_t *ret_value);
/* The same of an address, by its text.  False: a problem was printed. */
bool tool_address(const char *text, struct nopal_address *ret_address);
/* Length of a text less the newlines at its end. */
int tool_text_length(const char *text);
/* The fix where a session ended so (enum nopal_ended); NULL: not known. */
const char *tool_ended_fix(enum nopal_end end);
/* An address that datagrams can go to.  False: a problem was printed. */
bool tool_destination(const char *text, struct nopal_address *ret_address);
/* Destinations are all words from the word `first` on.  `ret_addresses` has room for all of them.
 * False: a problem was printed. */
bool tool_destinations(const struct tool_call *call, int first,
		       struct nopal_address *ret_addresses);
/* Is no address given twice?  False: a problem was printed, whose fix ends with `or_else`. */
bool tool_destinations_differ(const struct tool_call *call, int first,
			      const struct nopal_address *addresses, const char *or_else);
/* Loads a plan with --set overrides (option "set") or prints the problems. */
struct nopal_plan *tool_plan(const struct tool_call *call, const char *name);
/* The plan of option "config", or of the config `fallback` where the option is absent. */
struct nopal_plan *tool_chosen_plan(const struct tool_call *call, const char *fallback);
/* Prints problems to stderr and clears them; true when there was an error. */
bool tool_problems(struct nopal_problems *problems);
/* Output is missing, as memory was out: the program goes on, reports that at its end, and fails. */
void tool_lacks_memory(void);
/* Returns `memory`; NULL ends the program. */
void *tool_need(void *memory) __attribute__((returns_nonnull));
/* printf(3) into memory that the caller frees. */
char *tool_printed(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define TOOL_SET_OPTION                                                                            \
	{                                                                                          \
		"set", 0, "SECTION.KEY=VALUE", "override a key of the config; may be repeated"     \
	}
#define TOOL_TRACE_OPTION                                                                          \
	{                                                                                          \
		"trace", 0, "FILE", "write a trace of transmissions, arrivals and deliveries"      \
	}
#define TOOL_JSON_OPTION                                                                           \
	{                                                                                          \
		"json", 0, NULL, "print one JSON object"                                           \
	}

#endif
