/* SPDX-License-Identifier: MIT */
/* Connects with libpq's asynchronous functions; prints the server's message. */
#include <poll.h>
#include <stdio.h>
#include <libpq-fe.h>

#define LIMIT_MS 20000

int main(int argc, char **argv)
{
	PGconn *db = PQconnectStart(argc > 1 ? argv[1] : "");
	PostgresPollingStatusType next = PGRES_POLLING_WRITING;

	while (PQstatus(db) != CONNECTION_BAD &&
	       (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING)) {
		struct pollfd p = { .fd = PQsocket(db) };

		p.events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
		if (poll(&p, 1, LIMIT_MS) <= 0) {
			puts("nothing happened");
			break;
		}
		next = PQconnectPoll(db);
	}
	fputs(next == PGRES_POLLING_OK ? "connected\n" : PQerrorMessage(db), stdout);
	PQfinish(db);
	return next != PGRES_POLLING_OK;
}
