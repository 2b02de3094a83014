"""Shows a server that a replay has stopped: its own frames first, and none of prony's signals.

Defined above this text are THREAD, the kernel's number of the thread, and PROCESS, that of the process to attach to or None.
"""

import collections
import itertools
import os

import gdb

if PROCESS:
    # The stop that gdb would report is inside the library.
    gdb.execute("set suppress-cli-notifications on")
    gdb.execute("attach %d" % PROCESS, to_string=True)
    gdb.execute("set suppress-cli-notifications off")

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


LIBRARY = list(mapped("memfd:prony-preload"))


def is_library(frame):
    return any(part.start <= frame.pc() < part.end for part in LIBRARY)


def past_library(frames, frame_of):
    """The frames from the first one of the server on, where the newest are those of a call that prony answers."""
    frames = iter(frames)
    newest = list(itertools.islice(frames, 40))
    inside = [is_library(frame_of(frame)) for frame in newest]
    # The library waits in a call of libc.
    first = next((at for at, is_in in enumerate(inside[:4]) if is_in), None)
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


# Only a descriptor of the server names the file: LIBRARY_FD, or LIBRARY_I386_FD.
for fd in (1001, 1006):
    path = "/proc/%d/fd/%d" % (gdb.selected_inferior().pid, fd)
    if LIBRARY and os.path.exists(path) and os.stat(path).st_ino == LIBRARY[0].inode:
        gdb.execute("add-symbol-file %s -o %#x" % (path, LIBRARY[0].start - LIBRARY[0].offset), to_string=True)

WithoutLibrary()
for thread in gdb.selected_inferior().threads():
    if THREAD in thread.ptid[1:]:
        thread.switch()
frame = next(past_library(older(gdb.newest_frame()), lambda frame: frame), None)
if frame is not None:
    frame.select()
    gdb.execute("frame")
