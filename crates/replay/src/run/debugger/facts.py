# What is so at a stop: stacks with their values, and a hash of registers and memory.

import hashlib
import struct

# Frames of a stack, and elements of a value, at most.
MOST_FRAMES = 40
MOST_ELEMENTS = 32


def value_text(frame, symbol):
    try:
        return symbol.value(frame).format_string(max_elements=MOST_ELEMENTS, max_depth=3, repeat_threshold=16, symbols=False)
    except (gdb.error, RuntimeError, UnicodeError):
        return None


def variables(frame):
    """Arguments and local variables of a frame, as pairs of name and value."""
    arguments, locals_ = [], []
    try:
        block = frame.block()
    except RuntimeError:
        return arguments, locals_
    seen = set()
    while block is not None and not block.is_static and not block.is_global:
        for symbol in block:
            if symbol.name in seen or not (symbol.is_argument or symbol.is_variable):
                continue
            seen.add(symbol.name)
            text = value_text(frame, symbol)
            if text is not None and text != "<optimized out>":
                (arguments if symbol.is_argument else locals_).append((symbol.name, text))
        if block.function is not None:
            break
        block = block.superblock
    return arguments, locals_


def stack():
    frames = []
    for frame in itertools.islice(frames_of_server(), MOST_FRAMES):
        line = frame.find_sal()
        arguments, locals_ = variables(frame)
        object_file = gdb.solib_name(frame.pc()) or gdb.current_progspace().filename or ""
        frames.append({
            "function": frame.name(), "address": frame.pc(), "object": object_file,
            "file": line.symtab.filename if line.symtab else None, "line": line.line if line.symtab else None,
            "arguments": arguments, "locals": locals_,
        })
    return frames


class Facts(gdb.Command):
    """What is so at the place, and where a byte of its output was written, for the process outside."""

    def __init__(self, replays):
        super().__init__("prony facts", gdb.COMMAND_STATUS)
        self.replays = replays

    def invoke(self, argument, from_tty):
        replays = self.replays
        gdb.execute("set print null-stop on")
        facts = {"call": stack(), "write": None}
        with Silence():
            if argument == "output" and not replays.stop.diverged:
                # The byte is known where it is compared.
                replays.arrive(replays.stop)
            _, output = replays.passed()
            if output is not None:
                memory = Memory(output, 1)
                facts["write"] = dict(Search(replays, memory).run(), address=output)
                if facts["write"]["kind"] == "written":
                    facts["write"]["stack"] = stack()
        replays.tell(("facts", json.dumps(facts)))


if PROCESS:
    REPLAYS = Replays(stop_of(STOP.split()))
    Again(REPLAYS)
    LastWrite(REPLAYS)
    Facts(REPLAYS)
