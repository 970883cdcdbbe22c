/* SPDX-License-Identifier: MIT */
/* engine.c - libFuzzer's side. FUZZ=NAME chooses the target. */
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("FUZZ");

	(void)argc;
	(void)argv;
	target = name ? fuzz_find(name) : NULL;
	if (!target) {
		fprintf(stderr, "FUZZ=NAME is to say what is fuzzed\n");
		exit(2);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	target->run(data, size);
	return 0;
}
