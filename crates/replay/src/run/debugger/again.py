# Replays that prony starts for gdb, one after another.

import json
import re
import socket

Stop = collections.namedtuple("Stop", "pid tid frame process record arrival diverged block_below block_bytes")
# Bytes that an instruction wrote: the last of `hits` changes from the stop on that the replay begins with.
Written = collections.namedtuple("Written", "address size hits")
# Where gdb stands: a place in the words of a request, the record there, and a change behind it.
Position = collections.namedtuple("Position", "words process record written")

# Hits of a breakpoint that gdb counts and does not stop at.
ALL_HITS = 2**31 - 1


def stop_of(words):
    return Stop(*map(int, words))


def was_interrupted(event):
    return isinstance(event, gdb.SignalEvent) and event.stop_signal == "SIGINT"


class Replays:
    """The replay that gdb is attached to, and those that it requests after it."""

    def __init__(self, stop):
        self.requests = socket.socket(fileno=REQUESTS)
        self.answers = self.requests.makefile()
        # Frame of the last place that was requested.
        self.frame = stop.frame
        self.interrupted = False
        self.stand_at(stop)
        gdb.events.stop.connect(self.see)

    def see(self, event):
        self.interrupted = self.interrupted or was_interrupted(event)

    def stand_at(self, stop):
        self.stop = stop
        if stop.diverged:
            self.position = Position(("divergence",), stop.process, stop.record, None)
        else:
            self.position = Position(("record", stop.process, stop.record), stop.process, stop.record, None)

    def tell(self, words):
        self.requests.sendall((" ".join(map(str, words)) + "\n").encode())

    def ask(self, words):
        self.tell(words)
        return self.answers.readline().rstrip("\n")

    def start(self, words):
        """Has another replay begin, and attaches to it where it stops."""
        if gdb.selected_inferior().pid:
            gdb.execute("set confirm off")
            gdb.execute("kill", to_string=True)
            gdb.execute("set confirm on")
        answer = self.ask(words)
        if not answer.startswith("stopped "):
            raise gdb.GdbError(answer or "the replay has ended")
        stop = stop_of(answer.split()[1:])
        attach(stop.pid)
        return stop

    def passed(self):
        """Number of the record that the selected thread has passed last, and the address of a byte of output."""
        _, record, output = self.ask(("where", gdb.selected_thread().ptid[1])).split()
        return [None if word == "-" else int(word) for word in (record, output)]

    def go_on(self, is_there):
        """Lets the server run until something is so."""
        self.interrupted = False
        while not is_there():
            gdb.execute("continue", to_string=True)
            if self.interrupted:
                raise gdb.GdbError("interrupted on the way to the place")
            if not gdb.selected_inferior().pid:
                raise gdb.GdbError("the replay ended on the way to the place")

    def arrive(self, stop):
        """Lets the server run up to the next place."""
        mark = gdb.Breakpoint("*%#x" % stop.arrival, internal=True)
        mark.silent = True
        try:
            self.go_on(lambda: mark.hit_count > 0)
        finally:
            mark.delete()


class Silence:
    """Turns off the breakpoints and watchpoints of the user for a while."""

    def __enter__(self):
        self.off = [one for one in gdb.breakpoints() if one.enabled]
        for one in self.off:
            one.enabled = False

    def __exit__(self, *_):
        for one in self.off:
            if one.is_valid():
                one.enabled = True


class Again(gdb.Command):
    """Replay again, up to another place of the demo; breakpoints stay.

prony frame N               to the first call of frame N
prony record N [PROCESS]    to the call of record N
prony divergence            to the divergence
prony back [N]              to the frame before the last place, or N before it
prony last-write EXPRESSION
                            to the last change of a variable or of memory
prony hash                  hash of registers and memory, without a replay"""

    def __init__(self, replays):
        super().__init__("prony", gdb.COMMAND_RUNNING, prefix=True)
        self.replays = replays

    def invoke(self, argument, from_tty):
        kind, *numbers = gdb.string_to_argv(argument) or ["nowhere"]
        if kind == "back":
            kind, numbers = "frame", [str(max(0, self.replays.frame - int(numbers[0] if numbers else 1)))]
        if kind == "record":
            numbers = [numbers[1] if len(numbers) > 1 else "0", *numbers[:1]]
        stop = self.replays.start([kind, *numbers])
        self.replays.frame = stop.frame
        self.replays.stand_at(stop)
        show(stop.tid)
