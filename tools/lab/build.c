/* SPDX-License-Identifier: MIT */
/* build.c -- a submission's source, compiled. */
#include "lab/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/tool.h"

bool build_object(const char *source, const char *object, enum build_kind kind, char **ret_errors)
{
	char *command = tool_printed(
		"cc -std=gnu11 -shared -fPIC -Wall -Wextra %s -I%s/runtime -o '%s' '%s' 2>&1",
		kind == BUILD_SANITIZED
			? "-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
			: "-O2",
		NOPAL_BUILT_FROM, object, source);
	FILE *out = popen(command, "r");
	char *text = tool_need(calloc(1, 65536));
	if (fread(text, 1, 65535, out) == 0)
		text[0] = 0;
	if (pclose(out)) {
		*ret_errors = text;
		return false;
	}
	free(text);
	free(command);
	return true;
}

char *build_preload(void)
{
	FILE *out = popen("cc -print-file-name=libasan.so", "r");
	char path[4096] = "";
	if (!fgets(path, sizeof(path), out))
		path[0] = 0;
	pclose(out);
	path[strcspn(path, "\n")] = 0;
	return strdup(path);
}
