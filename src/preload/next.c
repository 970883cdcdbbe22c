/* SPDX-License-Identifier: MIT */
#include "preload/next.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "base/compat.h"

#define BLOOM_BITS (8 * sizeof(ElfW(Addr)))
#define VERSION_HIDDEN 0x8000

/* What a look-up needs of one object. Nothing is read past the end of the segment that
 * a table lies in. */
struct object {
	uintptr_t base;
	const ElfW(Addr) *bloom;
	uint32_t bloom_mask;
	uint32_t bloom_shift;
	const uint32_t *buckets;
	uint32_t bucket_count;
	uint32_t first; /* the symbol of chain[0] */
	const uint32_t *chain;
	const ElfW(Sym) *symbols;
	size_t symbols_end; /* so many are in the chain and in the table of symbols */
	const char *strings;
	size_t strings_size;
	const ElfW(Half) *versions; /* NULL: it has none */
	size_t versions_end;
};

struct walk {
	const char *text;
	const struct next_name *list;
	void **found;
	uint64_t open;  /* the names not met yet, a bit each */
	size_t objects; /* seen */
	unsigned long long loaded;
	bool behind;
	bool odd;
};

/* How many bytes can be read from <at> on, in the segment that it is in. */
static size_t readable(const struct dl_phdr_info *info, uintptr_t at)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t offset = at - (info->dlpi_addr + p->p_vaddr);

		if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && offset < p->p_memsz)
			return p->p_memsz - offset;
	}
	return 0;
}

static bool open_hash(struct object *o, const struct dl_phdr_info *info, uintptr_t at)
{
	size_t size = readable(info, at);
	const uint32_t *head = (const uint32_t *)at;
	uint32_t words;

	if (at % sizeof(ElfW(Addr)) != 0 || size < 4 * sizeof(*head))
		return false;
	size -= 4 * sizeof(*head);
	o->bucket_count = head[0];
	o->first = head[1];
	words = head[2];
	o->bloom_shift = head[3];
	if (words == 0 || (words & (words - 1)) != 0 || o->bloom_shift >= 32 ||
	    words > size / sizeof(ElfW(Addr)))
		return false;
	size -= words * sizeof(ElfW(Addr));
	if (o->bucket_count == 0 || o->bucket_count > size / sizeof(uint32_t))
		return false;
	size -= o->bucket_count * sizeof(uint32_t);
	o->bloom_mask = words - 1;
	o->bloom = (const ElfW(Addr) *)(head + 4);
	o->buckets = (const uint32_t *)(o->bloom + words);
	o->chain = o->buckets + o->bucket_count;
	o->symbols_end = o->first + size / sizeof(uint32_t);
	return true;
}

/* The dynamic section: glibc has put addresses into it, but not where it may not be
 * written, and on some architectures never. What is left there is outside the object. */
static const ElfW(Dyn) *dynamic(const struct dl_phdr_info *info, size_t *n)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_DYNAMIC)
			continue;
		if (!(p->p_flags & PF_W) || at % sizeof(ElfW(Addr)) != 0 ||
		    readable(info, at) < p->p_memsz)
			return NULL;
		*n = p->p_memsz / sizeof(ElfW(Dyn));
		return (const ElfW(Dyn) *)at;
	}
	return NULL;
}

static bool open_object(struct object *o, const struct dl_phdr_info *info)
{
	size_t n = 0;
	const ElfW(Dyn) *d = dynamic(info, &n);
	uintptr_t hash = 0, symbols = 0, strings = 0, versions = 0;
	size_t strings_size = 0;

	for (; d && n > 0 && d->d_tag != DT_NULL; d++, n--) {
		switch (d->d_tag) {
		case DT_GNU_HASH: hash = d->d_un.d_ptr; break;
		case DT_SYMTAB: symbols = d->d_un.d_ptr; break;
		case DT_STRTAB: strings = d->d_un.d_ptr; break;
		case DT_STRSZ: strings_size = d->d_un.d_val; break;
		case DT_VERSYM: versions = d->d_un.d_ptr; break;
		/* Another object is searched in its place. */
		case DT_AUXILIARY:
		case DT_FILTER: return false;
		default: break;
		}
	}
	o->base = info->dlpi_addr;
	o->symbols = (const ElfW(Sym) *)symbols;
	o->strings = (const char *)strings;
	o->strings_size = strings_size;
	o->versions = (const ElfW(Half) *)versions;
	o->versions_end = readable(info, versions) / sizeof(ElfW(Half));
	if (symbols % sizeof(ElfW(Addr)) != 0 || versions % sizeof(ElfW(Half)) != 0 ||
	    strings_size > readable(info, strings) || !open_hash(o, info, hash))
		return false;
	n = readable(info, symbols) / sizeof(ElfW(Sym));
	if (o->symbols_end > n)
		o->symbols_end = n;
	return true;
}

