/* SPDX-License-Identifier: MIT */
/*
 * gnuplot.h -- a plot file by way of gnuplot.
 */
#ifndef NOPAL_GNUPLOT_H
#define NOPAL_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

struct gnuplot_size {
	int width, height; /* pixels */
};

/* Writes the commands after terminal and output, which are set. */
typedef void gnuplot_script(const void *what, FILE *out);
/* Can such a file be drawn?  False: it was said why. */
bool gnuplot_knows(const char *program, const char *file);
/* Draws into the file; its suffix names the kind: png, svg or pdf.  `program` is who speaks where
 * it cannot.  False: it was said why. */
bool gnuplot_draw(const char *program, const char *file, struct gnuplot_size size,
		  gnuplot_script *script, const void *what);

#endif
