# The last change of memory before a place, found by a watchpoint that counts in one replay and stops in another.

# Records before the place from which the search starts: near ones first, as most memory was written shortly before.
SPANS = (64, 2**12, 2**16, 2**20, None)
# A variable or a part of it; anything else that has no address is one.
VARIABLE = re.compile(r"[A-Za-z_][\w.\[\]]*")
# Bytes that the debug registers of a processor watch at most: four of eight bytes.
MOST_BYTES = 32


def read_bytes(address, size):
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except gdb.MemoryError:
        return None


class Memory:
    """Bytes of the server, and how gdb prints them."""

    def __init__(self, address, size, value_type=None):
        self.address, self.size, self.type = address, size, value_type

    @staticmethod
    def of(expression, size):
        value = gdb.parse_and_eval(expression)
        kind = value.type.strip_typedefs()
        if value.address is not None:
            return Memory(int(value.address), size or value.type.sizeof, None if size else value.type)
        if VARIABLE.fullmatch(expression):
            raise gdb.GdbError("`%s` is not in memory here: it is in a register, or optimized out" % expression)
        if kind.code == gdb.TYPE_CODE_PTR:
            target = kind.target()
            known = not size and target.sizeof > 0 and target.strip_typedefs().code != gdb.TYPE_CODE_FUNC
            return Memory(int(value), size or max(target.sizeof, 1), target if known else None)
        if kind.code == gdb.TYPE_CODE_INT:
            return Memory(int(value), size or 1)
        raise gdb.GdbError("`%s` is not in memory: expected a variable or an address" % expression)

    def watch(self):
        """A watchpoint that stops at no change."""
        text = "*(unsigned char (*)[%d]) %#x" % (self.size, self.address)
        try:
            point = gdb.Breakpoint(text, type=gdb.BP_WATCHPOINT, wp_class=gdb.WP_WRITE, internal=True)
        except gdb.error as error:
            raise gdb.GdbError("cannot watch %d bytes at %#x: %s" % (self.size, self.address, error))
        if point.type != gdb.BP_HARDWARE_WATCHPOINT:
            point.delete()
            raise gdb.GdbError(
                "cannot watch %d bytes at %#x: the processor watches %d at most, with those that are watched already"
                % (self.size, self.address, MOST_BYTES)
            )
        point.silent = True
        point.ignore_count = ALL_HITS
        return point

    def read(self):
        return read_bytes(self.address, self.size)

    def text_of(self, content):
        """The bytes as a value."""
        if content is None:
            return "not mapped"
        if self.type is not None:
            try:
                return gdb.Value(content, self.type).format_string(max_elements=64)
            except gdb.error:
                pass
        return " ".join("%02x" % byte for byte in content)


# Changes of memory from a stop up to a position: how many, and the bytes at both ends.
Counted = collections.namedtuple("Counted", "stop hits before after")


