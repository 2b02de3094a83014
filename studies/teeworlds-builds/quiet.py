#!/usr/bin/env python3
"""The effects of study.toml once more, from the frames that ran undisturbed.

    studies/teeworlds-builds/quiet.py DIR

DIR: where `prony study run` kept the cells. Frame i does the same work in every replay of a demo by any build, and other
programs make some frames slower and leave the next alone. So each frame counts with its tenth percentile over the replays
of a configuration, and their sum stands for the configuration. Effects are speed-ups in per cent, the interval is
Student's over workloads, as `prony study effects` has it.
"""

import collections
import json
import math
import pathlib
import statistics
import sys

QUIET = 0.1
# Student's t at 95 %, by degrees of freedom.
T = {2: 4.303, 5: 2.571}


def replays(directory):
    """Frame times of each replay, by workload, build and allocator."""
    found = collections.defaultdict(list)
    for path in sorted((pathlib.Path(directory) / "cells").glob("*.json")):
        benchmark = json.loads(path.read_text())["benchmarks"][0]
        for run in benchmark["runs"]:
            if "warmups" not in run:
                levels = benchmark["prony"]["parameters"]
                key = levels["workload"], levels["build"], levels["allocator"]
                found[key].append(run["prony"]["frame_ns"])
    return found


def quiet_sum(runs):
    at = int(QUIET * (len(runs) - 1))
    return sum(sorted(frame)[at] for frame in zip(*runs, strict=True))


def line(name, effects):
    mean = statistics.mean(effects)
    half = T[len(effects) - 1] * statistics.stdev(effects) / math.sqrt(len(effects))
    low, usual, high = (100 * math.expm1(value) for value in (mean - half, mean, mean + half))
    each = " ".join(f"{100 * math.expm1(effect):+.1f}" for effect in effects)
    print(f"{name:32} {usual:+5.1f} %  [{low:+.1f}, {high:+.1f}]  each: {each}")


def main(directory):
    sums = {key: quiet_sum(runs) for key, runs in replays(directory).items()}
    workloads, builds, allocators = (sorted({key[at] for key in sums}) for at in range(3))
    ln = {key: math.log(value) for key, value in sums.items()}
    print("workloads:", "; ".join(workloads))
    steps = ["Debian", "-O2", "-O3 native", "-O3 native LTO"]
    for one, other in [*zip(steps, steps[1:]), (steps[0], steps[-1])]:
        effects = [statistics.mean(ln[w, one, a] - ln[w, other, a] for a in allocators) for w in workloads]
        line(f"{one} → {other}", effects)
    for players in ("4 players", "16 players"):
        of_these = [w for w in workloads if w.endswith(f" {players}")]
        for other in ("jemalloc", "mimalloc"):
            effects = [statistics.mean(ln[w, b, "glibc"] - ln[w, b, other] for b in builds) for w in of_these]
            line(f"glibc → {other}, {players}", effects)


if __name__ == "__main__":
    main(sys.argv[1])
