# Hash of what a server is at a stop: registers of its threads, and the memory that they may write.

# Registers that a call keeps, and those of the call itself: gdb restores them across the frames of the library.
KEPT = ("rip", "rsp", "rbx", "rbp", "r12", "r13", "r14", "r15")
# Bytes below the stack pointer that a function may use (System V ABI for x86-64, 3.2.2).
RED_ZONE = 128
# Addresses at which the library maps what it shares with the process outside (`addresses.rs` of the library).
OWN = range(0x7E8000000000, 0x7F1000000000)
# The control block of a thread, which glibc 2.36 keeps behind the thread pointer: ids of the kernel, the CPU, random numbers.
CONTROL_BLOCK = 0xA00
# Places of random numbers in it (tcbhead_t): the canary of stacks, and the key of pointers.
CANARY, POINTER_KEY = 0x28, 0x30
# The first chunk of a heap of glibc, its size as the allocator writes it, and the lists of free chunks in it.
CACHE_SIZE, CACHE_LISTS, CACHE_COUNT = 0x291, 0x90, 64
# Numbers below the first address that a program may map.
SMALL = 4096
# Longest stack of a thread that has ended, and how its control block is aligned.
LONGEST_STACK, BLOCK_ALIGNMENT = 64 << 20, 64
WORD = struct.Struct("<Q")
ALL = 2**64 - 1

Mapping = collections.namedtuple("Mapping", "start end access name")
ThreadState = collections.namedtuple("ThreadState", "tid name registers pointer is_beside")


def mappings():
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as lines:
        for line in lines:
            addresses, access, _, _, _, *name = line.split(None, 5)
            start, end = (int(address, 16) for address in addresses.split("-"))
            yield Mapping(start, end, access, name[0].strip() if name else "")


def thread_states():
    """Registers in the newest frame of the server and the thread pointer, of each thread in the order of their start."""
    selected, states = gdb.selected_thread(), []
    for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.ptid[1]):
        thread.switch()
        frame = next(frames_of_server(), None)
        if frame is not None:
            registers = [int(frame.read_register(name)) & ALL for name in KEPT]
            pointer = int(gdb.parse_and_eval("$fs_base")) & ALL
            # One that the library did not start, and does not stop.
            is_beside = not any(is_library(one) for one in itertools.islice(older(gdb.newest_frame()), 60))
            states.append(ThreadState(thread.ptid[1], thread.name, dict(zip(KEPT, registers)), pointer, is_beside))
    selected.switch()
    return states


