/* SPDX-License-Identifier: MIT */
/*
 * complete.c -- shell completions and the manual page, from the tables of tools and options, from
 * which --help is printed, too.
 */
#include <ctype.h>
#include <string.h>

#include "frame/tool.h"

/* Choices of a tool for its first word, where it names all of that: "a|b|c WORD", "[a|b]". */
static bool complete_has_choices(const struct tool *tool)
{
	return memchr(tool->words, '|', strcspn(tool->words, " ")) != NULL;
}

static void complete_choices(const struct tool *tool, FILE *out)
{
	size_t length = strcspn(tool->words, " ");

	for (const char *at = tool->words; at < tool->words + length; at++)
		if (!strchr("[]", *at))
			fputc(*at == '|' ? ' ' : *at, out);
}

/* ----------------------------------------------------------------------- bash */

static void complete_bash(const struct tool *const *table, FILE *out)
{
	fputs("_nopal() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} words=\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"help",
	      out);
	for (const struct tool *const *tool = table; *tool; tool++)
		fprintf(out, " %s", (*tool)->name);
	fputs("\"\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n", out);
	for (const struct tool *const *tool = table; *tool; tool++) {
		const struct tool_option *option = (*tool)->options;

		fprintf(out, "\t\t%s) words=\"--help", (*tool)->name);
		for (; option && option->name; option++)
			fprintf(out, " --%s", option->name);
		if (strncmp((*tool)->words, "CONF", strlen("CONF")) == 0)
			fputs(" $(nopal list configs --names 2>/dev/null)", out);
		if (complete_has_choices(*tool)) {
			fputc(' ', out);
			complete_choices(*tool, out);
		}
		fputs("\" ;;\n", out);
	}
	fputs("\t\tesac\n\tfi\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -f -- \"$word\"))\n"
	      "}\ncomplete -o filenames -F _nopal nopal\n",
	      out);
}

/* ------------------------------------------------------------------------ zsh */

/* Quotes and brackets mean something to _arguments. */
static void complete_zsh_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void complete_zsh(const struct tool *const *table, FILE *out)
{
	fputs("#compdef nopal\n_nopal() {\n"
	      "\tif (( CURRENT == 2 )); then\n\t\tlocal -a tools=(",
	      out);
	for (const struct tool *const *tool = table; *tool; tool++) {
		fprintf(out, " '%s:", (*tool)->name);
		complete_zsh_text((*tool)->summary, out);
		fputs("'", out);
	}
	fputs(" )\n\t\t_describe tool tools\n\t\treturn\n\tfi\n"
	      "\tcase $words[2] in\n",
	      out);
	for (const struct tool *const *tool = table; *tool; tool++) {
		fprintf(out, "\t%s)\n\t\t_arguments '*:word:_files'", (*tool)->name);
		for (const struct tool_option *option = (*tool)->options; option && option->name;
		     option++) {
			fprintf(out, " \\\n\t\t\t'*--%s%s[", option->name,
				option->argument ? "=" : "");
			complete_zsh_text(option->doc, out);
			fputs("]", out);
			if (option->argument) {
				fputs(":", out);
				complete_zsh_text(option->argument, out);
				fputs(":_files", out);
			}
			fputs("'", out);
		}
		fputs(" ;;\n", out);
	}
	fputs("\tesac\n}\n_nopal \"$@\"\n", out);
}

/* ----------------------------------------------------------------------- fish */

