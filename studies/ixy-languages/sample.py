"""Samples the program that it runs by a timer of its CPU time, as perf does not see the functions of this Python:

    SAMPLE_FILE=out.folded SAMPLE_SECONDS=2 SAMPLE_DELAY=1 python3 sample.py forwarder.py ADDRESS ADDRESS
"""

import collections
import os
import runpy
import signal
import sys
from pathlib import Path

INTERVAL_S = 0.002

stacks = collections.Counter()
samples_left = round(float(os.environ["SAMPLE_SECONDS"]) / INTERVAL_S)


def sample(_, frame):
    """Is called between two instructions of the interpreter, in which the function that ran is still the uppermost one."""
    global samples_left
    names = []
    while frame is not None and frame.f_code.co_filename != __file__:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    stacks[";".join(["forwarder", *reversed([name for name in names if not name.startswith("_run")])])] += 1
    samples_left -= 1
    if samples_left <= 0:
        signal.setitimer(signal.ITIMER_PROF, 0)
        Path(os.environ["SAMPLE_FILE"]).write_text("".join(f"{stack} {count}\n" for stack, count in stacks.items()))


program = sys.argv[1]
sys.argv = sys.argv[1:]
sys.path.insert(0, str(Path(program).parent))
signal.signal(signal.SIGPROF, sample)
signal.setitimer(signal.ITIMER_PROF, float(os.environ["SAMPLE_DELAY"]), INTERVAL_S)
runpy.run_path(program, run_name="__main__")
