/* SPDX-License-Identifier: MIT */
/*
 * say.c -- verdicts in words and as JSON.
 */
#include <stdio.h>

#include <nopal/microprotocol.h>
#include "judge/judge.h"

/* The giver of a promise; the network, where no microprotocol gave it. */
static const char *giver(const struct judgement *judgement, unsigned quality)
{
	int part = judgement->promised.quality[quality].part;

	return part < 0 ? "the network"
			: nopal_plan_part(judgement->plan, (size_t)part)->microprotocol->name;
}

static const char *promised(const struct judgement *judgement, unsigned quality)
{
	return nopal_quality_word((enum nopal_quality)quality,
				  judgement->promised.quality[quality].value);
}

bool judge_say(const struct judgement *judgement, FILE *out)
{
	bool said = judge_is_broken(judgement);

	for (unsigned i = 0; i < NOPAL_QUALITIES; i++)
		if (judgement->of[i].verdict == JUDGE_BROKEN)
			fprintf(out, "nopal: broken: %s \"%s\" (%s): %s\n",
				nopal_quality_name((enum nopal_quality)i), promised(judgement, i),
				giver(judgement, i), judgement->of[i].evidence);
	if (judgement->of[JUDGE_RULES].verdict == JUDGE_BROKEN)
		fprintf(out, "nopal: broken: rules of the runtime: %s\n",
			judgement->of[JUDGE_RULES].evidence);
	if (judgement->blamed)
		fprintf(out, "nopal: blamed: %s: %s\n", judgement->blamed, judgement->because);
	return said || judgement->blamed;
}

/* A quality of the network alone is no promise. */
void judge_say_not(const struct judgement *judgement, FILE *out)
{
	static const unsigned judged[] = { NOPAL_DELIVERY,  NOPAL_ORDER,   NOPAL_DUPLICATES,
					   NOPAL_INTEGRITY, NOPAL_OUTCOME, NOPAL_PROGRESS };
	const char *between = "not judged: ";

	for (size_t i = 0; i < sizeof(judged) / sizeof(*judged); i++) {
		unsigned one = judged[i];

		if (judgement->of[one].verdict != JUDGE_NOT ||
		    judgement->promised.quality[one].part < 0)
			continue;
		fprintf(out, "%s%s \"%s\"", between, nopal_quality_name((enum nopal_quality)one),
			promised(judgement, one));
		between = ", ";
	}
	if (*between == ',')
		fputc('\n', out);
}

void judge_say_held(const struct judge_suspects *suspects, FILE *out)
{
	static const struct {
		const char *noun, *what_for;
	} waiting[] = {
		[NOPAL_SEND] = { "segment", "leave" },
		[NOPAL_DONE] = { "segment", "be done" },
		[NOPAL_DEALLOCATE] = { "segment", "be freed" },
		[NOPAL_DELIVER] = { "message", "be delivered" },
		[NOPAL_BARRIERS] = { "message", "become segments" },
	};

	for (size_t i = 0; i < suspects->count; i++)
		for (unsigned b = 0; b <= NOPAL_BARRIERS; b++) {
			const struct judge_suspect *one = &suspects->one[i];

			if (!one->held[b])
				continue;
			fprintf(out, "nopal: held: %llu %s%s to %s for %s: %s\n",
				(unsigned long long)one->held[b], waiting[b].noun,
				one->held[b] == 1 ? " waits" : "s wait", waiting[b].what_for,
				one->microprotocol, one->why);
		}
}

static json_t *case_json(const struct judgement *judgement, unsigned quality)
{
	static const char *const verdicts[] = {
		[JUDGE_NOT] = "not judged",
		[JUDGE_HELD] = "held",
		[JUDGE_BROKEN] = "broken",
	};
	const struct judge_case *one = &judgement->of[quality];
	json_t *object = json_object();

	if (quality < NOPAL_QUALITIES) {
		json_object_set_new(object, "promised", json_string(promised(judgement, quality)));
		json_object_set_new(object, "given_by", json_string(giver(judgement, quality)));
	}
	json_object_set_new(object, "verdict", json_string(verdicts[one->verdict]));
	if (one->verdict == JUDGE_BROKEN)
		json_object_set_new(object, "evidence", json_string(one->evidence));
	return object;
}

json_t *judge_json(const struct judgement *judgement)
{
	json_t *object = json_object(), *blamed = json_null();

	for (unsigned i = 0; i < NOPAL_QUALITIES; i++)
		json_object_set_new(object, nopal_quality_name((enum nopal_quality)i),
				    case_json(judgement, i));
	json_object_set_new(object, "rules", case_json(judgement, JUDGE_RULES));
	if (judgement->blamed) {
		blamed = json_object();
		json_object_set_new(blamed, "microprotocol", json_string(judgement->blamed));
		json_object_set_new(blamed, "because", json_string(judgement->because));
	}
	json_object_set_new(object, "blamed", blamed);
	return object;
}
