"""Whether a server does under its recorder what it does by itself: its start, its answers, its output, its end.

Native runs are compared first. What they differ in (dates, numbers, ports) is left out; a line that all of them have must be
there when the server is recorded. Two runs may agree by chance, so a difference is one only if it stands against further
native runs. A server of which nothing is left is said not to have been compared.
"""

import collections
import re
import signal
import socket

# A recorder may take so long to start a server, beyond what that takes by itself.
LATER_S = 3.0
# Bytes of each connection that are kept, and connections: what comes later depends on how fast the server is.
KEPT_BYTES, KEPT_CONNECTIONS = 1000, 40
# Lines of a recorder, which are not the server's.
RECORDERS = re.compile(r"^(prony: |warning: |hint: |error: )")


class Answers:
    """What clients in this process receive, until `stop`."""

    def __init__(self):
        self.kept = {}
        self.plain = socket.socket.recv, socket.socket.recvfrom

    def start(self):
        recv, recvfrom = self.plain

        def keep(connection, piece):
            key = id(connection)
            if key in self.kept or len(self.kept) < KEPT_CONNECTIONS:
                known = self.kept.setdefault(key, bytearray())
                known += piece[: KEPT_BYTES - len(known)]

        def tapped_recv(connection, *arguments):
            piece = recv(connection, *arguments)
            keep(connection, piece)
            return piece

        def tapped_recvfrom(connection, *arguments):
            piece, sender = recvfrom(connection, *arguments)
            keep(connection, piece)
            return piece, sender

        socket.socket.recv, socket.socket.recvfrom = tapped_recv, tapped_recvfrom
        return self

    def stop(self):
        """Lines of each connection."""
        del socket.socket.recv, socket.socket.recvfrom
        return [text_lines(bytes(kept)) for kept in self.kept.values()]


def text_lines(content):
    """Lines of text; the last one may have been cut, and what is no text has none."""
    text = content.decode("latin-1")
    if not all(letter.isprintable() or letter.isspace() for letter in text):
        return []
    return [line for line in text.splitlines()[:-1] if line.strip()]


def often(connections):
    """Lines that four of five connections have: others depend on chance."""
    connections = [set(lines) for lines in connections if lines]
    count = collections.Counter(line for lines in connections for line in lines)
    return [line for line, times in count.items() if 5 * times >= 4 * len(connections)]


def own_lines(text):
    """What a server printed, without what its recorder did."""
    return [line for line in text.splitlines() if line.strip() and not RECORDERS.match(line)]


def compared(what, natives, recorded):
    """What recorded lines lack of those that all native runs have; None where those have nothing in common."""
    common = set.intersection(*[set(lines) for lines in natives])
    if not common:
        return None
    missing = [line for line in dict.fromkeys(natives[0]) if line in common and line not in set(recorded)]
    return [f"{what} lack `{line[:80]}`" for line in missing[:2]]


def judge(natives, recorded):
    """What the recorded run differs in from the native ones: `None` when nothing could be compared, a list otherwise."""
    differences, is_compared = [], False
    for what in ["answers", "output"]:
        found = compared(what, [one[what] for one in natives], recorded[what])
        is_compared |= found is not None
        differences += found or []
    starts = [one["ready_s"] for one in natives]
    if None not in starts:
        is_compared = True
        if recorded["ready_s"] is None or recorded["ready_s"] > max(starts) + LATER_S:
            differences.append(f"first answer after {recorded['ready_s']} s, natively {max(starts)} s")
    ends = {one["exit"] for one in natives}
    # What does not end by itself, a recorder ends by force.
    allowed = ends | ({-signal.SIGKILL} if None in ends else set())
    if len(ends) == 1 and recorded["exit"] not in allowed:
        differences.append(f"exit {recorded['exit']}, natively {natives[0]['exit']}")
    return differences if is_compared else None