static void complete_fish_text(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (strchr("'\\", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
	fputs("'\n", out);
}

static void complete_fish(const struct tool *const *table, FILE *out)
{
	for (const struct tool *const *tool = table; *tool; tool++) {
		fprintf(out, "complete -c nopal -n __fish_use_subcommand -a %s -d ", (*tool)->name);
		complete_fish_text((*tool)->summary, out);
		if (complete_has_choices(*tool)) {
			fprintf(out, "complete -c nopal -n '__fish_seen_subcommand_from %s' -a '",
				(*tool)->name);
			complete_choices(*tool, out);
			fputs("'\n", out);
		}
		for (const struct tool_option *option = (*tool)->options; option && option->name;
		     option++) {
			fprintf(out, "complete -c nopal -n '__fish_seen_subcommand_from %s' -l %s",
				(*tool)->name, option->name);
			if (option->letter)
				fprintf(out, " -s %c", option->letter);
			fprintf(out, "%s -d ", option->argument ? " -r" : "");
			complete_fish_text(option->doc, out);
		}
	}
}

bool tool_complete(const struct tool *const *table, const char *shell, FILE *out)
{
	static const struct {
		const char *shell;
		void (*print)(const struct tool *const *table, FILE *out);
	} shells[] = { { "bash", complete_bash },
		       { "zsh", complete_zsh },
		       { "fish", complete_fish } };

	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
		if (strcmp(shells[i].shell, shell) == 0) {
			shells[i].print(table, out);
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------- man page */

/* roff: a '-' to be typed is \-, a line must not begin with '.' or '\''. */
static void man_text(const char *text, FILE *out)
{
	bool begins = true;

	for (; *text; text++) {
		if (begins && strchr(".'", *text))
			fputs("\\&", out);
		if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\\')
			fputs("\\e", out);
		else
			fputc(*text, out);
		begins = *text == '\n';
	}
}

static void man_tool(const struct tool *tool, FILE *out)
{
	fprintf(out, ".SS \"nopal %s ", tool->name);
	man_text(tool->words, out);
	fputs("\"\n", out);
	man_text(tool->summary, out);
	fputs(".\n.PP\n", out);
	if (tool->help) {
		const char *text = tool->help;
		bool literal = false;

		/* Empty lines part paragraphs; indented ones are examples, kept as they are. */
		while (*text) {
			size_t length = strcspn(text, "\n");
			bool indented = length > 0 && isspace((unsigned char)*text);
			char line[512];

			snprintf(line, sizeof(line), "%.*s", (int)length, text);
			if (indented != literal)
				fputs(indented ? ".nf\n" : ".fi\n", out);
			literal = indented;
			if (!length)
				fputs(".PP", out);
			man_text(line, out);
			fputc('\n', out);
			text += length + (text[length] == '\n');
		}
		if (literal)
			fputs(".fi\n", out);
	}
	for (const struct tool_option *option = tool->options; option && option->name; option++) {
		fputs(".TP\n.B ", out);
		if (option->letter)
			fprintf(out, "\\-%c, ", option->letter);
		fputs("\\-\\-", out);
		man_text(option->name, out);
		if (option->argument) {
			fputs(" ", out);
			man_text(option->argument, out);
		}
		fputs("\n", out);
		man_text(option->doc, out);
		fputs("\n", out);
	}
}

void tool_man(const struct tool *const *table, FILE *out)
{
	fputs(".TH NOPAL 1 \"\" \"nopal " NOPAL_VERSION "\"\n"
	      ".SH NAME\nnopal \\- transport protocols composed from "
	      "microprotocols\n"
	      ".SH SYNOPSIS\n.B nopal\n.I tool\n[options] [words]\n"
	      ".SH TOOLS\n",
	      out);
	for (const struct tool *const *tool = table; *tool; tool++)
		man_tool(*tool, out);
	fputs(".SH ENVIRONMENT\n"
	      ".TP\n.B NOPAL_CONFIGS\nfolders to look for configs in, divided by colons\n"
	      ".TP\n.B NOPAL_BENCH_DIR\nwhere the programs of `nopal bench bulk` are: tests/bench "
	      "of a build\n"
	      ".TP\n.B NOPAL_BENCH_CORES\nof sender and receiver in `nopal bench bulk`; default "
	      "0,1\n"
	      ".TP\n.B NOPAL_PLUGINS\nfolders to look for plugins in, divided by colons\n"
	      ".TP\n.B NOPAL_FUSED\nfolders to look for fused units in, divided by colons; off: "
	      "none is taken\n"
	      ".TP\n.B XDG_CACHE_HOME\nthe folder around nopal/fused, where `nopal fuse` puts "
	      "units; default ~/.cache\n"
	      ".SH EXIT STATUS\n"
	      ".TP\n.B 0\nall went well\n"
	      ".TP\n.B 1\nthe work failed\n"
	      ".TP\n.B 2\nthe user's input is wrong\n"
	      ".TP\n.B 3\nthe machine refused\n"
	      ".TP\n.B 77\nskipped\n",
	      out);
}
