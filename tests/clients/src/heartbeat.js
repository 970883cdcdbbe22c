// SPDX-License-Identifier: MIT
// Usage: heartbeat.js LIVE-PORT LATE-PORT
// An event loop with a timer and requests to a live server, while a connect to
// another one is under way. Prints how late the timer was at worst, without the time
// the thread waited for a processor, and how long the middle one of the requests took.
'use strict';
const fs = require('fs');
const http = require('http');
const net = require('net');

const [live, late] = process.argv.slice(2);
const BEAT = 20, PAUSE = 20, LENGTH = 2000;
const requests = [];
let end, latest = 0, outcome = 'nothing';

// Milliseconds, 0 where the kernel does not tell.
function waited()
{
	try {
		return fs.readFileSync('/proc/self/schedstat', 'ascii').split(' ')[1] / 1e6;
	} catch {
		return 0;
	}
}

function beat()
{
	const due = performance.now() + BEAT, before = waited();

	setTimeout(() => {
		const lateness = performance.now() - due;

		latest = Math.max(latest, lateness - (waited() - before));
		if (performance.now() < end)
			beat();
		else
			report();
	}, BEAT);
}

function request()
{
	const begin = performance.now();

	http.get({ host: '127.0.0.1', port: live, agent: false }, (answer) => {
		answer.resume();
		answer.on('end', () => {
			requests.push(performance.now() - begin);
			if (performance.now() < end)
				setTimeout(request, PAUSE);
		});
	});
}

function report()
{
	const cpu = process.cpuUsage();

	requests.sort((a, b) => a - b);
	console.log(`late: ${outcome}`);
	console.log(`beat_us=${Math.round(latest * 1000)}`);
	console.log(`request_us=${Math.round(requests[requests.length >> 1] * 1000)}`);
	console.log(`requests=${requests.length}`);
	console.log(`cpu_us=${cpu.user + cpu.system}`);
	process.exit(0);
}

// The first request loads and compiles code: it is not counted.
http.get({ host: '127.0.0.1', port: live, agent: false }, (answer) => {
	answer.resume();
	answer.on('end', () => {
		const socket = net.connect({ host: '127.0.0.1', port: late });

		socket.on('connect', () => { outcome = 'connected'; });
		socket.on('error', (error) => { outcome = error.code; });
		end = performance.now() + LENGTH;
		beat();
		request();
	});
});
