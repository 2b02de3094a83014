"""A worker in Python: measures its own work and gives prony the values.

prony bench 'python3 worker.py 20000' 'python3 worker.py 40000'

For a single statement there is `prony bench --python`.
"""

import json
import os
import sys
import time


def work(steps):
    """What is measured: put your own work here."""
    return sum(range(steps))


def measure(loops, warmup):
    """Measures `loops` loops and writes wall and CPU time of one; returns the CPU time of all."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(loops):
        work(steps)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    for metric, seconds in ("wall", wall), ("cpu", cpu):
        value = {"metric": metric, "value": seconds / loops, "unit": "s", "loops": loops, "warmup": warmup}
        print(json.dumps(value), file=out)
    return cpu


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
loops = int(os.environ.get("PRONY_LOOPS", "0"))
with open(int(os.environ.get("PRONY_FD", "1")), "w") as out:
    if loops == 0:
        # The first time nobody knows yet how many loops make a value long enough: double until it is.
        loops = 1
        while measure(loops, True) < float(os.environ.get("PRONY_MIN_TIME", "0.1")):
            loops *= 2
    else:
        for _ in range(int(os.environ.get("PRONY_WARMUPS", "1"))):
            measure(loops, True)
    for _ in range(int(os.environ.get("PRONY_VALUES", "1"))):
        measure(loops, False)
