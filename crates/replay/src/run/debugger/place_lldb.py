"""Shows a server that a replay has stopped, in lldb: its own frames first, and none of prony's signals.

Defined above this text is THREAD, the kernel's number of the thread.
"""

import os

import lldb


def library_of(process):
    """Address ranges of the library in memory, and its first address and inode (proc(5), maps)."""
    parts = []
    with open("/proc/%d/maps" % process) as lines:
        for line in lines:
            if "memfd:prony-preload" in line:
                addresses, _, offset, _, inode = line.split()[:5]
                start, end = (int(address, 16) for address in addresses.split("-"))
                parts.append((range(start, end), start - int(offset, 16), int(inode)))
    return [part for part, _, _ in parts], parts[0][1:] if parts else (0, 0)


def know_library(target, process, base, inode):
    """Gives lldb the library, without which it knows no frame behind those of the library."""
    # Only a descriptor of the server names the file: LIBRARY_FD, or LIBRARY_I386_FD.
    for fd in (1001, 1006):
        path = "/proc/%d/fd/%d" % (process, fd)
        if base and os.path.exists(path) and os.stat(path).st_ino == inode:
            module = target.AddModule(path, None, None)
            if module.IsValid():
                target.SetModuleLoadAddress(module, base)
                return


def first_of_server(thread, library):
    """Index of the newest frame of the server, where the newest ones are those of a call that prony answers."""
    counters = [thread.GetFrameAtIndex(index).GetPC() for index in range(min(thread.GetNumFrames(), 40))]
    inside = [any(counter in part for part in library) for counter in counters]
    # The library waits in a call of libc.
    first = next((at for at, is_in in enumerate(inside[:4]) if is_in), None)
    if first is None:
        return 0
    return next((at for at in range(first, len(inside)) if not inside[at]), first)


def show(waiting):
    # Instructions and system calls of the server that prony answers.
    for signal in ("SIGILL", "SIGSYS"):
        command, said = "process handle --pass true --stop false --notify false " + signal, lldb.SBCommandReturnObject()
        lldb.debugger.GetCommandInterpreter().HandleCommand(command, said)
    target = lldb.debugger.GetSelectedTarget()
    process = target.GetProcess()
    library, (base, inode) = library_of(process.GetProcessID())
    know_library(target, process.GetProcessID(), base, inode)
    thread = process.GetThreadByID(waiting)
    process.SetSelectedThread(thread)
    # Selects and prints it.
    lldb.debugger.HandleCommand("frame select %d" % first_of_server(thread, library))


show(THREAD)
