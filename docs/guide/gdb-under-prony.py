"""gdb on a demo: `python run("run")` and `python run("continue")` instead of run and continue.

prony answers some instructions of the server by breakpoints of its own, whose SIGTRAP gdb cannot tell from a stray one.
"""

import gdb

gdb.execute("handle SIGINT SIGTERM SIGHUP SIGUSR1 SIGUSR2 SIGCHLD SIGSYS nostop noprint pass")


def run(command):
    gdb.execute(command)
    while gdb.selected_inferior().pid and "SIGTRAP" in gdb.execute("info program", to_string=True):
        gdb.execute("signal SIGTRAP")
