/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cli/findings.h"
#include "cli/need.h"

static const struct row {
	const char *word;
	enum coverage effect;
	const char *text, *advice;
} rows[] = {
#define X(id, word, effect, text, advice) { word, effect, text, advice },
	FINDINGS(X)
#undef X
};

const char *finding_word(enum finding_code code)
{
	return rows[code].word;
}

const char *finding_text(enum finding_code code)
{
	return rows[code].text;
}

const char *finding_advice(enum finding_code code)
{
	return rows[code].advice;
}

enum coverage finding_effect(enum finding_code code)
{
	return rows[code].effect;
}

const char *coverage_word(enum coverage c)
{
	static const char *const words[] = { "covered", "partly", "not-covered" };

	return words[c];
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

void findings_add(struct findings *f, enum finding_code code, const char *file,
                  const char *detail)
{
	struct finding *new;

	for (size_t i = 0; i < f->count; i++) {
		if (f->list[i].code == code && same(f->list[i].file, file))
			return;
	}
	f->list = need(reallocarray(f->list, f->count + 1, sizeof(*f->list)));
	new = &f->list[f->count++];
	new->code = code;
	new->file = file ? need(strdup(file)) : NULL;
	new->detail = detail && *detail ? need(strdup(detail)) : NULL;
}

void findings_change(struct findings *f, enum finding_code from, enum finding_code to)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].code == from)
			f->list[i].code = to;
}

bool findings_have(const struct findings *f, enum finding_code code)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->list[i].code == code)
			return true;
	}
	return false;
}

void findings_free(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].file);
		free(f->list[i].detail);
	}
	free(f->list);
	f->list = NULL;
	f->count = 0;
}

/* The order of the table is the order of weight. */
static int by_weight(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

enum coverage findings_verdict(struct findings *f)
{
	if (!f->count)
		return COVERED;
	qsort(f->list, f->count, sizeof(*f->list), by_weight);
	return finding_effect(f->list[0].code);
}

char *finding_line(const struct finding *f)
{
	return need_text("%s%s%s%s%s%s", f->file ? f->file : "", f->file ? ": " : "",
	                 finding_text(f->code), f->detail ? " (" : "",
	                 f->detail ? f->detail : "", f->detail ? ")" : "");
}
