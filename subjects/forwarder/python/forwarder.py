"""Forwards frames between two ports, both ways: forwarder.py ADDRESS ADDRESS.

README.md one directory up describes the options, which are the same in every language. Python has no prefetch, so that
FORWARDER_PREFETCH does nothing; its pool is a stack.
"""

import os
import sys
from pathlib import Path

import helpers
from ixgbe import Device
from memory import BUFFER_BYTES, Pool


def number(name, otherwise, low, high):
    text = os.environ.get(name) or str(otherwise)
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        sys.exit(f"forwarder: {name}: expected {low} to {high}, found {text}")
    return int(text)


def forward(source, sink, pool, batch, touch):
    packets = source.rx_batch(batch)
    if not packets:
        # Buffers that were sent are all that an empty pool can get.
        if not pool.free:
            sink.clean_up()
        return
    if touch is not None:
        memory = pool.memory
        for buffer, _ in packets:
            place = buffer * BUFFER_BYTES + touch
            memory[place] = (memory[place] + 1) & 0xFF
    # What finds no room is dropped, as waiting would only delay what comes next.
    sent = sink.tx_batch(packets)
    pool.free.extend(buffer for buffer, _ in packets[sent:])


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: forwarder.py ADDRESS ADDRESS")
    if os.environ.get("FORWARDER_POOL", "stack") != "stack":
        sys.exit("forwarder: FORWARDER_POOL: expected stack")
    batch = number("FORWARDER_BATCH", 32, 1, 512)
    clean = number("FORWARDER_CLEAN", 32, 1, 256)
    touch = None if os.environ.get("FORWARDER_TOUCH") == "none" else number("FORWARDER_TOUCH", 1, 0, 59)
    # Beside this file in the variant `helpers`.
    library = Path(__file__).with_name("libhelpers.so")
    device = helpers.load(library) if library.exists() else Device
    pool = Pool(number("FORWARDER_BUFFERS", 8192, 2112, 65536))
    first, second = (device(address, pool, clean) for address in sys.argv[1:])
    while True:
        forward(first, second, pool, batch, touch)
        forward(second, first, pool, batch, touch)


if __name__ == "__main__":
    main()
