"""Players of Teeworlds 0.7 and of 0.6, which DDNet speaks: they enter the game, answer its snapshots and keep moving.

Facts of the protocols: Teeworlds 0.7.5 and DDNet 16.4, `src/engine/shared/network*.cpp`, `src/engine/server/server.cpp`. Datagrams are Huffman-coded with
a table of frequencies that is part of the protocol; the Rust clients of the story tests have it, and it is read from there.
"""

import re
import socket
import struct
import time
from pathlib import Path

from loads import see_snapshots

TABLE = Path(__file__).resolve().parent.parent.parent / "crates/testing/src/clients/huffman.rs"
END = 256
VITAL = 1


class Protocol:
    """What differs between the versions."""

    def __init__(self, version):
        self.new = version == "0.7"
        if self.new:
            self.control, self.resend, self.compressed = 1, 2, 4
            self.connect, self.accept, self.close = 1, 2, 4
            self.system = {"info": 1, "map": 2, "con ready": 5, "ready": 18, "enter": 19, "input": 20}
            self.snaps, self.whole_snaps = {6}, {7, 8}
            self.ready_to_enter, self.start_info = 8, 27
        else:
            self.control, self.resend, self.compressed = 1, 4, 8
            self.connect, self.accept, self.close = 1, 2, 4
            self.system = {"info": 1, "map": 2, "con ready": 4, "ready": 14, "enter": 15, "input": 16}
            self.snaps, self.whole_snaps = {5}, {6, 7}
            self.ready_to_enter, self.start_info = 8, 20


def code_tree():
    text = TABLE.read_text()
    table = re.search(r"FREQUENCIES: \[u32; 256\] = \[(.*?)\];", text, re.S)[1]
    nodes = [(int(number), symbol) for symbol, number in enumerate(table.replace("\n", " ").strip(" ,").split(","))] + [(1, END)]
    while len(nodes) > 1:
        nodes.sort(key=lambda node: -node[0])
        last, second = nodes.pop(), nodes.pop()
        nodes.append((last[0] + second[0], (last[1], second[1])))
    return nodes[0][1]


def unpack(tree, data):
    out, node = bytearray(), tree
    for byte in data:
        for bit in range(8):
            node = node[byte >> bit & 1]
            if isinstance(node, int):
                if node == END:
                    return bytes(out)
                out.append(node)
                node = tree
    return None


def put_int(value):
    sign, rest = (0x40, ~value) if value < 0 else (0, value)
    out, byte, rest = bytearray(), sign | rest & 0x3F, rest >> 6
    while rest:
        out.append(byte | 0x80)
        byte, rest = rest & 0x7F, rest >> 7
    out.append(byte)
    return bytes(out)


def take_int(data):
    byte, at = data[0], 1
    value, shift = byte & 0x3F, 6
    while data[at - 1] & 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return (~value if byte & 0x40 else value), data[at:]


