/* SPDX-License-Identifier: MIT */
/*
 * udt_fig6.c -- the processor's time for one flow: TCP, UDP, UDT itself, and our
 * compositions, interpreted and fused, in the same rounds.
 *
 * Two network namespaces joined by veth; all rows carry 1400 bytes of payload in a packet and check
 * what arrives.  On path V the kernel carries 64 KiB at once; on W it has no offload, as in the
 * paper, whose packets had 9000 bytes.  The paper's figure is a picture: what its text says of it
 * in numbers is beside ours.
 */
#include <math.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "reproduce/veth.h"

enum {
	FIG6_RUNS = 5,
	FIG6_GIGABYTE = 8, /* 10^9 bits in 10^9 bytes */
	FIG6_PERCENT = 100,
};
/* Nearer to the double than to the same, or to the triple. */
#define FIG6_DOUBLE_LEAST 1.5
#define FIG6_DOUBLE_MOST  2.5
#define FIG6_SAME	  1.5 /* and less is nearer to the same */

enum {
	FIG6_TCP,
	FIG6_UDP,
	FIG6_TRAINS,
	FIG6_UDT,
	FIG6_UDT4,
	FIG6_UDT4_FUSED,
	FIG6_BULK,
	FIG6_BULK_FUSED,
	FIG6_ROWS,
};
static const struct reproduce_veth_row fig6_rows[FIG6_ROWS] = {
	[FIG6_TCP] = { "tcp", "TCP" },
	[FIG6_UDP] = { "raw-single", "UDP" },
	[FIG6_TRAINS] = { "raw", "UDP, trains" },
	[FIG6_UDT] = { "udt", "UDT" },
	[FIG6_UDT4] = { "udt4", "udt4" },
	[FIG6_UDT4_FUSED] = { "udt4-fused", "udt4, fused" },
	[FIG6_BULK] = { "bulk", "bulk" },
	[FIG6_BULK_FUSED] = { "bulk-fused", "bulk, fused" },
};

enum { FIG6_V, FIG6_W, FIG6_PATHS };
static const char *const fig6_paths[FIG6_PATHS + 1] = { "V", "W", NULL };
static const char *const fig6_tables[FIG6_PATHS] = {
	[FIG6_V] = "one flow on V: the kernel carries 64 KiB at once",
	[FIG6_W] = "one flow on W: no offload, as in the paper",
};

/* ---------------------------------------------------------------------- cells */

/* Share: per cent of a core for a gigabit a second. */
enum fig6_column { FIG6_CPU, FIG6_SHARE, FIG6_GOODPUT, FIG6_COLUMNS };

static struct report_cell fig6_cell(int path, int row, enum fig6_column column)
{
	static const struct {
		const char *name, *unit;
	} columns[FIG6_COLUMNS] = {
		[FIG6_CPU] = { "processor", "s/GB" },
		[FIG6_SHARE] = { "cores", "%/(Gb/s)" },
		[FIG6_GOODPUT] = { "goodput", "Gb/s" },
	};

	return (struct report_cell){ fig6_tables[path], fig6_rows[row].name, columns[column].name,
				     columns[column].unit };
}

static void fig6_add(const struct reproduce_veth *veth, int row, const json_t *line)
{
	int path = strcmp(veth_text(line, "path"), fig6_paths[FIG6_V]) == 0 ? FIG6_V : FIG6_W;
	struct report *report = veth->options->report;

	report_add(report, fig6_cell(path, row, FIG6_CPU), veth_cpu(line));
	report_add(report, fig6_cell(path, row, FIG6_SHARE),
		   FIG6_PERCENT * veth_cpu(line) / FIG6_GIGABYTE);
	report_add(report, fig6_cell(path, row, FIG6_GOODPUT), veth_goodput(line));
}

/* Section 4.2 has the load of UDT's threads that copy, at the sender and at the receiver, the UDT
 * thread's and the application's; and that TCP and UDP take about half of it. */
#define FIG6_UDT_GBPS	 7.4
#define FIG6_UDT_PERCENT ((99 + 40 + 90 + 36) / FIG6_UDT_GBPS)

static const struct fig6_paper {
	int row;
	double percent, gbps; /* 0: not said */
} fig6_papers[] = {
	{ FIG6_TCP, FIG6_UDT_PERCENT / 2, 5.4 },
	{ FIG6_UDP, FIG6_UDT_PERCENT / 2, 0 },
	{ FIG6_UDT, FIG6_UDT_PERCENT, FIG6_UDT_GBPS },
};

