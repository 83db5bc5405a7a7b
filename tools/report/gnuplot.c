/* SPDX-License-Identifier: MIT */
/*
 * gnuplot.c -- a plot file by way of gnuplot.
 */
#include <signal.h>
#include <string.h>

#include "report/gnuplot.h"

struct gnuplot_kind {
	const char *suffix, *terminal;
	int unit; /* pixels in one unit of the terminal's size */
};

static const struct gnuplot_kind *gnuplot_kind_of(const char *file)
{
	static const struct gnuplot_kind kinds[] = {
		{ ".png", "pngcairo", 1 },
		{ ".svg", "svg", 1 },
		{ ".pdf", "pdfcairo", 96 }, /* inches */
	};
	const char *suffix = strrchr(file, '.');

	for (size_t i = 0; suffix && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(suffix, kinds[i].suffix) == 0)
			return &kinds[i];
	return NULL;
}

bool gnuplot_knows(const char *program, const char *file)
{
	if (gnuplot_kind_of(file) && !strpbrk(file, "\"\\\n"))
		return true;
	fprintf(stderr,
		"%s: %s cannot be plotted\n"
		"  fix: name a file that ends in .png, .svg or .pdf\n",
		program, file);
	return false;
}

bool gnuplot_draw(const char *program, const char *file, struct gnuplot_size size,
		  gnuplot_script *script, const void *what)
{
	const struct gnuplot_kind *kind = gnuplot_kind_of(file);
	void (*before)(int);
	int status = -1;
	FILE *out;

	if (!gnuplot_knows(program, file))
		return false;
	before = signal(SIGPIPE, SIG_IGN);
	out = popen("gnuplot", "w");
	if (out) {
		fprintf(out, "set terminal %s size %d,%d\nset output \"%s\"\n", kind->terminal,
			size.width / kind->unit, size.height / kind->unit, file);
		script(what, out);
		status = pclose(out);
	}
	signal(SIGPIPE, before);
	if (status != 0)
		fprintf(stderr,
			"%s: gnuplot made no %s\n"
			"  fix: tools/install-packages bench installs gnuplot\n",
			program, file);
	return status == 0;
}
