// SPDX-License-Identifier: MIT
// http_client.js PORT COUNT keep|close: prints requests a second, four at a time.
"use strict";
const http = require("http");
const [port, count, mode] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: mode === "keep", maxSockets: 4 });
let left = Number(count), open = 4;
const begin = process.hrtime.bigint();

function next() {
  if (left-- > 0)
    http.get({ host: "127.0.0.1", port, agent }, (answer) => {
      answer.on("end", next);
      answer.resume();
    }).on("error", () => process.exit(1));
  else if (--open === 0) {
    console.log(Number(count) / (Number(process.hrtime.bigint() - begin) / 1e9));
    process.exit(0);
  }
}
for (let i = 0; i < 4; i++)
  next();
