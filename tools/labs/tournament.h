/* SPDX-License-Identifier: MIT */
/* tournament.h -- rules of lab 10 against each other. */
#ifndef NOPAL_LABS_TOURNAMENT_H
#define NOPAL_LABS_TOURNAMENT_H

#include "frame/tool.h"

/* `nopal lab tournament FOLDER...`: prints a table, and draws it. */
enum tool_exit tournament(const struct tool_call *call);

#endif