static bool is_named(const struct object *o, const ElfW(Sym) *s, const char *name, size_t len)
{
	return s->st_name < o->strings_size && len < o->strings_size - s->st_name &&
	       memcmp(o->strings + s->st_name, name, len + 1) == 0;
}

/* The function, if it is one that every look-up takes in the same way. */
static void *function(const struct object *o, size_t i)
{
	const ElfW(Sym) *s = &o->symbols[i];
	unsigned bind = s->st_info >> 4;
	unsigned visibility = s->st_other & 3;

	if ((s->st_info & 0xf) != STT_FUNC || (bind != STB_GLOBAL && bind != STB_WEAK) ||
	    (visibility != STV_DEFAULT && visibility != STV_PROTECTED) ||
	    s->st_shndx == SHN_UNDEF || s->st_shndx >= SHN_LORESERVE || s->st_value == 0)
		return NULL;
	if (o->versions && (i >= o->versions_end || o->versions[i] == VER_NDX_LOCAL ||
	                    (o->versions[i] & VERSION_HIDDEN)))
		return NULL;
#if defined(__hppa__) || defined(__ia64__)
	return NULL; /* dlsym() gives a descriptor */
#else
	return (void *)(o->base + s->st_value);
#endif
}

/* A version that only who was linked with it gets: dlsym() passes it over. */
static bool is_old(const struct object *o, size_t i)
{
	return o->versions && i < o->versions_end && (o->versions[i] & VERSION_HIDDEN);
}

/* Whether the object has the name; *found is set if it is a plain one. */
static bool look_up(const struct object *o, const struct next_name *want, const char *name,
                    void **found)
{
	uint32_t hash = want->hash;
	ElfW(Addr) word = o->bloom[(hash / BLOOM_BITS) & o->bloom_mask];
	size_t end = o->symbols_end;
	bool has = false;
	size_t hit = 0;
	size_t i;

	if (!((word >> (hash % BLOOM_BITS)) & (word >> ((hash >> o->bloom_shift) % BLOOM_BITS)) & 1))
		return false;
	i = o->buckets[hash % o->bucket_count];
	if (i == 0)
		return false;
	if (i < o->first)
		return true;
	for (; i < end; i++) {
		uint32_t h = o->chain[i - o->first];

		if (((h ^ hash) | 1) == 1 && is_named(o, &o->symbols[i], name, want->len)) {
			has = true;
			if (hit && !is_old(o, i))
				return true; /* several that are not old */
			if (!is_old(o, i))
				hit = i;
		}
		if (h & 1) {
			if (hit)
				*found = function(o, hit);
			return has;
		}
	}
	return true;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *w = arg;
	struct object o = { 0 };

	(void)size;
	w->objects++;
	w->loaded = info->dlpi_adds - info->dlpi_subs;
	if (!w->behind) {
		w->behind = readable(info, (uintptr_t)w->list) != 0;
		return 0;
	}
	if (!w->open || w->odd)
		return 0;
	w->odd = !open_object(&o, info);
	if (w->odd)
		return 0;
	for (uint64_t open = w->open; open; open &= open - 1) {
		unsigned i = (unsigned)__builtin_ctzll(open);
		const struct next_name *want = &w->list[i];

		if (look_up(&o, want, w->text + want->at, &w->found[i]))
			w->open &= ~((uint64_t)1 << i);
	}
	return 0;
}

void next_find(const char *text, const struct next_name *list, size_t n, int minor, void **found)
{
	struct walk w = { .text = text, .list = list, .found = found };

	memset(found, 0, n * sizeof(*found));
	for (size_t i = 0; i < n; i++)
		if (list[i].since <= minor)
			w.open |= (uint64_t)1 << i;
	dl_iterate_phdr(visit, &w);
	/* All of them are libc's at the latest. One that is not behind us: the list of
	 * objects is not the order in which they are searched, we came by dlopen(). */
	if (w.open || w.odd || w.objects != w.loaded)
		memset(found, 0, n * sizeof(*found));
}
