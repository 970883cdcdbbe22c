/* SPDX-License-Identifier: MIT */
/*
 * Files made here, of both classes, first sound ones and then thousands that are
 * damaged: a reader of them may say anything, but must come back (and under
 * AddressSanitizer, without having looked beyond anything).
 */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/prng.h"
#include "cli/elf.h"
#include "unit.h"

#define SIZE 0x800
#define PLACE_PHDR 0x40
#define PLACE_INTERP 0x200
#define PLACE_NOTES 0x240
#define PLACE_TEXTS 0x280
#define PLACE_SYMBOLS 0x300
#define PLACE_HASH 0x400
#define PLACE_DYNAMIC 0x440
#define PLACE_NAMES 0x600
#define PLACE_SECTIONS 0x640

#define LOADER "/lib/ld-test.so.1"
static const char texts[] = "\0libone.so\0libtwo.so\0$ORIGIN/lib\0connect\0poll\0mine\0hidden";
static const char names[] = "\0.dynsym\0.shstrtab\0.go.buildinfo";

enum { TEXT_ONE = 1, TEXT_TWO = 11, TEXT_PATH = 21, TEXT_CONNECT = 33, TEXT_POLL = 41,
       TEXT_MINE = 46, TEXT_HIDDEN = 51 };

struct made {
	unsigned char bytes[SIZE];
	bool hash, go_note, go_section, sections;
};

static const unsigned char notes[] = {
#define WORD(n) (n) & 0xff, 0, 0, 0
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	WORD(4), WORD(4), WORD(3), 'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef,
	WORD(4), WORD(4), WORD(4), 'G', 'o', 0, 0, 'a', 'b', 'c', 'd'
#else
#error "write the notes for this byte order"
#endif
};

