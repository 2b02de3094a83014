"""The price of a handover: a thread wakes another one that sleeps, and sleeps itself."""

import statistics
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "handover.c"
RUNS = 5


def prices_us():
    """CPU time of both threads for one handover, in microseconds: both on one CPU, and each on its own; medians."""
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "handover"
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, SOURCE], check=True)
        runs = [subprocess.run([program], capture_output=True, text=True, check=True).stdout.split() for _ in range(RUNS)]
    return [statistics.median(map(float, values)) for values in zip(*runs)]
