"""CPU time, context switches, system calls, samples and instructions of a server and of its recorder."""

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# Futex operations of the library in the server, which are the only ones that are not private to a process.
FUTEX_WAIT, FUTEX_WAKE = 0, 1
EVENTS = {
    "syscalls": ["raw_syscalls:sys_enter"],
    "waits": ["syscalls:sys_enter_futex", "--filter", f"op == {FUTEX_WAIT}"],
    "wakes": ["syscalls:sys_enter_futex", "--filter", f"op == {FUTEX_WAKE}"],
}
LIBRARY = "prony-preload"
# What Callgrind calls objects without a name in the file system: the library's file, and code that it writes.
NO_FILE = "???"


def timed(running, load):
    before, start = snapshot(running), time.monotonic()
    load()
    wall_s, after = time.monotonic() - start, snapshot(running)
    return {"wall_s": wall_s, **{key: after[key] - before[key] for key in after}}


def snapshot(running):
    server = [usage(pid) for pid in running.processes()]
    recorder = usage(running.recorder)["threads_s"] if running.recorder else 0.0
    return {
        # Of children that have ended, such as PostgreSQL's of a session, the kernel keeps the time in ticks.
        "server_s": sum(one["threads_s"] + one["ended_s"] for one in server),
        "recorder_s": recorder,
        "voluntary": sum(one["voluntary"] for one in server),
        "involuntary": sum(one["involuntary"] for one in server),
    }


def usage(pid):
    total = {"threads_s": 0.0, "ended_s": 0.0, "voluntary": 0, "involuntary": 0}
    # A process or a thread may end meanwhile.
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        total["ended_s"] = (int(fields[13]) + int(fields[14])) / TICKS
        for task in Path(f"/proc/{pid}/task").iterdir():
            total["threads_s"] += int((task / "schedstat").read_text().split()[0]) / 1e9
            for line in (task / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    total["voluntary"] += int(line.split()[1])
                elif line.startswith("nonvoluntary_ctxt_switches"):
                    total["involuntary"] += int(line.split()[1])
    return total


@contextlib.contextmanager
def perf(*words, running):
    """`perf` on the processes of a server and those that they start, while the context lasts."""
    process = perf_started(words, running)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    if process.returncode not in (0, -signal.SIGINT):
        raise RuntimeError(f"perf ended with {process.returncode}: {said[-500:]}")


def perf_started(words, running):
    """It refuses a list in which one process has just ended, as some of PostgreSQL's do."""
    for _ in range(10):
        pids = ",".join(map(str, running.processes()))
        words_now = ["perf", words[0], "-p", pids, *words[1:]]
        process = subprocess.Popen(words_now, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # It does not say when it has begun.
        time.sleep(0.5)
        if process.poll() is None:
            return process
        said = process.communicate()[1]
    raise RuntimeError(f"perf does not start: {said[-500:]}")


def counted(running, load):
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "counts"
        events = [word for event in EVENTS.values() for word in ["-e", *event]]
        with perf("stat", "-x,", "-o", str(out), *events, running=running):
            load()
        lines = [line for line in out.read_text().splitlines() if line and not line.startswith("#")]
    return {key: int(line.split(",")[0]) for key, line in zip(EVENTS, lines, strict=True)}


def sampled(running, load):
    """Samples in the recorder's library, below a `futex` that it calls, and elsewhere."""
    found = {"library": 0, "handover": 0, "rest": 0}
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "perf.data"
        words = ["record", "-q", "-e", "cpu-clock", "-F", "3000", "-g", "-o", str(data)]
        with perf(*words, running=running):
            load()
        script = subprocess.run(
            ["perf", "script", "-i", data, "-F", "ip,sym,dso"], capture_output=True, text=True, check=True
        ).stdout
    for stack in script.split("\n\n"):
        frames = stack.strip().splitlines()
        if frames:
            found[kind(frames)] += 1
    return found


def kind(frames):
    if LIBRARY in frames[0]:
        return "library"
    # The library calls the kernel through `syscall` of libc, which keeps no frame pointer: its caller may be missing.
    in_futex = next((place for place, frame in enumerate(frames) if "do_futex" in frame), None)
    if in_futex is not None and "pthread" not in "".join(frames[in_futex:]):
        return "handover"
    return "rest"


def records(prony, demo):
    info = subprocess.run([prony, "demo", "info", "--json", demo], capture_output=True, text=True, check=True)
    return json.loads(info.stdout)["records"]


def by_object(files):
    """Instructions by object, of files that Callgrind has written."""
    total = collections.Counter()
    for file in files:
        names, owner, of_callee = {}, None, False
        for line in file.read_text().splitlines():
            if found := re.match(r"c?ob=\((\d+)\)(?: (.*))?$", line):
                number, name = found.groups()
                if name:
                    names[number] = name
                if line.startswith("ob="):
                    owner = names[number]
            elif line.startswith("calls="):
                # The next line has what was called.
                of_callee = True
            elif found := re.match(r"[-+*]?\d* (\d+)$", line):
                if not of_callee:
                    total[owner] += int(found[1])
                of_callee = False
    return total
