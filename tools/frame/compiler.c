/* SPDX-License-Identifier: MIT */
/*
 * compiler.c -- which compiler, which sources, and a child that runs it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/tool.h"
#include "frame/compiler.h"

#ifndef NOPAL_BUILT_FROM
#define NOPAL_BUILT_FROM "."
#endif

const char *compiler_name(const char *named)
{
	const char *name = named ? named : getenv("CC");

	return name && *name ? name : "cc";
}

const char *compiler_sources(void)
{
	const char *named = getenv("NOPAL_SOURCES");
	const char *installed = nopal_installed(NOPAL_INSTALLED_SOURCES);
	char *probe = NULL;
	bool there;

	if (named && *named)
		return named;
	if (asprintf(&probe, "%s/runtime/session/session.h", installed) < 0)
		probe = NULL;
	there = access(tool_need(probe), R_OK) == 0;
	free(probe);
	return there ? installed : NOPAL_BUILT_FROM;
}

int compiler_run(const char *const *words, bool (*prepare)(void *context), void *context)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (prepare && !prepare(context))
			_exit(TOOL_ENVIRONMENT);
		execvp(words[0], (char *const *)(uintptr_t)words);
		fprintf(stderr,
			"nopal: %s: %s\n  fix: install a C compiler, or name one with --cc\n",
			words[0], strerror(errno));
		_exit(TOOL_ENVIRONMENT);
	}
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return status;
}
