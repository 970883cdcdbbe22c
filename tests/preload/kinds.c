/* SPDX-License-Identifier: MIT */
/*
 * kinds.c - a library behind us that defines wrapped functions in the ways that
 * dlsym() treats differently: chosen at run time, in several versions, in one that is
 * not the default, weak, protected, hidden. Nobody calls them.
 */
#define KIND __attribute__((visibility("default")))
#define SYMVER(symbol, version) __asm__(".symver " symbol "," version)

int connect_here(void);
KIND int connect(void);
KIND int send_old(void);
KIND int send_new(void);
KIND int readv_new(void);
KIND int readv_old(void);
KIND int recv_old(void);
KIND int recvfrom_old(void);
KIND int recvfrom_older(void);
KIND __attribute__((weak)) int shutdown(void);
__attribute__((visibility("protected"))) int sendmsg(void);
__attribute__((visibility("hidden"))) int recvmsg(void);
KIND extern int dup3;

int connect_here(void)
{
	return -2;
}

static int (*choose(void))(void)
{
	return connect_here;
}

int connect(void) __attribute__((ifunc("choose")));

#define FUNCTION(name, value) \
	int name(void) \
	{ \
		return value; \
	}
FUNCTION(send_old, -3)
FUNCTION(send_new, -4)
FUNCTION(readv_new, -11)
FUNCTION(readv_old, -12)
FUNCTION(recv_old, -5)
FUNCTION(recvfrom_old, -6)
FUNCTION(recvfrom_older, -7)
FUNCTION(shutdown, -8)
FUNCTION(sendmsg, -9)
FUNCTION(recvmsg, -10)
int dup3 = 1;

SYMVER("send_old", "send@KINDS_1");
SYMVER("send_new", "send@@KINDS_3");
SYMVER("readv_new", "readv@@KINDS_3");
SYMVER("readv_old", "readv@KINDS_1");
SYMVER("recv_old", "recv@KINDS_3");
SYMVER("recvfrom_old", "recvfrom@KINDS_2");
SYMVER("recvfrom_older", "recvfrom@KINDS_1");