/* The same file in either class. */
#define DEFINE_MAKE(bits) \
	static void put_##bits(struct made *m, size_t at, const void *from, size_t size) \
	{ \
		memcpy(m->bytes + at, from, size); \
	} \
	static void make_##bits(struct made *m) \
	{ \
		Elf##bits##_Ehdr h = { .e_type = ET_DYN, .e_machine = EM_X86_64, \
			.e_phoff = PLACE_PHDR, .e_phentsize = sizeof(Elf##bits##_Phdr), \
			.e_phnum = 4, \
			.e_shoff = m->sections ? PLACE_SECTIONS : 0, .e_shstrndx = 2, \
			.e_shentsize = sizeof(Elf##bits##_Shdr), .e_shnum = m->sections ? 4 : 0 }; \
		const Elf##bits##_Phdr p[4] = { \
			{ .p_type = PT_LOAD, .p_filesz = SIZE }, \
			{ .p_type = PT_INTERP, .p_offset = PLACE_INTERP, \
			  .p_filesz = sizeof(LOADER) }, \
			{ .p_type = PT_NOTE, .p_offset = PLACE_NOTES, \
			  .p_filesz = m->go_note ? sizeof(notes) : sizeof(notes) / 2 }, \
			{ .p_type = PT_DYNAMIC, .p_offset = PLACE_DYNAMIC, \
			  .p_filesz = 10 * sizeof(Elf##bits##_Dyn) } }; \
		const Elf##bits##_Sym s[5] = { { 0 }, \
			{ .st_name = TEXT_CONNECT, .st_info = STB_GLOBAL << 4 }, \
			{ .st_name = TEXT_POLL, .st_info = STB_WEAK << 4 }, \
			{ .st_name = TEXT_MINE, .st_info = STB_GLOBAL << 4, .st_shndx = 1 }, \
			{ .st_name = TEXT_HIDDEN, .st_info = STB_LOCAL << 4, .st_shndx = 1 } }; \
		const Elf##bits##_Dyn d[10] = { \
			{ DT_NEEDED, { TEXT_ONE } }, { DT_NEEDED, { TEXT_TWO } }, \
			{ DT_RUNPATH, { TEXT_PATH } }, { DT_STRTAB, { PLACE_TEXTS } }, \
			{ DT_STRSZ, { sizeof(texts) } }, { DT_SYMTAB, { PLACE_SYMBOLS } }, \
			{ m->hash ? DT_HASH : DT_DEBUG, { PLACE_HASH } }, \
			{ DT_FLAGS_1, { DF_1_PIE } }, { DT_NULL, { 0 } } }; \
		const Elf##bits##_Shdr sh[4] = { { 0 }, \
			{ .sh_name = 1, .sh_type = SHT_DYNSYM, .sh_offset = PLACE_SYMBOLS, \
			  .sh_size = sizeof(s) }, \
			{ .sh_name = 9, .sh_type = SHT_STRTAB, .sh_offset = PLACE_NAMES, \
			  .sh_size = sizeof(names) }, \
			{ .sh_name = m->go_section ? 19 : 9, .sh_type = SHT_PROGBITS } }; \
		const uint32_t hash[2] = { 1, 5 }; \
		memcpy(h.e_ident, ELFMAG, SELFMAG); \
		h.e_ident[EI_CLASS] = ELFCLASS##bits; \
		h.e_ident[EI_DATA] = ELFDATA2LSB; \
		memset(m->bytes, 0, sizeof(m->bytes)); \
		put_##bits(m, 0, &h, sizeof(h)); \
		put_##bits(m, PLACE_PHDR, p, sizeof(p)); \
		put_##bits(m, PLACE_INTERP, LOADER, sizeof(LOADER)); \
		put_##bits(m, PLACE_NOTES, notes, sizeof(notes)); \
		put_##bits(m, PLACE_TEXTS, texts, sizeof(texts)); \
		put_##bits(m, PLACE_SYMBOLS, s, sizeof(s)); \
		put_##bits(m, PLACE_HASH, hash, sizeof(hash)); \
		put_##bits(m, PLACE_DYNAMIC, d, sizeof(d)); \
		put_##bits(m, PLACE_NAMES, names, sizeof(names)); \
		put_##bits(m, PLACE_SECTIONS, sh, sizeof(sh)); \
	}
DEFINE_MAKE(32)
DEFINE_MAKE(64)

static int memory = -1;
static char path[40];

static const char *as_file(const void *bytes, size_t size)
{
	if (memory < 0) {
		memory = memfd_create("elf", 0);
		ck_assert_int_ge(memory, 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	}
	ck_assert_int_eq(ftruncate(memory, 0), 0);
	ck_assert_int_eq(pwrite(memory, bytes, size, 0), (ssize_t)size);
	return path;
}

struct seen {
	unsigned count, defined, undefined;
	char words[256];
};

static void see(void *ctx, const char *name, bool defined)
{
	struct seen *s = ctx;
	size_t len = strlen(s->words);

	s->count++;
	if (defined)
		s->defined++;
	else
		s->undefined++;
	snprintf(s->words + len, sizeof(s->words) - len, "%.40s ", name);
}

static void check_sound(const struct made *m, bool wide)
{
	struct elf_dynamic d;
	struct seen s = { 0 };
	struct elf e;

	ck_assert(elf_open(&e, as_file(m->bytes, SIZE)));
	ck_assert(e.wide == wide);
	ck_assert(!e.foreign);
	ck_assert(!e.damaged);
	ck_assert_int_eq(e.machine, EM_X86_64);
	ck_assert_int_eq(e.type, ET_DYN);
	ck_assert_str_eq(e.loader, LOADER);
	ck_assert(e.go == (m->go_note || (m->go_section && m->sections)));
	ck_assert_uint_eq(e.build_id_len, 4);
	ck_assert_mem_eq(e.build_id, "\xde\xad\xbe\xef", 4);
	ck_assert(elf_dynamic_read(&e, &d));
	ck_assert_uint_eq(d.needed_count, 2);
	ck_assert_str_eq(elf_text(&d, d.needed[0]), "libone.so");
	ck_assert_str_eq(elf_text(&d, d.needed[1]), "libtwo.so");
	ck_assert_str_eq(elf_text(&d, d.runpath), "$ORIGIN/lib");
	ck_assert_str_eq(elf_text(&d, d.rpath), "");
	ck_assert_str_eq(elf_text(&d, UINT64_MAX), "");
	ck_assert_str_eq(elf_text(&d, sizeof(texts)), "");
	ck_assert_uint_eq(d.flags_1, DF_1_PIE);
	elf_symbols(&e, &d, see, &s);
	ck_assert_str_eq(s.words, "connect poll mine ");
	ck_assert_uint_eq(s.undefined, 2);
	elf_dynamic_free(&d);
	elf_close(&e);
}

/* What each way of knowing the number of symbols gives, and each mark of Go. */
START_TEST(sound_files)
{
	for (unsigned bits = 0; bits < 16; bits++) {
		struct made m = { .hash = bits & 1, .sections = bits & 2, .go_note = bits & 4,
		                  .go_section = bits & 8 };

		if (!m.hash && !m.sections)
			continue;
		make_32(&m);
		check_sound(&m, false);
		make_64(&m);
		check_sound(&m, true);
	}
}
END_TEST

/* Neither hash nor sections: as many symbols as fit before the texts, if those are
 * behind them; here they are in front. */
START_TEST(unknown_count)
{
	struct made m = { 0 };
	struct elf_dynamic d;
	struct elf e;

	make_64(&m);
	ck_assert(elf_open(&e, as_file(m.bytes, SIZE)));
	ck_assert(elf_dynamic_read(&e, &d));
	ck_assert_uint_eq(d.symbol_count, 0);
	elf_dynamic_free(&d);
	elf_close(&e);
}
END_TEST

START_TEST(other_files)
{
	static const char *const others[] = { "", "\177", "\177ELF", "#!/bin/sh\n", "text" };
	struct made m = { .hash = true };
	struct elf e;

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		ck_assert(!elf_open(&e, as_file(others[i], strlen(others[i]))));
		ck_assert_int_eq(errno, ENOEXEC);
	}
	ck_assert(!elf_open(&e, "/"));
	ck_assert_int_eq(errno, ENOEXEC);
	ck_assert(!elf_open(&e, "/dev/null"));
	ck_assert_int_eq(errno, ENOEXEC);
	ck_assert(!elf_open(&e, "/nonexistent"));
	ck_assert_int_eq(errno, ENOENT);
	make_64(&m);
	m.bytes[EI_DATA] = ELFDATA2MSB;
	ck_assert(elf_open(&e, as_file(m.bytes, SIZE)));
	ck_assert(e.foreign);
	elf_close(&e);
	make_64(&m);
	m.bytes[EI_CLASS] = 3;
	ck_assert(elf_open(&e, as_file(m.bytes, SIZE)));
	ck_assert(e.damaged);
	elf_close(&e);
}
END_TEST

/* A FIFO that nobody writes to must not be waited for. */
START_TEST(no_waiting)
{
	char fifo[] = "/tmp/test-elf-XXXXXX";
	struct elf e;

	ck_assert_int_ge(mkstemp(fifo), 0);
	ck_assert_int_eq(unlink(fifo), 0);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert(!elf_open(&e, fifo));
	ck_assert_int_eq(errno, ENOEXEC);
	unlink(fifo);
}
END_TEST

START_TEST(same_kind)
{
	struct made m = { 0 };
	struct elf a, b, c;

	make_64(&m);
	ck_assert(elf_open(&a, as_file(m.bytes, SIZE)));
	ck_assert(elf_open(&b, path));
	make_32(&m);
	ck_assert(elf_open(&c, as_file(m.bytes, SIZE)));
	ck_assert(elf_same_kind(&a, &b));
	ck_assert(!elf_same_kind(&a, &c));
	b.machine++;
	ck_assert(!elf_same_kind(&a, &b));
	elf_close(&a);
	elf_close(&b);
	elf_close(&c);
}
END_TEST

/* Larger than what is kept of it: the room for it is not enough. */
#define BIG 16384
#define PLACE_BIG SIZE

static void big(unsigned char *bytes, unsigned segment, size_t size)
{
	struct made m = { .hash = true };
	Elf64_Phdr p;

	make_64(&m);
	memset(bytes, 0, BIG);
	memcpy(bytes, m.bytes, SIZE);
	memcpy(&p, bytes + PLACE_PHDR + segment * sizeof(p), sizeof(p));
	p.p_offset = PLACE_BIG;
	p.p_filesz = size;
	memcpy(bytes + PLACE_PHDR + segment * sizeof(p), &p, sizeof(p));
}

START_TEST(too_much)
{
	static const Elf64_Nhdr long_id = { 4, 200, 3 }, last = { 4, 4, 3 };
	static unsigned char bytes[BIG];
	const Elf64_Dyn needed = { DT_NEEDED, { TEXT_ONE } };
	struct elf_dynamic d;
	struct elf e;

	/* A loader's name of 5000 bytes. */
	big(bytes, 1, 5000);
	memset(bytes + PLACE_BIG, 'x', 5000);
	ck_assert(elf_open(&e, as_file(bytes, BIG)));
	ck_assert_str_eq(e.loader, "");
	elf_close(&e);

	/* A build id of 200 bytes; a note whose name begins where reading ends. */
	big(bytes, 2, 8192);
	memcpy(bytes + PLACE_BIG, &long_id, sizeof(long_id));
	memcpy(bytes + PLACE_BIG + sizeof(long_id), "GNU", 4);
	ck_assert(elf_open(&e, as_file(bytes, BIG)));
	ck_assert_uint_eq(e.build_id_len, 0);
	elf_close(&e);
	memset(bytes + PLACE_BIG, 0, 8192);
	/* Empty notes up to there: of 12 bytes each, and one of 16. */
	memcpy(bytes + PLACE_BIG, &(Elf64_Nhdr){ 0, 4, 0 }, sizeof(last));
	memcpy(bytes + PLACE_BIG + 4096 - sizeof(last), &last, sizeof(last));
	ck_assert(elf_open(&e, as_file(bytes, BIG)));
	ck_assert_uint_eq(e.build_id_len, 0);
	elf_close(&e);

	/* One whose build id begins there. */
	memset(bytes + PLACE_BIG, 0, 8192);
	memcpy(bytes + PLACE_BIG + 4080, &(Elf64_Nhdr){ 4, 20, 3 }, sizeof(last));
	memcpy(bytes + PLACE_BIG + 4092, "GNU", 4);
	ck_assert(elf_open(&e, as_file(bytes, BIG)));
	ck_assert_uint_eq(e.build_id_len, 0);
	elf_close(&e);

	/* 700 libraries. */
	big(bytes, 3, 701 * sizeof(needed));
	for (size_t i = 0; i < 700; i++)
		memcpy(bytes + PLACE_BIG + i * sizeof(needed), &needed, sizeof(needed));
	memcpy(bytes + PLACE_BIG, bytes + PLACE_DYNAMIC, 9 * sizeof(needed));
	memcpy(bytes + PLACE_BIG + 8 * sizeof(needed), &needed, sizeof(needed));
	ck_assert(elf_open(&e, as_file(bytes, BIG)));
	ck_assert(elf_dynamic_read(&e, &d));
	ck_assert_uint_eq(d.needed_count, ELF_NEEDED);
	elf_dynamic_free(&d);
	elf_close(&e);
}
END_TEST

/* Reads all that can be read; returns the number of symbols. */
static unsigned survive(const void *bytes, size_t size)
{
	struct elf_dynamic d;
	struct seen s = { 0 };
	struct elf e;

	if (!elf_open(&e, as_file(bytes, size)))
		return 0;
	ck_assert_uint_le(strlen(e.loader), sizeof(e.loader) - 1);
	ck_assert_uint_le(e.build_id_len, ELF_BUILD_ID);
	if (elf_dynamic_read(&e, &d)) {
		ck_assert_uint_le(d.needed_count, ELF_NEEDED);
		for (unsigned i = 0; i < d.needed_count; i++)
			s.count += strlen(elf_text(&d, d.needed[i])) > SIZE;
		s.count += strlen(elf_text(&d, d.runpath)) > SIZE;
		s.count += strlen(elf_text(&d, d.rpath)) > SIZE;
		ck_assert_uint_eq(s.count, 0);
		elf_symbols(&e, &d, see, &s);
		/* No more than can be in the file. */
		ck_assert_uint_le(s.count, SIZE / sizeof(Elf32_Sym));
		elf_dynamic_free(&d);
	}
	elf_close(&e);
	return s.count;
}

START_TEST(truncated)
{
	struct made m = { .hash = true, .sections = true, .go_note = true };

	for (unsigned wide = 0; wide < 2; wide++) {
		unsigned most = 0;

		if (wide)
			make_64(&m);
		else
			make_32(&m);
		for (size_t size = 0; size <= SIZE; size++) {
			/* Not more than its bytes: AddressSanitizer sees the end. */
			unsigned char *copy = malloc(size + 1);
			unsigned count;

			memcpy(copy, m.bytes, size);
			count = survive(copy, size);
			most = count > most ? count : most;
			free(copy);
		}
		ck_assert_uint_eq(most, 3);
	}
}
END_TEST

static const uint64_t edges[] = {
	0, 1, 7, 0x7f, 0xff, 0x7fff, 0xffff, SIZE - 1, SIZE, SIZE + 1, 0x7fffffff, 0xffffffff,
	0xfffffffe, INT64_MAX, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, UINT64_MAX - SIZE
};

/* Every place of the file that is structure gets every edge in every width. */
START_TEST(edge_values)
{
	static const struct {
		size_t from, to;
	} parts[] = {
		{ 4, PLACE_PHDR + 4 * sizeof(Elf64_Phdr) },
		{ PLACE_NOTES, PLACE_NOTES + sizeof(notes) },
		{ PLACE_SYMBOLS, PLACE_SYMBOLS + 2 * sizeof(Elf64_Sym) },
		{ PLACE_HASH, PLACE_HASH + 8 },
		{ PLACE_DYNAMIC, PLACE_DYNAMIC + 10 * sizeof(Elf64_Dyn) },
		{ PLACE_SECTIONS, PLACE_SECTIONS + 4 * sizeof(Elf64_Shdr) }
	};
	struct made m = { .hash = true, .sections = true, .go_section = true };

	for (size_t part = 0; part < ARRAY_LEN(parts); part++) {
		for (size_t at = parts[part].from; at < parts[part].to; at += 2) {
			for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
				size_t width = (size_t)2 << (at + i) % 3;

				if (at % 4 == 0)
					make_64(&m);
				else
					make_32(&m);
				if (at + width > SIZE)
					continue;
				memcpy(m.bytes + at, &edges[i], width);
				survive(m.bytes, SIZE);
			}
		}
	}
}
END_TEST

START_TEST(random_damage)
{
	struct made m = { .hash = true, .sections = true, .go_section = true };
	struct prng r;

	prng_seed(&r, 20261129);
	for (unsigned round = unit_rounds(20000); round > 0; round--) {
		unsigned hits = 1 + (unsigned)(prng_next(&r) % 8);

		m.hash = prng_next(&r) & 1;
		if (round & 1)
			make_64(&m);
		else
			make_32(&m);
		for (unsigned i = 0; i < hits; i++) {
			uint64_t value = prng_next(&r);
			size_t width = (size_t)1 << (value >> 60) % 4;
			size_t at = 4 + (value >> 8) % (SIZE - 4 - 8);

			if (value & 1)
				value = edges[(value >> 32) % ARRAY_LEN(edges)];
			memcpy(m.bytes + at, &value, width);
		}
		survive(m.bytes, SIZE);
	}
}
END_TEST

UNIT_MAIN("elf", &sound_files, &unknown_count, &other_files, &no_waiting, &same_kind, &too_much,
          &truncated, &edge_values, &random_damage)
