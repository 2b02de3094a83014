"""Shows a server that a replay has stopped: its own frames first, and none of prony's signals.

Defined above this text is THREAD, the kernel's number of the thread. Where gdb is to attach itself, PROCESS is that of its process, STOP
the place in words, and REQUESTS a socket that takes places to replay to; else PROCESS is None.
"""

import collections
import itertools
import os
import re

import gdb

# Instructions and system calls of the server that prony answers.
gdb.execute("handle SIGILL SIGSYS nostop noprint pass", to_string=True)


Range = collections.namedtuple("Range", "start end offset inode")


def mapped(name):
    """Address ranges of a file in memory (proc(5), maps)."""
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as lines:
        for line in lines:
            if name in line:
                addresses, _, offset, _, inode = line.split()[:5]
                start, end = (int(address, 16) for address in addresses.split("-"))
                yield Range(start, end, int(offset, 16), int(inode))


# Where the library lies, and of which of its places gdb has the symbols.
LIBRARY = []
KNOWN = set()


def is_library(frame):
    return any(part.start <= frame.pc() < part.end for part in LIBRARY)


def is_libc(frame):
    return re.search(r"/lib(c|pthread)[.-]", gdb.solib_name(frame.pc()) or "") is not None


def past_library(frames, frame_of):
    """The frames from the first one of the server on, where the newest are those of a call that prony answers."""
    frames = iter(frames)
    newest = list(itertools.islice(frames, 40))
    inside = [is_library(frame_of(frame)) for frame in newest]
    # The library waits in a call of libc. It is also where threads start, far from the newest frames.
    first = next((at for at, is_in in enumerate(inside) if is_in or not is_libc(frame_of(newest[at]))), None)
    if first is not None and not inside[first]:
        first = None
    if first is not None:
        last = next((at for at in range(first, len(newest)) if not inside[at]), len(newest))
        while last < len(newest) and frame_of(newest[last]).type() == gdb.SIGTRAMP_FRAME:
            last += 1
        newest = newest[last:]
    return itertools.chain(newest, frames)


class WithoutLibrary:
    """Leaves the library's frames out of a backtrace; `backtrace -no-filters` shows them."""

    def __init__(self):
        self.name, self.priority, self.enabled = "prony", 100, True
        gdb.current_progspace().frame_filters[self.name] = self

    def filter(self, frames):
        return past_library(frames, lambda decorated: decorated.inferior_frame())


def older(frame):
    while frame is not None:
        yield frame
        frame = frame.older()


def attach(process):
    # The stop that gdb would report is inside the library.
    gdb.execute("set suppress-cli-notifications on")
    gdb.execute("attach %d" % process, to_string=True)
    gdb.execute("set suppress-cli-notifications off")


def know_library():
    """Finds the library in the process, and gives gdb its symbols."""
    LIBRARY[:] = mapped("memfd:prony-preload")
    # Only a descriptor of the server names the file: LIBRARY_FD, or LIBRARY_I386_FD.
    for fd in (1001, 1006):
        path = "/proc/%d/fd/%d" % (gdb.selected_inferior().pid, fd)
        if LIBRARY and os.path.exists(path) and os.stat(path).st_ino == LIBRARY[0].inode:
            start = LIBRARY[0].start - LIBRARY[0].offset
            if start not in KNOWN:
                gdb.execute("add-symbol-file %s -o %#x" % (path, start), to_string=True)
                KNOWN.add(start)
    WithoutLibrary()


def switch_to(waiting):
    for thread in gdb.selected_inferior().threads():
        if waiting in thread.ptid[1:]:
            thread.switch()


def frames_of_server():
    """The frames of the selected thread, from the newest one of the server on."""
    return past_library(older(gdb.newest_frame()), lambda frame: frame)


def select_server():
    """Selects the newest frame of the server, and prints it."""
    frame = next(frames_of_server(), None)
    if frame is not None:
        frame.select()
        gdb.execute("frame")


def show(waiting):
    """Selects the frame of the server in the thread that waits."""
    know_library()
    switch_to(waiting)
    select_server()


if PROCESS:
    attach(PROCESS)
show(THREAD)
