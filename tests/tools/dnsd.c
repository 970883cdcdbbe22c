/* SPDX-License-Identifier: MIT */
/*
 * dnsd - a scripted DNS responder on loopback, for tests.
 *
 * What is counted is rounds, not packets. One lookup may ask for A and AAAA at
 * once and send each again when it is not content; so every name has a count
 * per type, and a question that carries the ID of the one before it (same name,
 * same type) is the same round sent again. A getaddrinfo() for both families
 * is therefore one round, whatever "attempts" in resolv.conf says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NAMES_MAX 32
#define ADDRS_MAX 8
#define NAME_MAX_LEN 256
#define HEADER 12

enum { TYPE_A = 1, TYPE_AAAA = 28 };
enum { RCODE_OK = 0, RCODE_SERVFAIL = 2, RCODE_NXDOMAIN = 3 };

struct answer {
	int type;
	unsigned char bytes[16];
};

struct round {
	long number; /* from 1 */
	int id;
};

/* First the dropped rounds, then SERVFAIL, then NXDOMAIN, then the answers. */
struct entry {
	const char *name;
	size_t name_len;
	long drop, servfail, nxdomain;
	struct answer answers[ADDRS_MAX];
	unsigned answer_count;
	struct round a, aaaa;
};

static struct entry entries[NAMES_MAX];
static unsigned entry_count;

static const char usage_text[] =
	"Usage: dnsd [OPTION]...\n"
	"A scripted DNS responder (UDP). Prints \"port N\" once it is bound.\n"
	"  -a, --address ADDR     IPv4 address to bind (127.0.0.1)\n"
	"  -P, --port N           port to bind (a free one)\n"
	"      --answer NAME=IP   A or AAAA of NAME; may be repeated\n"
	"      --drop NAME[:N]    no answer in the first N rounds of NAME (default: in all)\n"
	"      --servfail NAME[:N]    then SERVFAIL for N rounds\n"
	"      --nxdomain NAME[:N]    then NXDOMAIN for N rounds, then the answers\n"
	"      --log FILE         one line per question: NAME TYPE ROUND RESULT\n"
	"      --life SECONDS     end after that (60); also with the parent\n"
	"Names that no option mentions do not exist. A name without an address of the\n"
	"asked type gets an empty answer. A round is one lookup: its A and AAAA questions\n"
	"are counted apart, and a question sent again under the same ID is not counted.\n";

static void die(const char *what, const char *detail)
{
	fprintf(stderr, "dnsd: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
	exit(2);
}

static long number(const char *text, long max)
{
	char *rest;
	long v;

	errno = 0;
	v = strtol(text, &rest, 10);
	if (errno || rest == text || *rest || v < 0 || v > max)
		die("not a number in range", text);
	return v;
}

static struct entry *find(const char *name, size_t len)
{
	for (unsigned i = 0; i < entry_count; i++)
		if (entries[i].name_len == len && !strncasecmp(entries[i].name, name, len))
			return &entries[i];
	return NULL;
}

static struct entry *find_or_add(const char *name, size_t len)
{
	struct entry *e = find(name, len);

	if (e)
		return e;
	if (entry_count == NAMES_MAX)
		die("too many names", NULL);
	e = &entries[entry_count++];
	e->name = name;
	e->name_len = len;
	e->a.id = e->aaaa.id = -1;
	return e;
}

static void add_answer(const char *text)
{
	const char *equals = strchr(text, '=');
	struct entry *e;
	struct answer *a;

	if (!equals)
		die("--answer needs NAME=IP", text);
	e = find_or_add(text, (size_t)(equals - text));
	if (e->answer_count == ADDRS_MAX)
		die("too many addresses", text);
	a = &e->answers[e->answer_count++];
	if (inet_pton(AF_INET, equals + 1, a->bytes) == 1)
		a->type = TYPE_A;
	else if (inet_pton(AF_INET6, equals + 1, a->bytes) == 1)
		a->type = TYPE_AAAA;
	else
		die("not an address", text);
}

/* "NAME" or "NAME:N". */
static struct entry *counted(const char *text, long *count)
{
	const char *colon = strchr(text, ':');

	*count = colon ? number(colon + 1, INT_MAX) : INT_MAX;
	return find_or_add(text, colon ? (size_t)(colon - text) : strlen(text));
}

/* The name of the only question as text; returns the length of the question
 * section, 0 if it is not one that we understand. */
static size_t parse_question(const unsigned char *packet, size_t len, char *name, int *type)
{
	size_t at = HEADER, out = 0;

	if (len < HEADER || packet[4] || packet[5] != 1 || (packet[2] & 0xf8))
		return 0;
	while (at < len && packet[at]) {
		size_t label = packet[at++];

		if (label > 63 || at + label >= len || out + label + 1 >= NAME_MAX_LEN)
			return 0;
		if (out)
			name[out++] = '.';
		memcpy(name + out, packet + at, label);
		out += label;
		at += label;
	}
	name[out] = '\0';
	if (at + 5 > len)
		return 0;
	*type = packet[at + 1] << 8 | packet[at + 2];
	return at + 5 - HEADER;
}

static long round_of(struct entry *e, int type, int id)
{
	struct round *r = type == TYPE_AAAA ? &e->aaaa : &e->a;

	if (r->id != id) {
		r->id = id;
		r->number++;
	}
	return r->number;
}

/* Appends the addresses of <type>; returns how many. */
static unsigned add_records(const struct entry *e, int type, unsigned char *packet, size_t *len)
{
	unsigned count = 0;

	for (unsigned i = 0; i < e->answer_count; i++) {
		/* Name: a pointer to the question; class IN; TTL 0. */
		unsigned char head[] = { 0xc0, HEADER, 0, (unsigned char)type, 0, 1,
		                         0, 0, 0, 0, 0, type == TYPE_A ? 4 : 16 };

		if (e->answers[i].type != type)
			continue;
		memcpy(packet + *len, head, sizeof(head));
		memcpy(packet + *len + sizeof(head), e->answers[i].bytes, head[11]);
		*len += sizeof(head) + head[11];
		count++;
	}
	return count;
}

static void answer(int fd, FILE *log)
{
	unsigned char packet[2048];
	char name[NAME_MAX_LEN];
	const char *result = "answer";
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t got = recvfrom(fd, packet, 512, 0, (struct sockaddr *)&from, &from_len);
	size_t question, len;
	unsigned count = 0, rcode = RCODE_OK;
	long round = 0;
	struct entry *e;
	int type;

	question = got > 0 ? parse_question(packet, (size_t)got, name, &type) : 0;
	if (!question)
		return;
	len = HEADER + question;
	e = find(name, strlen(name));
	if (e)
		round = round_of(e, type, packet[0] << 8 | packet[1]);
	if (!e || (round > e->drop + e->servfail && round <= e->drop + e->servfail + e->nxdomain)) {
		rcode = RCODE_NXDOMAIN;
		result = "nxdomain";
	} else if (round <= e->drop) {
		result = "drop";
	} else if (round <= e->drop + e->servfail) {
		rcode = RCODE_SERVFAIL;
		result = "servfail";
	} else {
		count = add_records(e, type, packet, &len);
	}
	if (log) {
		fprintf(log, "%s %s %ld %s\n", name,
		        type == TYPE_A ? "A" : type == TYPE_AAAA ? "AAAA" : "other", round, result);
		fflush(log);
	}
	if (!strcmp(result, "drop"))
		return;
	packet[2] = (unsigned char)(0x84 | (packet[2] & 1)); /* answer, authoritative, RD kept */
	packet[3] = (unsigned char)(0x80 | rcode);           /* recursion available */
	packet[6] = 0;
	packet[7] = (unsigned char)count;
	memset(packet + 8, 0, 4);
	sendto(fd, packet, len, 0, (struct sockaddr *)&from, from_len);
}

static int bind_udp(const char *address, long port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, address, &sa.sin_addr) != 1)
		die("not an IPv4 address", address);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		die("bind", strerror(errno));
	printf("port %u\n", ntohs(sa.sin_port));
	fflush(stdout);
	return fd;
}