class Snapshot:
    """Memory of the server, without what differs from run to run whatever the server does."""

    def __init__(self, replays):
        self.threads = thread_states()
        self.all = list(mappings())
        self.memory = {}
        with open("/proc/%d/mem" % gdb.selected_inferior().pid, "rb", 0) as file:
            for mapping in self.of_server():
                file.seek(mapping.start)
                try:
                    self.memory[mapping] = bytearray(file.read(mapping.end - mapping.start))
                except OSError:
                    # A mapping without memory behind it.
                    continue
        self.hide_ended()
        self.hide_random()
        self.hide_threads(replays.stop)

    def of_server(self):
        before = None
        for mapping in self.all:
            # What lies behind the data of the library without a name is of it, too.
            own = "/memfd:prony-" in mapping.name or not mapping.name and before is not None and before.end == mapping.start
            before = mapping if own else None
            loader = mapping.name.rpartition("/")[2].startswith("ld-")
            if mapping.access[1] == "w" and mapping.access[3] == "p" and not own and not loader and mapping.start not in OWN:
                yield mapping

    def word(self, address):
        for mapping, content in self.memory.items():
            if mapping.start <= address <= mapping.start + len(content) - 8:
                return WORD.unpack_from(content, address - mapping.start)[0]
        return None

    def fill(self, start, end):
        for mapping, content in self.memory.items():
            first, last = max(start, mapping.start), min(end, mapping.start + len(content))
            if first < last:
                content[first - mapping.start : last - mapping.start] = bytes(last - first)

    def is_mapped(self, address):
        return any(mapping.start <= address < mapping.end for mapping in self.all)

    def hide_random(self):
        """The kernel gives each process random numbers, which glibc uses before the library can replace them."""
        if not self.threads:
            return
        pointer = self.threads[0].pointer
        canary, key = self.word(pointer + CANARY), self.word(pointer + POINTER_KEY)
        hidden = [value for value in (canary, *self.cache_keys()) if value]
        for mapping, content in self.memory.items():
            for value in hidden:
                content[:] = content.replace(WORD.pack(value), bytes(8))
            if key:
                self.show_pointers(content, key)
            self.hide_owners(content)
            if re.search(r"/libc[.-]", mapping.name) or self.follows_libc(mapping):
                self.hide_noise(content)

    def cache_keys(self):
        """The random number by which glibc marks free chunks in the cache of a thread."""
        for mapping in self.memory:
            if mapping.name == "[heap]" and self.word(mapping.start + 8) == CACHE_SIZE:
                for entry in range(CACHE_COUNT):
                    chunk = self.word(mapping.start + CACHE_LISTS + 8 * entry)
                    key = self.word(chunk + 8) if chunk else None
                    if key:
                        return [key]
        return []

    @staticmethod
    def rotated(value):
        return (value >> 17 | value << 47) & ALL

    def show_pointers(self, content, key):
        """glibc mangles pointers by the key (PTR_MANGLE): the low bits of what it makes of one are the high bits of the key."""
        prefix = re.escape(WORD.pack((key << 17 | key >> 47) & ALL)[:2])
        for found in re.finditer(prefix, bytes(content)):
            if found.start() % 8 == 0:
                target = self.rotated(WORD.unpack_from(content, found.start())[0]) ^ key
                # What is not a pointer is mangled as well: registers that setjmp(3) keeps.
                if target < SMALL or self.is_mapped(target):
                    WORD.pack_into(content, found.start(), target)

    def hide_owners(self, content):
        """A mutex that a thread has locked contains its id (struct __pthread_mutex_s: lock, count, owner, users)."""
        for state in self.threads:
            locked = rb"([\x01\x02]\0\0\0....)%s(?=\x01\0\0\0)" % re.escape(struct.pack("<I", state.tid))
            content[:] = re.sub(locked, rb"\1\0\0\0\0", bytes(content), flags=re.DOTALL)

    def follows_libc(self, mapping):
        return not mapping.name and any(
            other.end == mapping.start and re.search(r"/libc[.-]", other.name) for other in self.all
        )

    @staticmethod
    def hide_noise(content):
        """Random numbers of libc: words that can be no pointer and no small number."""
        for place in range(0, len(content) - 7, 8):
            if 0 < WORD.unpack_from(content, place)[0] >> 47 < 2**17 - 1:
                WORD.pack_into(content, place, 0)

    def hide_threads(self, stop):
        for state in self.threads:
            self.fill(state.pointer, state.pointer + CONTROL_BLOCK)
            # The block of the library is at one place in the storage of each thread.
            block = state.pointer - stop.block_below
            self.fill(block, block + stop.block_bytes)
            stack = state.registers["rsp"]
            for mapping in self.memory:
                if mapping.start <= stack < mapping.end:
                    self.fill(mapping.start, stack - RED_ZONE)

    def hide_ended(self):
        """Stacks of threads that have ended, which glibc keeps for others: each lies above a guard, with a control block that has its
        own address in two places (tcbhead_t)."""
        guards = {mapping.end for mapping in self.all if mapping.access.startswith("---")}
        for mapping, content in self.memory.items():
            if mapping.name or mapping.start not in guards or len(content) > LONGEST_STACK:
                continue
            if any(mapping.start <= state.registers["rsp"] < mapping.end for state in self.threads):
                continue
            for place in range(0, len(content) - 24, BLOCK_ALIGNMENT):
                own, _, itself = struct.unpack_from("<QQQ", content, place)
                if own == itself == mapping.start + place:
                    self.fill(mapping.start, own + CONTROL_BLOCK)

    def hashes(self):
        """Hashes of registers, of stacks, and of all other memory, 16 hexadecimal digits each."""
        registers, stacks, memory = (hashlib.sha256() for _ in range(3))
        for state in self.threads:
            registers.update(repr(sorted(state.registers.items())).encode())
        for mapping, content in self.memory.items():
            is_stack = any(mapping.start <= state.registers["rsp"] < mapping.end for state in self.threads)
            of = stacks if is_stack else memory
            of.update(repr((mapping.start, mapping.end)).encode())
            of.update(content)
        return [of.hexdigest()[:16] for of in (registers, stacks, memory)]


class Hash(gdb.Command):
    """Print hashes of the server: registers of its threads, their stacks, and all other memory that it may write.

The same call that is reached twice has the same hashes. Left out are prony's own memory, what lies below the stacks, the loader's data,
and the random numbers and ids that the kernel gives each process. On x86-64."""

    def __init__(self, replays):
        super().__init__("prony hash", gdb.COMMAND_STATUS)
        self.replays = replays

    def invoke(self, argument, from_tty):
        if not gdb.selected_inferior().pid:
            raise gdb.GdbError("no server runs: `prony record N` replays to a place")
        if gdb.selected_frame().architecture().name() != "i386:x86-64":
            raise gdb.GdbError("hashes are of servers on x86-64, found %s" % gdb.selected_frame().architecture().name())
        know_library()
        snapshot = Snapshot(self.replays)
        size = sum(map(len, snapshot.memory.values()))
        print("registers %s  stacks %s  memory %s" % tuple(snapshot.hashes()))
        threads = len(snapshot.threads)
        print("%d thread%s, %d KiB" % (threads, "s" * (threads != 1), size // 1024))
        for state in snapshot.threads:
            if state.is_beside:
                print("thread %s is not of the recording: what it writes may differ" % state.name)


if PROCESS:
    Hash(REPLAYS)
