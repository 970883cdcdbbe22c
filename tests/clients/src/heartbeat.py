# SPDX-License-Identifier: MIT
"""Usage: heartbeat.py LIVE-PORT LATE-PORT
An event loop with a timer and requests to a live server, while a connect to
another one is under way. Prints how late the timer was at worst, without the time
the thread waited for a processor, and how long the middle one of the requests took."""
import asyncio
import gc
import statistics
import sys
import time

BEAT, PAUSE, LENGTH = 0.02, 0.02, 2.0
live, late = map(int, sys.argv[1:])
outcome = "nothing"


def waited():
    """Seconds, 0 where the kernel does not tell."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except OSError:
        return 0


async def request():
    reader, writer = await asyncio.open_connection("127.0.0.1", live)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    await reader.read()
    writer.close()


async def requests(end):
    times = []
    while time.monotonic() < end:
        begin = time.monotonic()
        await request()
        times.append(time.monotonic() - begin)
        await asyncio.sleep(PAUSE)
    return times


async def heartbeat(end):
    latest = 0
    while time.monotonic() < end:
        due, before = time.monotonic() + BEAT, waited()
        await asyncio.sleep(BEAT)
        lateness = time.monotonic() - due
        latest = max(latest, lateness - (waited() - before))
    return latest


async def connect_late():
    global outcome
    try:
        await asyncio.open_connection("127.0.0.1", late)
        outcome = "connected"
    except OSError as error:
        outcome = error.strerror or "failed"


async def main():
    await request()
    gc.disable()
    end = time.monotonic() + LENGTH
    late_task = asyncio.create_task(connect_late())
    latest, times = await asyncio.gather(heartbeat(end), requests(end))
    late_task.cancel()
    print(f"late: {outcome}")
    print(f"beat_us={latest * 1e6:.0f}")
    print(f"request_us={statistics.median(times) * 1e6:.0f}")
    print(f"requests={len(times)}")
    print(f"cpu_us={time.process_time() * 1e6:.0f}")


asyncio.run(main())
