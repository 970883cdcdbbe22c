/* SPDX-License-Identifier: MIT */
#include "base/errname.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/compat.h"
#include "base/libc.h"

/*
 * The name is also the value, so a name that does not exist does not compile.
 * Where two names share a number the first is the one that is printed.
 */
#define ERRNO_TABLE(X) \
	X(EPERM) X(ENOENT) X(ESRCH) X(EINTR) X(EIO) X(ENXIO) X(E2BIG) X(ENOEXEC) \
	X(EBADF) X(ECHILD) X(EAGAIN) X(ENOMEM) X(EACCES) X(EFAULT) X(ENOTBLK) X(EBUSY) \
	X(EEXIST) X(EXDEV) X(ENODEV) X(ENOTDIR) X(EISDIR) X(EINVAL) X(ENFILE) X(EMFILE) \
	X(ENOTTY) X(ETXTBSY) X(EFBIG) X(ENOSPC) X(ESPIPE) X(EROFS) X(EMLINK) X(EPIPE) \
	X(EDOM) X(ERANGE) X(EDEADLK) X(ENAMETOOLONG) X(ENOLCK) X(ENOSYS) X(ENOTEMPTY) \
	X(ELOOP) X(ENOMSG) X(EIDRM) X(ECHRNG) X(EL2NSYNC) X(EL3HLT) X(EL3RST) X(ELNRNG) \
	X(EUNATCH) X(ENOCSI) X(EL2HLT) X(EBADE) X(EBADR) X(EXFULL) X(ENOANO) X(EBADRQC) \
	X(EBADSLT) X(EBFONT) X(ENOSTR) X(ENODATA) X(ETIME) X(ENOSR) X(ENONET) X(ENOPKG) \
	X(EREMOTE) X(ENOLINK) X(EADV) X(ESRMNT) X(ECOMM) X(EPROTO) X(EMULTIHOP) X(EDOTDOT) \
	X(EBADMSG) X(EOVERFLOW) X(ENOTUNIQ) X(EBADFD) X(EREMCHG) X(ELIBACC) X(ELIBBAD) \
	X(ELIBSCN) X(ELIBMAX) X(ELIBEXEC) X(EILSEQ) X(ERESTART) X(ESTRPIPE) X(EUSERS) \
	X(ENOTSOCK) X(EDESTADDRREQ) X(EMSGSIZE) X(EPROTOTYPE) X(ENOPROTOOPT) \
	X(EPROTONOSUPPORT) X(ESOCKTNOSUPPORT) X(EOPNOTSUPP) X(EPFNOSUPPORT) \
	X(EAFNOSUPPORT) X(EADDRINUSE) X(EADDRNOTAVAIL) X(ENETDOWN) X(ENETUNREACH) \
	X(ENETRESET) X(ECONNABORTED) X(ECONNRESET) X(ENOBUFS) X(EISCONN) X(ENOTCONN) \
	X(ESHUTDOWN) X(ETOOMANYREFS) X(ETIMEDOUT) X(ECONNREFUSED) X(EHOSTDOWN) \
	X(EHOSTUNREACH) X(EALREADY) X(EINPROGRESS) X(ESTALE) X(EUCLEAN) X(ENOTNAM) \
	X(ENAVAIL) X(EISNAM) X(EREMOTEIO) X(EDQUOT) X(ENOMEDIUM) X(EMEDIUMTYPE) \
	X(ECANCELED) X(ENOKEY) X(EKEYEXPIRED) X(EKEYREVOKED) X(EKEYREJECTED) X(EOWNERDEAD) \
	X(ENOTRECOVERABLE) X(ERFKILL) X(EHWPOISON) \
	X(EWOULDBLOCK) X(EDEADLOCK) X(ENOTSUP)

#define EAI_TABLE(X) \
	X(EAI_BADFLAGS) X(EAI_NONAME) X(EAI_AGAIN) X(EAI_FAIL) X(EAI_FAMILY) \
	X(EAI_SOCKTYPE) X(EAI_SERVICE) X(EAI_MEMORY) X(EAI_SYSTEM) X(EAI_OVERFLOW) \
	X(EAI_NODATA) X(EAI_ADDRFAMILY) X(EAI_INPROGRESS) X(EAI_CANCELED) \
	X(EAI_NOTCANCELED) X(EAI_ALLDONE) X(EAI_INTR) X(EAI_IDN_ENCODE)

#define HERRNO_TABLE(X) \
	X(HOST_NOT_FOUND) X(TRY_AGAIN) X(NO_RECOVERY) X(NO_DATA) X(NETDB_INTERNAL) \
	X(NO_ADDRESS)

/* Not by pointer: 158 of them would have to be relocated in every process. */
static const struct {
	char name[16];
	struct err err;
} table[] = {
#define X(n) { #n, { ERR_ERRNO, n } },
	ERRNO_TABLE(X)
#undef X
#define X(n) { #n, { ERR_EAI, n } },
	EAI_TABLE(X)
#undef X
#define X(n) { #n, { ERR_HERRNO, n } },
	HERRNO_TABLE(X)
#undef X
};

#define X(n) _Static_assert(sizeof(#n) <= sizeof(table[0].name), "a name is too long");
ERRNO_TABLE(X) EAI_TABLE(X) HERRNO_TABLE(X)
#undef X

const char *err_name(struct err e)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (table[i].err.code == e.code && table[i].err.domain == e.domain)
			return table[i].name;
	}
	return NULL;
}

bool err_parse(const char *name, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (strcmp(table[i].name, name) == 0) {
			*e = table[i].err;
			return true;
		}
	}
	return false;
}

const char *err_table_name(unsigned index)
{
	return index < ARRAY_LEN(table) ? table[index].name : NULL;
}