class Search:
    """Search for the last change of memory before a position."""

    def __init__(self, replays, memory):
        self.replays, self.memory, self.position = replays, memory, replays.position

    def begin(self, first):
        position = self.position
        # A place that no record is known of lies anywhere.
        last = position.record if position.record else 2**63
        return self.replays.start(("from", position.process, first, last, *position.words))

    def count(self, first):
        """Changes from the first call behind this record up to the position."""
        position, written = self.position, self.position.written
        stop = self.begin(first)
        before = self.memory.read()
        point = self.memory.watch()
        if position.words[0] == "divergence" or stop.record < position.record:
            self.replays.arrive(stop)
        if written:
            other = Memory(written.address, written.size).watch()
            other.ignore_count = written.hits - 1
            self.replays.go_on(lambda: other.hit_count >= written.hits)
            other.delete()
        hits, after = point.hit_count, self.memory.read()
        point.delete()
        # The change at the position is not before it.
        if written and (written.address, written.size) == (self.memory.address, self.memory.size):
            hits = max(0, hits - 1)
        return Counted(stop, hits, before, after)

    def go_to(self, counted):
        """Replays to the last change; returns the bytes before it."""
        stop = self.begin(counted.stop.record)
        if stop.record != counted.stop.record:
            raise gdb.GdbError("two replays differ: record %d, then %d" % (counted.stop.record, stop.record))
        before = self.memory.read()
        point = self.memory.watch()
        if counted.hits > 1:
            point.ignore_count = counted.hits - 2
            self.replays.go_on(lambda: point.hit_count >= counted.hits - 1)
            before = self.memory.read()
        point.ignore_count = 0
        self.replays.go_on(lambda: point.hit_count >= counted.hits)
        point.delete()
        written = Written(self.memory.address, self.memory.size, counted.hits)
        place = ("record", stop.process, stop.record)
        self.replays.position = Position(place, stop.process, stop.record, written)
        return before

    def run(self):
        """Finds the change, and returns what is known of it."""
        for span in SPANS:
            first = 0 if span is None or not self.position.record else max(0, self.position.record - span)
            counted = self.count(first)
            found = {"since": counted.stop.record, "hits": counted.hits, "after": hex_of(counted.after)}
            if counted.hits:
                before = self.go_to(counted)
                now = self.memory.read()
                know_library()
                record, _ = self.replays.passed()
                newest = is_library(gdb.newest_frame()) or is_library(gdb.newest_frame().older() or gdb.newest_frame())
                return dict(
                    found, kind="written", record=record, old=hex_of(before), new=hex_of(now), by_call=newest,
                    old_text=self.memory.text_of(before), new_text=self.memory.text_of(now),
                    changed_since=now != counted.after and not self.position.written,
                )
            if counted.before != counted.after:
                return dict(found, kind="unseen", before=hex_of(counted.before))
            if first == 0:
                return dict(found, kind="never")


def hex_of(content):
    return None if content is None else content.hex()


def words_of(memory, found):
    """What a search found, for people."""
    if found["kind"] == "never":
        return "no instruction has changed it since record %d, with which the process begins" % found["since"]
    if found["kind"] == "unseen":
        return (
            "it changed after record %d without an instruction of the server: a system call made for real has written it, "
            "or the memory was mapped since" % found["since"]
        )
    hits = found["hits"]
    place = "after record %s" % found["record"] if found["record"] else "before the first call"
    lines = ["last changed %s (%d change%s since record %d)" % (place, hits, "s" * (hits != 1), found["since"])]
    lines.append("  before: %s" % found["old_text"])
    lines.append("  after:  %s" % found["new_text"])
    if found["by_call"]:
        lines.append("  by prony, which answers the call that this frame makes")
    if found["changed_since"]:
        lines.append(
            "  at the place it is another one, without an instruction of the server: a system call made for real has written it, or "
            "it is an id of the kernel, another one in each replay"
        )
    return "\n".join(lines)


class LastWrite(gdb.Command):
    """Replay again, up to the last change of a variable or of memory before the place.

prony last-write [-size BYTES] EXPRESSION

EXPRESSION is a variable or an address. The replay stops behind the instruction that made the change; another `prony last-write` goes on
from there. What is written without a change does not count."""

    def __init__(self, replays):
        super().__init__("prony last-write", gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)
        self.replays = replays

    def invoke(self, argument, from_tty):
        words = argument.split(None, 2)
        size = 0
        if words and words[0] == "-size":
            if len(words) < 3 or not words[1].isdigit() or int(words[1]) == 0:
                raise gdb.GdbError("expected a number of bytes and an expression behind -size")
            size, argument = int(words[1]), words[2]
        if not argument:
            raise gdb.GdbError("expected a variable or an address")
        if not gdb.selected_inferior().pid:
            raise gdb.GdbError("no server runs: `prony record N` replays to a place")
        try:
            memory = Memory.of(argument, size)
        except gdb.error as error:
            raise gdb.GdbError(str(error))
        with Silence():
            found = Search(self.replays, memory).run()
        print("%s: %s" % (argument, words_of(memory, found)))
        know_library()
        select_server()
