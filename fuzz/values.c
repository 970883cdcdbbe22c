/* SPDX-License-Identifier: MIT */
/* Durations and addresses: what is understood is printed, and understood again as
 * the same. */
#include <string.h>
#include <sys/un.h>

#include "base/addr.h"
#include "base/duration.h"
#include "base/fmt.h"
#include "fuzz.h"

void fuzz_duration(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	int64_t ns = -1, again = -1;
	char buf[64];
	struct fmt f;

	fmt_init(&f, buf, sizeof(buf));
	if (dur_parse(text, &ns) == DUR_OK) {
		FUZZ_CHECK(ns >= 0);
		fmt_dur_exact(&f, ns);
		fmt_end(&f);
		FUZZ_CHECK(!f.cut && dur_parse(buf, &again) == DUR_OK && again == ns);
	} else {
		FUZZ_CHECK(ns == -1);
	}
	if (size >= 16) {
		int64_t a, b;

		memcpy(&a, data, 8);
		memcpy(&b, data + 8, 8);
		fmt_init(&f, buf, sizeof(buf));
		fmt_dur(&f, a);
		dur_add(a, b);
		dur_sub(a, b);
		if (a >= 0 && b >= 0) {
			FUZZ_CHECK(dur_scale(a, b) >= 0);
			FUZZ_CHECK(dur_of(a, b % DUR_S) >= 0);
		}
		FUZZ_CHECK(dur_timespec(a).tv_sec >= 0);
	}
	free(text);
}

static void of_sockaddr(const uint8_t *data, size_t size)
{
	struct sockaddr_storage ss;
	char buf[ADDR_TEXT_MAX];
	struct addr a, b;
	struct fmt f;
	socklen_t len;

	/* As tight as it came: what is read behind it is a fault. */
	if (!addr_from_sockaddr(&a, (const struct sockaddr *)(const void *)data,
	                        (socklen_t)size))
		return;
	fmt_init(&f, buf, sizeof(buf));
	addr_fmt(&f, &a);
	FUZZ_CHECK(!f.cut);
	addr_is_special(&a);
	addr_is_loopback(&a);
	len = addr_to_sockaddr(&a, &ss);
	if (len)
		FUZZ_CHECK(addr_from_sockaddr(&b, (struct sockaddr *)&ss, len) &&
		           addr_same_ip(&a, &b) && a.port == b.port);
}

void fuzz_addr(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char buf[ADDR_TEXT_MAX];
	struct addr a, b;
	struct cidr c, d;
	struct fmt f;
	enum cidr_status status;

	fmt_init(&f, buf, sizeof(buf));
	if (addr_parse_ip(&a, text)) {
		addr_fmt_ip(&f, &a);
		fmt_end(&f);
		FUZZ_CHECK(!f.cut && addr_parse_ip(&b, buf) && addr_same_ip(&a, &b));
	}
	status = cidr_parse(&c, text);
	if (status == CIDR_OK || status == CIDR_HOST_BITS) {
		fmt_init(&f, buf, sizeof(buf));
		cidr_fmt(&f, &c);
		fmt_end(&f);
		FUZZ_CHECK(!f.cut && cidr_parse(&d, buf) == CIDR_OK);
		FUZZ_CHECK(cidr_covers(&c, &d) && cidr_covers(&d, &c));
	}
	of_sockaddr(data, size);
	free(text);
}
