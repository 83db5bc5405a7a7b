/* SPDX-License-Identifier: MIT */
/*
 * html.c -- the frame and style of the labs' pages: see html.h.
 */
#include "lab/html.h"

#include <string.h>

#include <nopal/nopal.h>

enum { HTML_DECIMALS = 9, HTML_LEAST_DECIMALS = 3 };

/* --------------------------------------------------------------------- style */

static const char html_style[] =
	/* Paper and ink; green: good, pink: not good, amber: waits.  Contrast 4.5 or more. */
	":root{color-scheme:light dark;--paper:#faf9f5;--card:#fff;--ink:#1b2420;--soft:#586660;"
	"--line:#dde0d8;--good:#256b4a;--good-pale:#e4f1e9;--bad:#b01e4b;--bad-pale:#fce9ef;"
	"--wait:#855400;--wait-pale:#fdf2d9;--wire:#23588f}\n"
	"@media screen and (prefers-color-scheme:dark){:root{--paper:#121615;--card:#1a201e;--ink:#e5ebe7;"
	"--soft:#9dada5;--line:#323d38;--good:#7fcba4;--good-pale:#18291f;--bad:#ff8dab;"
	"--bad-pale:#371a23;--wait:#eabf70;--wait-pale:#2f2613;--wire:#8dbbee}}\n"
	"*{box-sizing:border-box}\n"
	"html{-webkit-text-size-adjust:100%}\n"
	"body{margin:0;background:var(--paper);color:var(--ink);overflow-wrap:anywhere;"
	"font:1rem/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"DejaVu Sans\","
	"sans-serif;font-variant-numeric:tabular-nums}\n"
	"main{max-width:46rem;margin:0 auto;padding:1.5rem 1rem 3rem}\n"
	"h1{font-size:clamp(1.4rem,1.1rem + 1.8vw,2.1rem);line-height:1.2;margin:.15rem 0 .7rem;"
	"letter-spacing:-.01em;text-wrap:balance}\n"
	"h2{font-size:1.05rem;margin:0 0 .75rem}\n"
	"p{margin:.4rem 0}\n"
	"code,pre,time{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"
	"\"DejaVu Sans Mono\",monospace}\n"
	"table{overflow-wrap:normal}\n"
	".over,.soft{color:var(--soft);font-size:.9rem;margin:0}\n"
	".verdict{display:inline-block;padding:.15rem .75rem;border-radius:1rem;font-weight:650;"
	"font-size:.95rem}\n"
	".good{color:var(--good);background:var(--good-pale)}\n"
	".bad{color:var(--bad);background:var(--bad-pale)}\n"
	"section{background:var(--card);border:1px solid var(--line);border-radius:.75rem;"
	"padding:1.1rem 1.2rem;margin:1.1rem 0 0;min-width:0}\n"
	/* Steps: the time stands beside the sentence, or above it where the window is narrow. */
	".steps{list-style:none;margin:0;padding:0;counter-reset:step}\n"
	".steps li{counter-increment:step;display:grid;grid-template-columns:1.7rem 6.6rem 1fr;"
	"gap:.15rem .5rem;padding:.42rem .5rem;border-top:1px solid var(--line)}\n"
	".steps li:first-child{border-top:0}\n"
	".steps li::before{content:counter(step);color:var(--soft);text-align:right}\n"
	".steps time{color:var(--soft);font-size:.86rem;line-height:1.72;text-align:right}\n"
	".steps .bad::before{content:\"\\2717\"}\n"
	".steps p::first-letter,.reason::first-letter,.hint p::first-letter{"
	"text-transform:uppercase}\n"
	".steps .bad{border-radius:.4rem;border-top-color:transparent;font-weight:600}\n"
	".steps .bad time,.steps .bad::before{color:inherit}\n"
	"@media(max-width:32rem){section{padding:1rem .8rem}\n"
	".steps li{grid-template-columns:1.4rem 1fr;padding:.42rem .3rem}\n"
	".steps time{text-align:left}.steps p{grid-column:2}}\n"
	".steps p{margin:0}\n"
	".holders{border-left:.3rem solid var(--wait);background:var(--wait-pale);"
	"border-radius:.2rem .4rem .4rem .2rem;padding:.6rem .8rem;margin:0;"
	"white-space:pre-wrap;overflow-wrap:anywhere}\n"
	".hint{border-left:.35rem solid var(--good)}\n"
	".hint a{color:var(--good);font-weight:600}\n"
	"details{margin-top:.8rem}summary{cursor:pointer;color:var(--soft);font-size:.9rem}\n"
	"pre{overflow-x:auto;font-size:.74rem;line-height:1.45;margin:.6rem 0 0;"
	"overflow-wrap:normal}\n"
	/* The drawing: its width is the window's, its letters keep their size. */
	".ladder{display:block;width:100%;font-size:12.5px;overflow:hidden}\n"
	".ladder text{fill:var(--ink);paint-order:stroke;stroke:var(--card);stroke-width:4px;"
	"stroke-linejoin:round}\n"
	".ladder .time,.ladder .soft{fill:var(--soft);font-size:10.5px}\n"
	".ladder .host{font-weight:650;font-size:13px}\n"
	".ladder line,.ladder path{stroke:var(--wire);stroke-width:1.6;fill:none}\n"
	".ladder .life{stroke:var(--line);stroke-width:2}\n"
	".ladder .head{fill:var(--wire);stroke:none}\n"
	".ladder .lost line,.ladder .lost path{stroke:var(--bad)}\n"
	".ladder .lost line{stroke-dasharray:7 4}.ladder .lost path{stroke-width:2.6}\n"
	".ladder .corrupt line,.ladder .corrupt path{stroke:var(--wait)}\n"
	".ladder .corrupt line{stroke-dasharray:2 4;stroke-width:2.4}\n"
	".ladder .corrupt .head{fill:var(--wait)}\n"
	".ladder .lost text,.ladder .fails text{fill:var(--bad);font-weight:600}\n"
	".ladder .corrupt text{fill:var(--wait)}\n"
	".ladder .local circle{fill:var(--ink)}.ladder .fails line{stroke:var(--bad);"
	"stroke-width:2}\n"
	".ladder g:hover line{stroke-width:3}\n"
	".key{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.6rem 0 0;padding:0;"
	"list-style:none;font-size:.85rem;color:var(--soft)}\n"
	".key li{display:flex;align-items:center;gap:.4rem}\n"
	".key .ladder{width:44px;flex:none}\n"
	"@media print{:root{--paper:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb}\n"
	"main{max-width:none;padding:0}section{break-inside:avoid}details{display:none}}\n";

