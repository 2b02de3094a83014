"""A player of Quake III's protocol 71 as OpenArena speaks it: joins, answers every snapshot, and moves at random.

Facts of the protocol: ioquake3, `code/qcommon/{huffman,msg,net_chan}.c`, `code/server/sv_client.c`. Whatever is Huffman-coded here is coded by
an adaptive code (Sayood, Introduction to Data Compression, ch. 3.4). Messages use one that has been trained with a table of
frequencies beforehand, which is read from the server's own program: it is the only place where these numbers stand in a row.
"""

import json
import random
import socket
import struct
import time

from loads import see_snapshots

CONNECTIONLESS = b"\xff\xff\xff\xff"
FRAGMENT_BYTES = 1300
# The first five of the table.
FREQUENCIES_BEGIN = struct.pack("<5i", 250315, 41193, 6292, 7106, 3730)

NEW = 256
SVC_GAMESTATE, SVC_CONFIGSTRING, SVC_SERVER_COMMAND, SVC_SNAPSHOT, SVC_NOP = 2, 3, 5, 7, 1
CLC_MOVE_NO_DELTA, CLC_EOF = 3, 5


class Adaptive:
    """An adaptive Huffman code: nodes in order of their weights, and the tree over them."""

    def __init__(self):
        # Of each node: its weight, parent, children (left, right), and place in the order.
        self.weight, self.parent, self.children, self.place = [0], [None], [None], [0]
        self.order, self.leaf, self.symbol = [0], {NEW: 0}, {0: NEW}

    def _node(self, parent, children, place):
        for own, value in [(self.weight, 1), (self.parent, parent), (self.children, children), (self.place, place)]:
            own.append(value)
        return len(self.weight) - 1

    def add(self, symbol):
        if symbol in self.leaf:
            return self._increment(self.leaf[symbol])
        new = self.leaf[NEW]
        above = self.parent[new]
        joint = self._node(above, None, 2)
        leaf = self._node(joint, None, 1)
        self.children[joint] = [new, leaf]
        if above is not None:
            self.children[above][self.children[above].index(new)] = joint
        self.parent[new] = joint
        self.order[1:1] = [leaf, joint]
        for place, node in enumerate(self.order):
            self.place[node] = place
        self.leaf[symbol], self.symbol[leaf] = leaf, symbol
        return self._increment(above)

    def _increment(self, node):
        weight, parent, place, order = self.weight, self.parent, self.place, self.order
        chain = []
        while node is not None:
            at, mine = place[node], weight[node]
            last = at
            while last + 1 < len(order) and weight[order[last + 1]] == mine:
                last += 1
            if last != at:
                leader = order[last]
                if leader != parent[node]:
                    self._swap(leader, node)
                self._exchange(at, last)
            weight[node] = mine + 1
            chain.append(node)
            node = parent[node]
        for node in reversed(chain[:-1]):
            if place[parent[node]] == place[node] - 1:
                self._exchange(place[node] - 1, place[node])

    def _exchange(self, first, second):
        order, place = self.order, self.place
        order[first], order[second] = order[second], order[first]
        place[order[first]], place[order[second]] = first, second

    def _swap(self, one, other):
        above, beside = self.parent[one], self.parent[other]
        left, right = self.children[above].index(one), self.children[beside].index(other)
        self.children[above][left], self.children[beside][right] = other, one
        self.parent[one], self.parent[other] = beside, above

    def bits(self, symbol):
        node, path = self.leaf[symbol], []
        while self.parent[node] is not None:
            path.append(self.children[self.parent[node]].index(node))
            node = self.parent[node]
        return path[::-1]

    def compress(self, text):
        """As a whole connectionless message is packed."""
        out = []
        for byte in text:
            if byte in self.leaf:
                out += self.bits(byte)
            else:
                out += self.bits(NEW) + [byte >> bit & 1 for bit in range(7, -1, -1)]
            self.add(byte)
        return struct.pack(">H", len(text)) + packed(out)


