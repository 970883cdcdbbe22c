/* SPDX-License-Identifier: MIT */
#include "config/loader.h"
#include "policy/classify.h"

static void unknown_error(const char *word, struct fmt *why)
{
	struct nearest near = nearest_to(word);
	const char *name;

	fmt_str(why, "unknown (");
	for (unsigned c = 0; c < CLASS_COUNT; c++) {
		nearest_offer(&near, class_name((enum err_class)c));
		diag_format(why, "%s, ", class_name((enum err_class)c));
	}
	for (unsigned i = 0; (name = err_table_name(i)) != NULL; i++)
		nearest_offer(&near, name);
	fmt_str(why, "or an error name such as ENOENT or EAI_FAIL)");
	nearest_say(why, &near);
}

bool errors_add_word(struct err_set *set, const char *word, bool never, struct fmt *why)
{
	enum err_class c = class_parse(word);
	struct err e;

	if (c != CLASS_NONE) {
		err_set_add_class(set, c);
		return true;
	}
	if (!err_parse(word, &e)) {
		unknown_error(word, why);
		return false;
	}
	/* Harmless in never_on: it says what is so anyway. */
	if (never && err_is_fixed(e))
		return true;
	if (err_is_fixed(e)) {
		fmt_str(why, "is never retried: waiting does not cure it (leave it out)");
		return false;
	}
	if (!err_set_add(set, e)) {
		fmt_str(why, "is not an error of a connection or a look-up (leave it out)");
		return false;
	}
	return true;
}

bool errors_read(const struct node *n, struct err_set *set, bool never)
{
	char buf[512];
	struct fmt why;
	bool ok = true;

	*set = (struct err_set){ { 0 }, 0 };
	if (!node_is_list(n)) {
		node_wrong_type(n, "a list of texts, such as [ \"refused\", \"ENOENT\" ],");
		return false;
	}
	for (unsigned i = 0; i < node_count(n); i++) {
		struct node word = node_at(n, i);

		fmt_init(&why, buf, sizeof(buf));
		if (!node_text(&word)) {
			node_wrong_type(&word, "a text in quotes");
			ok = false;
		} else if (!errors_add_word(set, node_text(&word), never, &why)) {
			fmt_end(&why);
			node_fault(&word, DIAG_ERROR, "%s", buf);
			ok = false;
		}
	}
	if (!never && node_count(n) == 0)
		node_say(n, DIAG_WARNING,
		         "is empty: nothing is retried (max_attempts = 1 says so plainly)");
	return ok;
}
