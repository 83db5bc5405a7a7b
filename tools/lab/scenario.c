/* SPDX-License-Identifier: MIT */
#include "lab/lab.h"
int lab_scenarios_parse(const char *text, const char *file, struct lab_scenarios *r,
			struct nopal_problems *problems)
{
	(void)text;
	(void)file;
	(void)problems;
	*r = (struct lab_scenarios){ 0 };
	return 0;
}
void lab_scenarios_fini(struct lab_scenarios *scenarios)
{
	(void)scenarios;
}
void lab_scenario_run(struct lab_trial *trial, const struct lab_scenario *scenario)
{
	(void)trial;
	(void)scenario;
}
