/* SPDX-License-Identifier: MIT */
/*
 * elf.h - reads one ELF file without trusting it: every offset and count of the
 * file is checked against the size that the file had when it was opened, and
 * nothing of it is mapped or run. Both classes are read; of a file in the other
 * byte order only the header.
 */
#ifndef LIBRETRY_CLI_ELF_H
#define LIBRETRY_CLI_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS 256
#define ELF_NEEDED 512
#define ELF_BUILD_ID 20 /* bytes */

struct elf_segment {
	uint32_t type;
	uint64_t offset, size, address;
};

struct elf {
	int fd;
	uint64_t size;
	unsigned char class, data;
	bool wide;     /* of 64 bits */
	bool foreign;  /* of the other byte order: nothing below <type> is filled */
	bool damaged;  /* no program header, or one that is not in the file */
	uint16_t machine, type;
	uint64_t section_offset;
	unsigned section_count, section_names;
	unsigned segment_count;
	struct elf_segment segments[ELF_SEGMENTS];
	char loader[PATH_MAX]; /* PT_INTERP; "" if there is none */
	bool go;               /* a note or a section of the Go linker */
	unsigned build_id_len; /* 0: none */
	unsigned char build_id[ELF_BUILD_ID];
};

/* What the dynamic loader would read. Texts are offsets: elf_text(). */
struct elf_dynamic {
	uint64_t needed[ELF_NEEDED];
	unsigned needed_count;
	uint64_t runpath, rpath; /* 0: none */
	uint64_t flags_1;
	char *texts;
	size_t texts_size;
	uint64_t symbols; /* place in the file */
	uint64_t symbol_count;
};

/*
 * Opens <path> and reads its headers. False with errno if it cannot be read;
 * ENOEXEC if it is no ELF file or not a regular one. On true, elf_close() it.
 */
bool elf_open(struct elf *e, const char *path);
void elf_close(struct elf *e);

/* Whether one process can hold both: class, byte order and machine. */
bool elf_same_kind(const struct elf *a, const struct elf *b);

/* Reads the dynamic section. False if there is none, if it makes no sense, or
 * without memory. On true, elf_dynamic_free() it. */
bool elf_dynamic_read(const struct elf *e, struct elf_dynamic *d);
void elf_dynamic_free(struct elf_dynamic *d);

/* A text of the dynamic section; "" if <offset> is not in the file. */
const char *elf_text(const struct elf_dynamic *d, uint64_t offset);

/* Calls <each> for every global symbol with a name: imported or defined here. */
typedef void elf_symbol_fn(void *ctx, const char *name, bool defined);
void elf_symbols(const struct elf *e, const struct elf_dynamic *d, elf_symbol_fn *each, void *ctx);

#endif
