/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat.h"
#include "cli/elf.h"

#define NOTE_BYTES 4096
#define NOTE_GNU_BUILD_ID 3
#define NOTE_GO_BUILD_ID 4
#define DYNAMIC_LIMIT 4096
#define TEXTS_LIMIT (UINT64_C(64) << 20)
#define SYMBOL_LIMIT (UINT64_C(1) << 24)
#define SYMBOL_BATCH 512

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

/* A member of a structure in the class of the file; <p> must be aligned. */
#define GET(e, p, Type, member) \
	((e)->wide ? ((const Elf64_##Type *)(const void *)(p))->member \
	           : ((const Elf32_##Type *)(const void *)(p))->member)
#define SIZE(e, Type) ((e)->wide ? sizeof(Elf64_##Type) : sizeof(Elf32_##Type))

struct section {
	uint32_t name, type;
	uint64_t offset, size;
};

static bool read_at(const struct elf *e, uint64_t offset, void *to, uint64_t size)
{
	char *at = to;

	if (offset > e->size || size > e->size - offset)
		return false;
	while (size) {
		ssize_t got = pread(e->fd, at, size, (off_t)offset);

		if (got <= 0)
			return false;
		at += got;
		offset += (uint64_t)got;
		size -= (uint64_t)got;
	}
	return true;
}

/* The <index>th of an array of entries; false if it is not in the file. */
static bool read_entry(const struct elf *e, uint64_t table, uint64_t index, void *to, size_t size)
{
	return table <= e->size && index <= e->size / size &&
	       read_at(e, table + index * size, to, size);
}

/* Notes have the same layout in both classes. */
static void read_notes(struct elf *e, const struct elf_segment *s)
{
	unsigned char notes[NOTE_BYTES];
	uint64_t size = s->size < sizeof(notes) ? s->size : sizeof(notes);
	uint64_t at = 0;

	if (!read_at(e, s->offset, notes, size))
		return;
	while (at + sizeof(Elf64_Nhdr) <= size) {
		Elf64_Nhdr n;
		uint64_t name, text;

		memcpy(&n, notes + at, sizeof(n));
		name = at + sizeof(n);
		text = name + ((n.n_namesz + UINT64_C(3)) & ~UINT64_C(3));
		at = text + ((n.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
		if (n.n_namesz != 4 || text > size)
			continue;
		if (n.n_type == NOTE_GO_BUILD_ID && memcmp(notes + name, "Go\0", 4) == 0)
			e->go = true;
		if (n.n_type == NOTE_GNU_BUILD_ID && memcmp(notes + name, "GNU", 4) == 0 &&
		    n.n_descsz <= sizeof(e->build_id) && text + n.n_descsz <= size) {
			memcpy(e->build_id, notes + text, n.n_descsz);
			e->build_id_len = n.n_descsz;
		}
	}
}

static void read_segments(struct elf *e, uint64_t table, unsigned count)
{
	for (unsigned i = 0; i < count && i < ELF_SEGMENTS; i++) {
		struct elf_segment *s = &e->segments[i];
		union {
			Elf32_Phdr p32;
			Elf64_Phdr p64;
		} p;

		if (!read_entry(e, table, i, &p, SIZE(e, Phdr))) {
			e->damaged = true;
			return;
		}
		s->type = GET(e, &p, Phdr, p_type);
		s->offset = GET(e, &p, Phdr, p_offset);
		s->size = GET(e, &p, Phdr, p_filesz);
		s->address = GET(e, &p, Phdr, p_vaddr);
		e->segment_count++;
		if (s->type == PT_INTERP && s->size && s->size < sizeof(e->loader)) {
			if (!read_at(e, s->offset, e->loader, s->size)) {
				e->loader[0] = '\0';
				e->damaged = true;
			}
		} else if (s->type == PT_NOTE) {
			read_notes(e, s);
		}
	}
}

static bool read_section(const struct elf *e, unsigned index, struct section *s)
{
	union {
		Elf32_Shdr s32;
		Elf64_Shdr s64;
	} h;

	if (!read_entry(e, e->section_offset, index, &h, SIZE(e, Shdr)))
		return false;
	s->name = GET(e, &h, Shdr, sh_name);
	s->type = GET(e, &h, Shdr, sh_type);
	s->offset = GET(e, &h, Shdr, sh_offset);
	s->size = GET(e, &h, Shdr, sh_size);
	return true;
}

/* A Go program that was linked without a build id still has this. */
static bool has_go_section(const struct elf *e)
{
	static const char wanted[] = ".go.buildinfo";
	char name[sizeof(wanted)];
	struct section names, s;

	if (!e->section_count || !read_section(e, e->section_names, &names))
		return false;
	for (unsigned i = 0; i < e->section_count && read_section(e, i, &s); i++) {
		if (s.name < names.size && names.size - s.name >= sizeof(name) &&
		    names.offset <= e->size &&
		    read_at(e, names.offset + s.name, name, sizeof(name)) &&
		    memcmp(name, wanted, sizeof(name)) == 0)
			return true;
	}
	return false;
}

static bool read_head(struct elf *e)
{
	union {
		unsigned char bytes[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} h;

	memset(&h, 0, sizeof(h));
	if (!read_at(e, 0, &h, sizeof(h)) && !read_at(e, 0, &h, sizeof(h.e32)))
		return false;
	if (memcmp(h.bytes, ELFMAG, SELFMAG) != 0)
		return false;
	e->class = h.bytes[EI_CLASS];
	e->data = h.bytes[EI_DATA];
	e->wide = e->class == ELFCLASS64;
	e->foreign = e->data != NATIVE_DATA;
	e->machine = h.e32.e_machine; /* these two are at the same place in both */
	e->type = h.e32.e_type;
	if (e->foreign)
		return true;
	if ((e->class != ELFCLASS32 && !e->wide) ||
	    GET(e, &h, Ehdr, e_phentsize) != SIZE(e, Phdr) || !GET(e, &h, Ehdr, e_phnum)) {
		e->damaged = true;
		return true;
	}
	if (GET(e, &h, Ehdr, e_shentsize) == SIZE(e, Shdr)) {
		e->section_offset = GET(e, &h, Ehdr, e_shoff);
		e->section_count = GET(e, &h, Ehdr, e_shnum);
		e->section_names = GET(e, &h, Ehdr, e_shstrndx);
	}
	read_segments(e, GET(e, &h, Ehdr, e_phoff), GET(e, &h, Ehdr, e_phnum));
	if (!e->go)
		e->go = has_go_section(e);
	return true;
}

bool elf_open(struct elf *e, const char *path)
{
	struct stat st;

	memset(e, 0, sizeof(*e));
	/* Not to wait for somebody at the other end of a FIFO. */
	e->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (e->fd < 0)
		return false;
	errno = ENOEXEC;
	if (fstat(e->fd, &st) == 0 && S_ISREG(st.st_mode)) {
		e->size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
		errno = ENOEXEC;
		if (read_head(e))
			return true;
	}
	elf_close(e);
	return false;
}

void elf_close(struct elf *e)
{
	int saved = errno;

	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	errno = saved;
}

bool elf_same_kind(const struct elf *a, const struct elf *b)
{
	return a->class == b->class && a->data == b->data && a->machine == b->machine;
}

/* Where the loader would find <address> in the file; false if nowhere. */
static bool place_of(const struct elf *e, uint64_t address, uint64_t *offset)
{
	for (unsigned i = 0; i < e->segment_count; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && address >= s->address &&
		    address - s->address < s->size && s->offset <= e->size) {
			*offset = s->offset + (address - s->address);
			return *offset <= e->size;
		}
	}
	return false;
}

struct addresses {
	uint64_t texts, texts_size, symbols, hash;
};

static void note_entry(struct elf_dynamic *d, struct addresses *a, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case DT_NEEDED:
		if (d->needed_count < ELF_NEEDED)
			d->needed[d->needed_count++] = value;
		break;
	case DT_RUNPATH: d->runpath = value; break;
	case DT_RPATH: d->rpath = value; break;
	case DT_FLAGS_1: d->flags_1 = value; break;
	case DT_STRTAB: a->texts = value; break;
	case DT_STRSZ: a->texts_size = value; break;
	case DT_SYMTAB: a->symbols = value; break;
	case DT_HASH: a->hash = value; break;
	default: break;
	}
}

static bool read_entries(const struct elf *e, struct elf_dynamic *d, struct addresses *a)
{
	const struct elf_segment *s = NULL;
	union {
		Elf32_Dyn d32;
		Elf64_Dyn d64;
	} entry;

	for (unsigned i = 0; i < e->segment_count && !s; i++) {
		if (e->segments[i].type == PT_DYNAMIC)
			s = &e->segments[i];
	}
	if (!s)
		return false;
	for (unsigned i = 0; i < DYNAMIC_LIMIT && i < s->size / SIZE(e, Dyn); i++) {
		if (!read_entry(e, s->offset, i, &entry, SIZE(e, Dyn)))
			return false;
		if (GET(e, &entry, Dyn, d_tag) == DT_NULL)
			break;
		note_entry(d, a, (uint64_t)GET(e, &entry, Dyn, d_tag),
		           GET(e, &entry, Dyn, d_un.d_val));
	}
	return true;
}

/* Nothing in the dynamic section says it. DT_HASH has one chain entry for each
 * symbol, but is often left out for DT_GNU_HASH, which need not know imports; a
 * file without section headers has its texts right behind its symbols. */
static uint64_t count_symbols(const struct elf *e, const struct addresses *a)
{
	uint64_t offset;
	uint32_t head[2];
	struct section s;

	if (a->hash && place_of(e, a->hash, &offset) && read_at(e, offset, head, sizeof(head)))
		return head[1];
	for (unsigned i = 0; i < e->section_count && read_section(e, i, &s); i++) {
		if (s.type == SHT_DYNSYM)
			return s.size / SIZE(e, Sym);
	}
	return a->texts > a->symbols ? (a->texts - a->symbols) / SIZE(e, Sym) : 0;
}

bool elf_dynamic_read(const struct elf *e, struct elf_dynamic *d)
{
	struct addresses a = { 0 };
	uint64_t offset;

	memset(d, 0, sizeof(*d));
	if (e->foreign || e->damaged || !read_entries(e, d, &a) || !place_of(e, a.texts, &offset))
		return false;
	if (a.texts_size > TEXTS_LIMIT || a.texts_size > e->size - offset)
		return false;
	d->texts = malloc(a.texts_size + 1);
	if (!d->texts)
		return false;
	if (!read_at(e, offset, d->texts, a.texts_size)) {
		elf_dynamic_free(d);
		return false;
	}
	d->texts[a.texts_size] = '\0';
	d->texts_size = a.texts_size;
	if (place_of(e, a.symbols, &d->symbols)) {
		uint64_t most = (e->size - d->symbols) / SIZE(e, Sym);

		d->symbol_count = count_symbols(e, &a);
		if (d->symbol_count > most)
			d->symbol_count = most;
		if (d->symbol_count > SYMBOL_LIMIT)
			d->symbol_count = SYMBOL_LIMIT;
	}
	return true;
}

void elf_dynamic_free(struct elf_dynamic *d)
{
	free(d->texts);
	d->texts = NULL;
	d->texts_size = 0;
}

const char *elf_text(const struct elf_dynamic *d, uint64_t offset)
{
	return offset < d->texts_size ? d->texts + offset : "";
}

static void each_symbol(const struct elf *e, const struct elf_dynamic *d, const void *symbol,
                        elf_symbol_fn *each, void *ctx)
{
	unsigned bind = ELF64_ST_BIND(GET(e, symbol, Sym, st_info)); /* as ELF32_ST_BIND */
	const char *name = elf_text(d, GET(e, symbol, Sym, st_name));

	if (*name && (bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE))
		each(ctx, name, GET(e, symbol, Sym, st_shndx) != SHN_UNDEF);
}

void elf_symbols(const struct elf *e, const struct elf_dynamic *d, elf_symbol_fn *each, void *ctx)
{
	union {
		Elf32_Sym s32[SYMBOL_BATCH];
		Elf64_Sym s64[SYMBOL_BATCH];
	} batch;
	size_t size = SIZE(e, Sym);

	for (uint64_t done = 0; done < d->symbol_count;) {
		uint64_t count = d->symbol_count - done;

		if (count > SYMBOL_BATCH)
			count = SYMBOL_BATCH;
		if (!read_at(e, d->symbols + done * size, &batch, count * size))
			return;
		for (uint64_t i = 0; i < count; i++)
			each_symbol(e, d, (const char *)&batch + i * size, each, ctx);
		done += count;
	}
}