def packed(bits):
    """Least significant first, and always one more than full bytes."""
    out = bytearray(len(bits) // 8 + 1)
    for at, bit in enumerate(bits):
        out[at // 8] |= bit << at % 8
    return bytes(out)


def message_codes(program, cache):
    """The bits of each byte in messages, computed once."""
    if not cache.exists():
        image = program.read_bytes()
        at = image.index(FREQUENCIES_BEGIN)
        code = Adaptive()
        for symbol, count in enumerate(struct.unpack_from("<256i", image, at)):
            for _ in range(count):
                code.add(symbol)
        cache.write_text(json.dumps([code.bits(symbol) for symbol in range(256)]))
    return json.loads(cache.read_text())


class Writer:
    def __init__(self, codes):
        self.codes, self.out = codes, []

    def put(self, value, bits):
        value &= (1 << bits) - 1
        odd = bits & 7
        self.out += [value >> bit & 1 for bit in range(odd)]
        value >>= odd
        for _ in range(bits // 8):
            self.out += self.codes[value & 255]
            value >>= 8


class Reader:
    def __init__(self, tree, data):
        self.tree, self.data, self.at = tree, data, 0

    def _bit(self):
        bit = self.data[self.at >> 3] >> (self.at & 7) & 1
        self.at += 1
        return bit

    def take(self, bits):
        value, odd = 0, bits & 7
        for bit in range(odd):
            value |= self._bit() << bit
        for byte in range(bits // 8):
            node = self.tree
            while not isinstance(node, int):
                node = node[self._bit()]
            value |= node << (odd + 8 * byte)
        return value

    def text(self):
        out = bytearray()
        while (byte := self.take(8)) != 0:
            out.append(byte)
        return bytes(out)


def tree_of(codes):
    root = [None, None]
    for symbol, bits in enumerate(codes):
        node = root
        for bit in bits[:-1]:
            node[bit] = node[bit] or [None, None]
            node = node[bit]
        node[bits[-1]] = symbol
    return root


class Player:
    def __init__(self, run, number, codes, tree):
        self.run, self.number, self.codes, self.tree = run, number, codes, tree
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", run.port))
        self.socket.settimeout(0.05)
        self.random = random.Random(number)
        self.qport = 1000 + number
        self.challenge = self.server_id = self.sequence = self.received = self.server_time = 0
        self.commands, self.command = {0: b""}, 0
        self.fragments, self.fragment_of = b"", None
        self.snapshots = 0

    def ask(self, question, answer):
        """Until it is answered."""
        while True:
            self.run.check()
            try:
                self.socket.send(CONNECTIONLESS + question)
                got = self.socket.recv(65536)
                if got.startswith(CONNECTIONLESS + answer):
                    return got[4:].split()
                if got.startswith(CONNECTIONLESS + b"print"):
                    raise RuntimeError(got[4:].decode(errors="replace"))
            except OSError:
                time.sleep(0.2)

    def play(self):
        self.challenge = int(self.ask(b"getchallenge", b"challengeResponse")[1])
        info = f"\\protocol\\71\\qport\\{self.qport}\\challenge\\{self.challenge}\\name\\prony{self.number}\\rate\\25000\\snaps\\20\\model\\sarge\\cl_guid\\{self.number:032X}"
        self.ask(b"connect " + Adaptive().compress(f'"{info}"'.encode()), b"connectResponse")
        next_move = 0.0
        while True:
            self.run.check()
            try:
                self.receive(self.socket.recv(65536))
            except TimeoutError:
                pass
            if time.monotonic() >= next_move:
                next_move = time.monotonic() + 0.04
                self.move()

    def move(self):
        writer = Writer(self.codes)
        for value in [self.server_id, self.received, self.command]:
            writer.put(value, 32)
        if self.server_id:
            writer.put(CLC_MOVE_NO_DELTA, 8)
            writer.put(1, 8)
            # One command, with all that can be held down: time, then whether anything is, then each with its own flag.
            writer.put(0, 1)
            writer.put(self.server_time + 50, 32)
            writer.put(1, 1)
            for bits in [16, 16, 16, 8, 8, 8, 16, 8]:
                writer.put(1, 1)
                writer.put(self.random.getrandbits(bits), bits)
        writer.put(CLC_EOF, 8)
        data = bytearray(packed(writer.out))
        self.scramble(data, 12, self.challenge ^ self.server_id ^ self.received, self.commands.get(self.command, b""))
        self.socket.send(struct.pack("<IH", self.sequence + 1, self.qport) + data)
        self.sequence += 1

    def scramble(self, data, begin, key, text):
        """What keeps old proxies from changing messages."""
        key &= 255
        for at in range(begin, len(data)):
            letter = text[(at - begin) % len(text)] if text else 0
            letter = ord(".") if letter > 127 or letter == ord("%") else letter
            key = (key ^ letter << (at & 1)) & 255
            data[at] ^= key

    def receive(self, packet):
        if len(packet) < 8 or packet.startswith(CONNECTIONLESS):
            return
        sequence, data = struct.unpack_from("<I", packet)[0], packet[4:]
        if sequence & 1 << 31:
            sequence &= ~(1 << 31)
            start, length = struct.unpack_from("<HH", data)
            if sequence != self.fragment_of:
                self.fragment_of, self.fragments = sequence, b""
            if start != len(self.fragments):
                return
            self.fragments += data[4 : 4 + length]
            if length == FRAGMENT_BYTES:
                return
            data, self.fragment_of = self.fragments, None
        if sequence <= self.received:
            return
        self.received = sequence
        data = bytearray(data)
        # This player sends no commands, so the text of the last one is empty.
        self.scramble(data, 4, self.challenge ^ sequence, b"")
        try:
            self.read(Reader(self.tree, data))
        except IndexError:
            pass

    def read(self, reader):
        reader.take(32)
        while True:
            kind = reader.take(8)
            if kind == SVC_SERVER_COMMAND:
                number, text = reader.take(32), reader.text()
                self.commands[number] = text
                self.command = max(self.command, number)
            elif kind == SVC_GAMESTATE:
                self.command = reader.take(32)
                self.commands.setdefault(self.command, b"")
                while reader.take(8) == SVC_CONFIGSTRING:
                    reader.take(16)
                    text = reader.text()
                    if b"\\sv_serverid\\" in text:
                        self.server_id = int(text.split(b"\\sv_serverid\\")[1].split(b"\\")[0])
                return
            elif kind == SVC_SNAPSHOT:
                self.server_time = reader.take(32)
                self.snapshots += 1
                self.run.ready()
                return
            elif kind != SVC_NOP:
                return


def play(run, number, program):
    codes = message_codes(program, run.kept.parent / "quake3-codes.json")
    see_snapshots(run, number, Player(run, number, codes, tree_of(codes)))