class Player:
    def __init__(self, run, number, version, tree):
        self.run, self.number, self.tree, self.protocol = run, number, tree, Protocol(version)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", run.port))
        self.socket.settimeout(0.005)
        self.own_token = bytes([0x10, 0x20, 0x30, number])
        self.token = b"\xff" * 4
        self.received = self.sent = 0
        self.pending = []
        self.tick = -1
        self.snapshots = 0
        self.connected = False

    def play(self):
        next_request = next_resend = next_input = 0.0
        while True:
            self.run.check()
            try:
                self.receive(self.socket.recv(2048))
            except (TimeoutError, ConnectionRefusedError):
                pass
            now = time.monotonic()
            if not self.connected and now >= next_request:
                next_request = now + 0.25
                if not self.protocol.new:
                    self.send_control(self.protocol.connect, b"TKEN")
                else:
                    request = 5 if self.token == b"\xff" * 4 else self.protocol.connect
                    self.send_control(request, (self.own_token + bytes(508)))
            if now >= next_resend:
                next_resend = now + 1
                for _, chunk in self.pending:
                    self.send(0, 1, chunk)
            if self.tick >= 0 and now >= next_input:
                next_input = now + 0.02
                self.send_input()

    def send(self, flags, chunks, content):
        if self.protocol.new:
            head = bytes([flags << 2 | self.received >> 8, self.received & 255, chunks]) + self.token
            tail = b""
        else:
            head, tail = bytes([flags << 4 | self.received >> 8, self.received & 255, chunks]), self.token
        try:
            self.socket.send(head + content + tail)
        except ConnectionRefusedError:
            pass

    def send_control(self, kind, content=b""):
        self.send(self.protocol.control, 0, bytes([kind]) + content)

    def header(self, size, vital):
        if self.protocol.new:
            first, second = vital << 6 | size >> 6, size & 0x3F
            return bytes([first, self.sent >> 2 & 0xC0 | second, self.sent & 255] if vital else [first, second])
        first, second = vital << 6 | size >> 4, size & 0x0F
        return bytes([first, self.sent >> 2 & 0xF0 | second, self.sent & 255] if vital else [first, second])

    def send_vital(self, number, is_system, content):
        self.sent = (self.sent + 1) % 1024
        body = put_int(number << 1 | is_system) + content
        chunk = self.header(len(body), VITAL) + body
        self.pending.append((self.sent, chunk))
        self.send(0, 1, chunk)

    def receive(self, packet):
        new = self.protocol.new
        if len(packet) < 3 or new and (len(packet) < 7 or packet[3:7] != self.own_token):
            return
        flags, content = (packet[0] >> 2, packet[7:]) if new else (packet[0] >> 4, packet[3:])
        if flags & self.protocol.control:
            return self.handle_control(content)
        ack = (packet[0] & 3) << 8 | packet[1]
        self.pending = [one for one in self.pending if (ack - one[0]) % 1024 >= 512]
        if flags & self.protocol.resend:
            for _, chunk in self.pending:
                self.send(0, 1, chunk)
        if flags & self.protocol.compressed:
            content = unpack(self.tree, content)
        for _ in range(packet[2]):
            if not content or len(content) < 3:
                return
            if new:
                size, low = (content[0] & 0x3F) << 6 | content[1] & 0x3F, (content[1] & 0xC0) << 2
            else:
                size, low = (content[0] & 0x3F) << 4 | content[1] & 0x0F, (content[1] & 0xF0) << 2
            vital, at = content[0] >> 6 & VITAL, 2
            fresh = True
            if vital:
                at = 3
                fresh = (low | content[2]) == (self.received + 1) % 1024
                if fresh:
                    self.received = low | content[2]
            body, content = content[at : at + size], content[at + size :]
            if fresh and body:
                self.handle_message(body)

    def handle_control(self, content):
        kind = content[0] if content else 0
        if self.protocol.new and kind == 5 and len(content) >= 5:
            self.token = content[1:5]
            self.send_control(self.protocol.connect, self.own_token + bytes(508))
        elif kind == self.protocol.accept and not self.connected:
            self.connected = True
            if self.protocol.new:
                info = b"0.7 802f1be60a05665f\0\0" + put_int(0x0705)
            else:
                self.token = content[5:9]
                # The client's own acceptance; what it carries is the token.
                self.send_control(3)
                info = b"0.6 626fce9a778df4d4\0\0"
            self.send_vital(self.protocol.system["info"], 1, info)
        elif kind == self.protocol.close and self.tick < 0:
            raise RuntimeError(f"player {self.number} was thrown out: {content[1:].decode(errors='replace')}")

    def handle_message(self, body):
        number, rest = take_int(body)
        number, is_system = number >> 1, number & 1
        protocol = self.protocol
        if is_system and number == protocol.system["map"]:
            self.send_vital(protocol.system["ready"], 1, b"")
        elif is_system and number == protocol.system["con ready"]:
            self.send_vital(protocol.start_info, 0, self.start_info())
        elif not is_system and number == protocol.ready_to_enter:
            self.send_vital(protocol.system["enter"], 1, b"")
        elif is_system and number in protocol.snaps | protocol.whole_snaps:
            tick, rest = take_int(rest)
            _, rest = take_int(rest)
            if number in protocol.snaps:
                parts, rest = take_int(rest)
                part, rest = take_int(rest)
                if part + 1 != parts:
                    return
            self.tick = max(self.tick, tick)
            self.snapshots += 1
            self.run.ready()

    def start_info(self):
        name = f"player {self.number}".encode() + b"\0prony\0" + put_int(-1)
        if not self.protocol.new:
            return name + b"default\0" + put_int(0) * 3
        return name + b"standard\0\0\0standard\0standard\0standard\0" + put_int(0) * 6 + b"".join(put_int(0x102030 * part) for part in range(6))

    def send_input(self):
        tick, number = self.tick, self.number
        values = [tick, tick + 2, 40, (tick // 40 + number) % 3 - 1, tick * 7 % 300 - 150, tick * 13 % 300 - 150]
        values += [tick % 23 == number, tick // 10 * 2 + tick % 2 & 63, tick % 50 < 20, 0, tick // 50 % 4, 0, 0]
        body = put_int(self.protocol.system["input"] << 1 | 1) + b"".join(put_int(int(value)) for value in values)
        body += put_int(0) if self.protocol.new else b""
        self.send(0, 1, self.header(len(body), 0) + body)


def play(run, number, version, tree):
    see_snapshots(run, number, Player(run, number, version, tree))
