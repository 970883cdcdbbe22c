/* SPDX-License-Identifier: MIT */
/* A changed file is noticed at a failure; a bad one changes nothing. */
#include "tests/preload/guest.h"

static void write_file(const char *attempts)
{
	char path[256];
	char temporary[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/reload.conf", getenv("TEST_DIR"));
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	f = fopen(temporary, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "version = 1;\npolicies = { default = { base_delay = \"1ms\"; "
	           "max_delay = \"2ms\"; max_attempts = %s; }; };\n"
	           "log = { burst = 10000; };\n", attempts);
	fclose(f);
	ck_assert_int_eq(rename(temporary, path), 0);
}

static unsigned attempts(void)
{
	static struct sockaddr_in sa;
	unsigned before = log_lines(" retry ");
	int fd = tcp_socket();

	if (!sa.sin_port)
		bound(&sa);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), -1);
	close(fd);
	return log_lines(" retry ") - before + 1;
}

/* Asks until the answer is <wanted>: the file is looked at every 2 s. */
static unsigned attempts_until(unsigned wanted)
{
	int64_t give_up = ms_now() + 8000;
	unsigned n;

	while ((n = attempts()) != wanted && ms_now() < give_up)
		sleep_ms(100);
	return n;
}

START_TEST(new_file_is_taken_and_bad_file_is_not)
{
	write_file("3");
	ck_assert_uint_eq(attempts(), 3);
	write_file("6");
	ck_assert_uint_eq(attempts_until(6), 6);
	write_file("\"many\"");
	for (int i = 0; i < 50 && log_lines("ERROR config") == 0; i++) {
		ck_assert_uint_eq(attempts(), 6);
		sleep_ms(100);
	}
	ck_assert_uint_eq(log_lines("ERROR config"), 1);
	ck_assert_uint_eq(attempts(), 6);
	write_file("2");
	ck_assert_uint_eq(attempts_until(2), 2);
}
END_TEST

UNIT_MAIN("preload reload", &new_file_is_taken_and_bad_file_is_not)