static void run(int fd, FILE *log, long life)
{
	struct timespec t;
	long end;

	clock_gettime(CLOCK_MONOTONIC, &t);
	end = t.tv_sec + life;
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		clock_gettime(CLOCK_MONOTONIC, &t);
		if (t.tv_sec >= end)
			return;
		if (poll(&p, 1, (int)(end - t.tv_sec) * 1000) > 0)
			answer(fd, log);
	}
}

enum { OPT_ANSWER = 256, OPT_DROP, OPT_SERVFAIL, OPT_NXDOMAIN, OPT_LOG, OPT_LIFE };

static const struct option options[] = {
	{ "address", required_argument, NULL, 'a' },
	{ "port", required_argument, NULL, 'P' },
	{ "answer", required_argument, NULL, OPT_ANSWER },
	{ "drop", required_argument, NULL, OPT_DROP },
	{ "servfail", required_argument, NULL, OPT_SERVFAIL },
	{ "nxdomain", required_argument, NULL, OPT_NXDOMAIN },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "life", required_argument, NULL, OPT_LIFE },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

int main(int argc, char **argv)
{
	const char *address = "127.0.0.1";
	pid_t parent = getppid();
	long port = 0, life = 60, count;
	FILE *log = NULL;
	int opt;

	while ((opt = getopt_long(argc, argv, "a:P:h", options, NULL)) != -1) {
		switch (opt) {
		case 'a': address = optarg; break;
		case 'P': port = number(optarg, 65535); break;
		case OPT_ANSWER: add_answer(optarg); break;
		case OPT_DROP: counted(optarg, &count)->drop = count; break;
		case OPT_SERVFAIL: counted(optarg, &count)->servfail = count; break;
		case OPT_NXDOMAIN: counted(optarg, &count)->nxdomain = count; break;
		case OPT_LOG:
			log = fopen(optarg, "we");
			if (!log)
				die(optarg, strerror(errno));
			break;
		case OPT_LIFE: life = number(optarg, 3600); break;
		case 'h': fputs(usage_text, stdout); return 0;
		default: fputs(usage_text, stderr); return 2;
		}
	}
	if (optind != argc)
		die("unexpected argument", argv[optind]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return 0;
	opt = bind_udp(address, port);
	/* A caller that reads our output must see its end. */
	if (!freopen("/dev/null", "w", stdout))
		die("/dev/null", strerror(errno));
	run(opt, log, life);
	return 0;
}
