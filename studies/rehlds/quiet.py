#!/usr/bin/env python3
"""The results of study.toml, from the frames that ran undisturbed, beside the numbers of the article.

    studies/rehlds/quiet.py DIR

DIR: where `prony study run` kept the cells. A frame does the same work in every replay of a demo by any build with equal bits, and
other programs make some frames slower and leave the next alone. So each frame counts with the least time it took in the replays of a
configuration, and their sum stands for the configuration. Impacts are speed-ups in per cent: the median and the range over demos and
over the levels of the other factors, and for each the interval of the mean over the maps (Student).
"""

import collections
import json
import math
import pathlib
import statistics
import sys

# Student's t at 95 %, by degrees of freedom.
T = {1: 12.706, 2: 4.303, 5: 2.571, 8: 2.306}
# What the article reports, in per cent.
ARTICLE = {"stock → pedantic": "65–112", "pedantic → optimised": "9–14", "game DLL": "4–12", "plugin layer": "21–31"}
SIX = [
    ("stock", "plain", "Metamod-P", "stock-plain"),
    ("stock", "plain", "Metamod-R", "stock-plain"),
    ("pedantic", "plain", "Metamod-P", "stock-plain"),
    ("pedantic", "plain", "Metamod-R", "stock-plain"),
    ("optimised-sse", "plain", "Metamod-R", "optimised-sse-plain"),
    ("optimised-sse", "optimised", "Metamod-R", "optimised-sse-optimised"),
]


def replays(directory):
    """Of each configuration on each demo, the CPU times of the frames of its replays. In long demos each is the mean of some."""
    found = collections.defaultdict(list)
    for path in sorted((pathlib.Path(directory) / "cells").glob("*.json")):
        benchmark = json.loads(path.read_text())["benchmarks"][0]
        levels = benchmark["prony"]["parameters"]
        map_name, recorded = levels["workload"].split(" on ")
        key = levels["engine"], levels["dll"], levels["plugins"], recorded, map_name
        for run in benchmark["runs"]:
            if "warmups" not in run:
                found[key].append(run["prony"]["frame_ns"])
    # The least of more replays is less: so as many of each configuration as of the one on that demo with the fewest.
    fewest = {demo: min(len(runs) for key, runs in found.items() if key[3:] == demo) for demo in {key[3:] for key in found}}
    return {key: runs[: fewest[key[3:]]] for key, runs in found.items()}


def quiet_seconds(runs):
    """CPU seconds of 120,000 undisturbed frames."""
    least = [min(frame) for frame in zip(*runs, strict=True)]
    return sum(least) / len(least) * 120_000 / 1e9


def percent(ratio):
    return 100 * (ratio - 1)


def impact(name, article, pairs, seconds):
    """A line: what going from the first to the second configuration of each pair gives."""
    by_map, each = collections.defaultdict(list), []
    for one, other in pairs:
        if one in seconds and other in seconds:
            ratio = seconds[one] / seconds[other]
            each.append(percent(ratio))
            by_map[one[4]].append(math.log(ratio))
    if not each:
        return
    text = f"{name:44} {statistics.median(each):+6.1f} %  range {min(each):+.1f} … {max(each):+.1f}"
    maps = [statistics.mean(logs) for logs in by_map.values()]
    if len(maps) > 1:
        mean, half = statistics.mean(maps), T[len(maps) - 1] * statistics.stdev(maps) / math.sqrt(len(maps))
        text += f"  mean [{percent(math.exp(mean - half)):+.1f}, {percent(math.exp(mean + half)):+.1f}]"
    print(f"{text}  n = {len(each)}  article: {article}")


def main(directory):
    found = replays(directory)
    seconds = {key: quiet_seconds(runs) for key, runs in found.items()}
    maps = sorted({key[4] for key in seconds}, key=["hall", "rooms", "maze"].index)
    print("replays:", sum(map(len, found.values())), "of", len(found), "configurations on demos")
    print("\nthe article's six configurations: seconds for 120,000 frames, and frames per second")
    for *levels, recorded in SIX:
        row = [seconds.get((*levels, recorded, m)) for m in maps]
        text = "  ".join(f"{m} {s:6.2f} s {120_000 / s:8,.0f}/s" if s else f"{m} –" for m, s in zip(maps, row))
        print(f"  {levels[0]:14} {levels[1]:10} {levels[2]:10} {text}")
    print("\nall configurations: seconds for 120,000 frames")
    for key in sorted(seconds):
        print("  " + "  ".join(key[:4]) + f"  {key[4]}: {seconds[key]:.3f}  ({len(found[key])} replays)")

    def change(at, one, other):
        keys = [key for key in seconds if key[at] == one]
        return [(key, (*key[:at], other, *key[at + 1 :])) for key in keys]

    print("\nimpact of each component, on the same demos")
    impact("engine: stock → pedantic", ARTICLE["stock → pedantic"] + " %", change(0, "stock", "pedantic"), seconds)
    impact("engine: pedantic → optimised, equal bits", ARTICLE["pedantic → optimised"] + " %", change(0, "pedantic", "optimised"), seconds)
    impact("game DLL: plain → optimised", ARTICLE["game DLL"] + " %", change(1, "plain", "optimised"), seconds)
    impact("plugin layer: Metamod-P → Metamod-R", ARTICLE["plugin layer"] + " %", change(2, "Metamod-P", "Metamod-R"), seconds)
    impact("plugin layer: Metamod-P → none", "–", change(2, "Metamod-P", "none"), seconds)
    impact("plugin layer: Metamod-R → none", "–", change(2, "Metamod-R", "none"), seconds)
    whole = [(("stock", "plain", "Metamod-P", "stock-plain", m), ("optimised", "optimised", "Metamod-R", "stock-plain", m)) for m in maps]
    impact("all of it", "+150 … +220 %", whole, seconds)
    print("\nas the article compares, between demos of different games")
    for name, article, one, other in (
        ("engine: pedantic → optimised with SSE", ARTICLE["pedantic → optimised"] + " %", SIX[3], SIX[4]),
        ("game DLL: plain → optimised", ARTICLE["game DLL"] + " %", SIX[4], SIX[5]),
        ("all of it", "+150 … +220 %", SIX[0], SIX[5]),
    ):
        impact(name, article, [((*one, m), (*other, m)) for m in maps], seconds)
    print("\ninteractions: the impact of the engine (stock → optimised, equal bits) with each plugin layer and game DLL")
    for plugins in ("Metamod-P", "Metamod-R", "none"):
        for dll in ("plain", "optimised"):
            pairs = [(key, ("optimised", *key[1:])) for key in seconds if key[0] == "stock" and key[1:3] == (dll, plugins)]
            impact(f"{plugins}, {dll} DLL", "–", pairs, seconds)


if __name__ == "__main__":
    main(sys.argv[1])
