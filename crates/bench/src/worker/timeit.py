"""Times a statement as `pyperf timeit` does, and writes values to $PRONY_FD.

usage: python3 -c THIS SETUP STATEMENT...
"""

import json
import os
import sys
import time
import timeit

setup, statement = sys.argv[1], "\n".join(sys.argv[2:])
timer = timeit.Timer(statement, setup, time.perf_counter)
least = float(os.environ.get("PRONY_MIN_TIME", "0.1"))
loops = int(os.environ.get("PRONY_LOOPS", "0"))
values = int(os.environ.get("PRONY_VALUES", "1"))
warmups = int(os.environ.get("PRONY_WARMUPS", "1"))


def waited():
    """Nanoseconds that this thread was ready and had no CPU."""
    try:
        with open("/proc/thread-self/schedstat") as schedstat:
            return int(schedstat.read().split()[1])
    except OSError:
        return None


def measure(loops, warmup):
    """Writes wall time, CPU time, and wall time without the wait for a CPU, which it returns."""
    wait = waited()
    cpu = time.process_time()
    wall = timer.timeit(loops)
    cpu = time.process_time() - cpu
    times = {"wall": wall, "cpu": cpu}
    if wait is not None:
        # The wait between two readings of the clocks is not part of the wall time.
        times["uncontended"] = max(cpu, wall - (waited() - wait) / 1e9)
    for metric, seconds in times.items():
        value = {"metric": metric, "value": seconds / loops, "unit": "s", "loops": loops, "warmup": warmup}
        if seconds > 0:
            lines.write(json.dumps(value) + "\n")
    return times.get("uncontended", wall)


try:
    with open(int(os.environ["PRONY_FD"]), "w") as lines:
        if loops == 0:
            # As pyperf: double until a value lasts long enough. All of it is warming up.
            loops = 1
            while measure(loops, True) < least:
                loops *= 2
            warmups = 0
        for _ in range(warmups):
            measure(loops, True)
        for _ in range(values):
            measure(loops, False)
except Exception:
    # The statement's own lines, without ours.
    timer.print_exc()
    sys.exit(1)
