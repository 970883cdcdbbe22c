// SPDX-License-Identifier: MIT
// Usage: client.js http|net|families HOST PORT [MS]
// Prints what the server says. "families" tries the addresses of HOST one after the
// other, each for MS at least.
'use strict';
const http = require('http');
const net = require('net');

const [way, host, port, patience = '250'] = process.argv.slice(2);

function failed(error)
{
	console.error(`failed: ${error.code}`);
	process.exitCode = 1;
}

if (way === 'http') {
	http.get({ host, port, agent: false }, (answer) => answer.pipe(process.stdout))
		.on('error', failed);
} else {
	const socket = net.connect({
		host, port,
		autoSelectFamily: way === 'families',
		autoSelectFamilyAttemptTimeout: Number(patience),
	});

	socket.on('error', failed);
	socket.on('connect', () => socket.write('GET / HTTP/1.0\r\n\r\n'));
	socket.pipe(process.stdout);
}