/* --------------------------------------------------------------------- text */

/* The bytes of one character of UTF-8; 0: they are none. */
static size_t html_character(const unsigned char *bytes)
{
	size_t length = bytes[0] < 0x80		    ? 1
			: (bytes[0] & 0xe0) == 0xc0 ? 2
			: (bytes[0] & 0xf0) == 0xe0 ? 3
			: (bytes[0] & 0xf8) == 0xf0 ? 4
						    : 0;

	if (bytes[0] < ' ' && bytes[0] != '\n' && bytes[0] != '\t')
		return 0;
	if (bytes[0] == 0x7f || bytes[0] == 0xc0 || bytes[0] == 0xc1 || bytes[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

void lab_html_text(FILE *out, const char *text)
{
	static const char *const escapes[] = {
		['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;",
	};
	const unsigned char *at = (const unsigned char *)(text ? text : "");

	while (*at) {
		size_t length = html_character(at);

		if (length == 1 && *at < sizeof(escapes) / sizeof(*escapes) && escapes[*at])
			fputs(escapes[*at], out);
		else if (length)
			fwrite(at, 1, length, out);
		else
			fputs("\xef\xbf\xbd", out);
		at += length ? length : 1;
	}
}

const char *lab_html_time(int64_t time_ns, int decimals, char *ret_text)
{
	int length =
		snprintf(ret_text, LAB_HTML_TIME, "%lld.%09lld",
			 (long long)(time_ns / NOPAL_SECOND), (long long)(time_ns % NOPAL_SECOND)) -
		HTML_DECIMALS + decimals;

	while (decimals-- > HTML_LEAST_DECIMALS && ret_text[length - 1] == '0')
		length--;
	ret_text[length] = '\0';
	return ret_text;
}

/* -------------------------------------------------------------------- frame */

void lab_html_open(FILE *out, const char *title)
{
	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" "
	      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<title>",
	      out);
	lab_html_text(out, title);
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", html_style);
}

void lab_html_close(FILE *out)
{
	fputs("</main>\n</body>\n</html>\n", out);
}
