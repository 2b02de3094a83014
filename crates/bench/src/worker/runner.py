"""Runs one benchmark of a script that uses `pyperf.Runner`, and writes its values to $PRONY_FD.

usage: python3 -c THIS list SCRIPT [ARGUMENT...]     prints the names of its benchmarks, a line of JSON each
       python3 -c THIS NUMBER SCRIPT [ARGUMENT...]   runs the benchmark of this number, from 0

The script runs as a worker process of pyperf does; what its Runner measures is measured here as well, with CPU time and the wait
for a CPU beside it.
"""

import json
import os
import runpy
import sys
import time

task, script = sys.argv[1], sys.argv[2]

try:
    import pyperf
    from pyperf._worker import WorkerTask
except ImportError as error:
    sys.exit(f"{sys.executable}: {error}")

# Benchmarks of which a value is the time of all that runs for it. The others choose what they time.
WHOLE = ("bench_func", "bench_async_func", "timeit")
OTHERS = ("bench_time_func", "bench_command")


def waited():
    """Nanoseconds that this thread was ready and had no CPU."""
    try:
        with open("/proc/thread-self/schedstat") as schedstat:
            return int(schedstat.read().split()[1])
    except OSError:
        return None


def run(options):
    """Runs the script with these options of pyperf before its own."""
    sys.argv = [script, *options, *sys.argv[3:]]
    sys.path[0:1] = [os.path.dirname(os.path.abspath(script))]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise


def list_names():
    names = []

    def named(runner, name, *arguments, **options):
        runner.parse_args()
        names.append(name.strip())

    for method in WHOLE + OTHERS:
        if hasattr(pyperf.Runner, method):
            setattr(pyperf.Runner, method, named)
    output = os.dup(1)
    # What the script prints is not part of the list.
    os.dup2(2, 1)
    run(["--worker", "--loops=1", "--warmups=0"])
    sys.stdout.flush()
    with open(output, "w") as lines:
        for name in names:
            lines.write(json.dumps(name) + "\n")


def measure(number):
    loops = int(os.environ.get("PRONY_LOOPS", "0"))
    values = int(os.environ.get("PRONY_VALUES", "1"))
    warmups = int(os.environ.get("PRONY_WARMUPS", "1")) if loops else 0
    measured, tasks, depth = [], [], []

    def is_whole(method):
        def wrapped(*arguments, **options):
            depth.append(method)
            try:
                return method(*arguments, **options)
            finally:
                depth.pop()
        return wrapped

    for method in WHOLE:
        if hasattr(pyperf.Runner, method):
            setattr(pyperf.Runner, method, is_whole(getattr(pyperf.Runner, method)))

    begin = WorkerTask.__init__

    def made(self, runner, name, function, *arguments, **options):
        whole = bool(depth)

        def timed(worker, loops):
            wait, cpu = waited(), time.process_time()
            raw = function(worker, loops)
            cpu, after = time.process_time() - cpu, waited()
            wait = (after - wait) / 1e9 if wait is not None and after is not None else None
            measured.append((loops, float(raw), cpu if whole else None, wait if whole else None))
            return raw

        begin(self, runner, name, timed, *arguments, **options)
        tasks.append(self)

    WorkerTask.__init__ = made
    options = ["--worker", f"--worker-task={number}", f"--values={values}", "--warmups=" + str(warmups)]
    options.append(f"--loops={loops}" if loops else "--calibrate-loops")
    if "PRONY_MIN_TIME" in os.environ:
        options.append("--min-time=" + os.environ["PRONY_MIN_TIME"])
    run(options)
    if not tasks:
        sys.exit(f"{script}: expected a benchmark of number {number}, found none")
    # While it calibrates, pyperf doubles the loops; what had the last number of them counts.
    final = measured[-1][0]
    last = len(measured)
    first = last - values
    while measured[max(first, 0)][0] != final or first < 0:
        first += 1
    inner = tasks[0].inner_loops or 1
    unit = {"second": "s", "byte": "byte"}.get(tasks[0].metadata.get("unit", "second"), tasks[0].metadata.get("unit"))
    with open(int(os.environ["PRONY_FD"]), "w") as lines:
        for index, (loops, raw, cpu, wait) in enumerate(measured):
            value = {"wall": raw} if unit == "s" else {"value": raw}
            if unit == "s" and cpu is not None:
                value["cpu"] = cpu
                if wait is not None:
                    value["uncontended"] = max(min(cpu, raw), raw - wait)
            for metric, total in value.items():
                if total > 0:
                    line = {"metric": metric, "value": total / loops / inner, "unit": unit, "loops": loops}
                    lines.write(json.dumps({**line, "warmup": index < first}) + "\n")


if task == "list":
    list_names()
else:
    measure(int(task))