/* --------------------------------------------------------------------- claims */

/* A median: a machine that did something else for a while is in few of the runs. */
static double fig6_median(const struct reproduce_options *options, int row)
{
	return report_median(options->report, fig6_cell(FIG6_W, row, FIG6_CPU));
}

/* "UDT without memory copy avoidance costs approximately double CPU time of that in the other three
 * situations": of TCP and of UDP; the third is UDT that avoids copies. */
static void fig6_claims(const struct reproduce_options *options)
{
	static const char claim[] = "UDT that copies costs about the double of TCP, and of UDP";
	struct report *report = options->report;
	double tcp = fig6_median(options, FIG6_TCP), udp = fig6_median(options, FIG6_UDP),
	       udt = fig6_median(options, FIG6_UDT), ours = fig6_median(options, FIG6_UDT4_FUSED);
	bool holds = udt >= FIG6_DOUBLE_LEAST * tcp && udt <= FIG6_DOUBLE_MOST * tcp &&
		     udt >= FIG6_DOUBLE_LEAST * udp && udt <= FIG6_DOUBLE_MOST * udp;

	if (isnan(tcp) || isnan(udp) || isnan(udt))
		report_claim(report, claim, REPORT_UNMEASURED,
			     "s/GB on W, medians: 1.5 to 2.5 times of each");
	else
		report_claim(report, claim, holds ? REPORT_HOLDS : REPORT_FAILS,
			     "s/GB on W, medians: %.2f times TCP, %.2f times UDP, where about the "
			     "double is 1.5 to 2.5",
			     udt / tcp, udt / udp);
	report_claim(report, "UDT that avoids copies costs as UDP, and less than TCP",
		     REPORT_UNTESTABLE,
		     "the UDT that is released does not avoid them; ours sends from where the data "
		     "lie: below");
	report_less(report, "ours: udt4, fused, costs less than UDT", ours, udt,
		    "s/GB on W, medians: udt4, fused; UDT");
	report_less(
		report,
		"ours: udt4, fused, costs nearer to the same as UDP, a datagram a call, than to the "
		"double",
		ours, FIG6_SAME * udp, "s/GB on W, medians: udt4, fused; 1.5 of UDP");
	report_less(report, "ours: udt4, fused, costs less than TCP", ours, tcp,
		    "s/GB on W, medians: udt4, fused; TCP");
}

int reproduce_udt_fig6(const struct reproduce_options *options)
{
	const struct reproduce_veth veth = {
		.options = options,
		.rows = fig6_rows,
		.row_count = FIG6_ROWS,
		.paths = fig6_paths,
		.runs = FIG6_RUNS,
		.seconds = 2,
		.quick_seconds = 0.3,
		.add = fig6_add,
	};
	struct report *report = options->report;
	int exit;

	/* All cells that are wanted, in their order, and the paper's figures. */
	for (int path = 0; path < FIG6_PATHS; path++) {
		if (!reproduce_wanted(options->paths, fig6_paths[path]))
			continue;
		for (int i = 0; i < FIG6_ROWS * FIG6_COLUMNS; i++)
			if (reproduce_wanted(options->rows, fig6_rows[i / FIG6_COLUMNS].row))
				report_declare(report,
					       fig6_cell(path, i / FIG6_COLUMNS,
							 (enum fig6_column)(i % FIG6_COLUMNS)));
		for (size_t i = 0; i < sizeof(fig6_papers) / sizeof(fig6_papers[0]); i++) {
			const struct fig6_paper *paper = &fig6_papers[i];

			if (!reproduce_wanted(options->rows, fig6_rows[paper->row].row))
				continue;
			report_paper(report, fig6_cell(path, paper->row, FIG6_CPU),
				     paper->percent * FIG6_GIGABYTE / FIG6_PERCENT, 0);
			report_paper(report, fig6_cell(path, paper->row, FIG6_SHARE),
				     paper->percent, 0);
			if (paper->gbps > 0)
				report_paper(report, fig6_cell(path, paper->row, FIG6_GOODPUT),
					     paper->gbps, 0);
		}
	}
	exit = reproduce_veth(&veth);
	report_note(options->report, "processor: of both sides and of the kernel's own threads; "
				     "TCP's and UDP's time in a call is theirs");
	report_note(options->report,
		    "the paper's machine: two Opterons of 3 GHz, Linux 2.6.18, 10 Gbit/s, packets "
		    "of 9000 bytes; of TCP and UDP it has a picture, and says half of UDT's");
	fig6_claims(options);
	return exit;
}
