#!/usr/bin/env python3
"""Clients of a GoldSrc server, as far as connecting and receiving goes: protocol 48.

    clients.py ADDRESS:PORT --clients N --seconds S

Each gets a challenge, connects, fetches server information and resources, spawns, and then acknowledges what it receives, so that
the server sends it delta-coded frames as it does to a player who stands still. Prints one line of JSON for each client. Exits with 1
if one of them was not sent frames until the end.
"""

import argparse
import bz2
import hashlib
import json
import select
import socket
import struct
import sys
import time

OUT_OF_BAND, SPLIT = b"\xff\xff\xff\xff", b"\xfe\xff\xff\xff"
NOP, STRING_COMMAND, DELTA, RESOURCE_LIST = 1, 3, 4, 5
PRINT, SERVER_INFO = 8, 11
FRAGMENT, RELIABLE = 1 << 30, 1 << 31
NUMBER = FRAGMENT - 1
# The two tables with which the protocol hides its bytes.
MASKS_2 = bytes.fromhex("05617aed1bca0d9b4af164c7b58edfa0")
MASKS_3 = bytes.fromhex("20071361034517720a2d480c4a12a9b5")


def masks(table):
    """For each of sixteen consecutive words, what its bytes are combined with."""
    return [sum((0xA5 | j << j | j | table[(i + j) % 16]) << 8 * j for j in range(4)) for i in range(16)]


WORDS_2, WORDS_3 = masks(MASKS_2), masks(MASKS_3)


def swap(word):
    return int.from_bytes(word.to_bytes(4, "little"), "big")


def munge(data, sequence, words=WORDS_2):
    key = swap(~sequence & 0xFFFFFFFF) ^ sequence
    count = len(data) // 4
    plain = struct.unpack(f"<{count}I", data[: 4 * count])
    return struct.pack(f"<{count}I", *(swap(w) ^ key ^ words[i % 16] for i, w in enumerate(plain))) + data[4 * count :]


def unmunge(data, sequence, words=WORDS_2):
    key = swap(~sequence & 0xFFFFFFFF) ^ sequence
    count = len(data) // 4
    hidden = struct.unpack(f"<{count}I", data[: 4 * count])
    return struct.pack(f"<{count}I", *(swap(w ^ key ^ words[i % 16]) for i, w in enumerate(hidden))) + data[4 * count :]


class Client:
    """One connection. `receive` takes a datagram, `tick` sends what is due."""

    CONNECT_EVERY_S = 1.0
    SEND_EVERY_S = 1 / 40

    def __init__(self, address, number):
        self.name = f"watcher{number:02d}"
        self.number = number
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.connect(address)
        self.socket.setblocking(False)
        self.state, self.challenge = "challenge", None
        self.next_send = 0.0
        self.outgoing, self.incoming, self.incoming_reliable = 1, 0, 0
        # Reliable messages that wait, the one on its way, its bit, and the datagram that last carried it.
        self.waiting, self.pending, self.bit, self.carried = [], None, 0, 0
        self.fragments, self.messages = {}, 0
        self.split_number, self.split = None, {}
        self.frames, self.bytes, self.lost, self.last_frame, self.refused = 0, 0, 0, None, None
        self.player = self.spawn_count = self.map_crc = None

    def tick(self, now):
        if now < self.next_send:
            return
        if self.state == "challenge":
            self.next_send = now + self.CONNECT_EVERY_S
            self.socket.send(OUT_OF_BAND + b"getchallenge steam\n")
        elif self.state == "connect":
            self.next_send = now + self.CONNECT_EVERY_S
            key = hashlib.md5(self.name.encode()).hexdigest()
            protocol = rf"\prot\3\unique\-1\raw\steam\cdkey\{key}"
            user = rf"\name\{self.name}\model\gordon\topcolor\0\bottomcolor\0\rate\100000\cl_updaterate\100\cl_lw\1\cl_lc\1\cl_dlmax\512\hud_classautokill\1"
            ticket = hashlib.sha256(self.name.encode()).digest() * 4
            self.socket.send(OUT_OF_BAND + f'connect 48 {self.challenge} "{protocol}" "{user}"\n'.encode() + ticket)
        else:
            self.next_send = now + self.SEND_EVERY_S
            self.transmit()

    def command(self, text):
        self.waiting.append(bytes((STRING_COMMAND,)) + text.encode() + b"\0")

    def transmit(self):
        fresh = False
        if self.pending is None and self.waiting:
            self.pending, self.waiting = b"".join(self.waiting), []
            self.bit ^= 1
            fresh = True
        # Sent again when the server has acknowledged a later datagram, but not this message.
        send_reliable = self.pending is not None and (fresh or self.acknowledged > self.carried)
        head = self.outgoing | (RELIABLE if send_reliable else 0)
        body = self.pending if send_reliable else b""
        if send_reliable:
            self.carried = self.outgoing
        if self.state == "playing":
            body += bytes((DELTA, self.incoming & 0xFF))
        body = body.ljust(8, bytes((NOP,)))
        self.socket.send(struct.pack("<II", head, self.incoming | self.incoming_reliable << 31) + munge(body, self.outgoing & 0xFF))
        self.outgoing += 1

    acknowledged = 0

    def receive(self, data, now):
        if data.startswith(OUT_OF_BAND):
            self.out_of_band(data[4:])
            return
        if data.startswith(SPLIT):
            data = self.take_split(data)
        if len(data) < 8 or self.state in ("challenge", "connect"):
            return
        head, acknowledge = struct.unpack("<II", data[:8])
        sequence = head & NUMBER
        if sequence <= self.incoming:
            return
        self.lost += sequence - self.incoming - 1
        self.incoming = sequence
        self.bytes += len(data)
        if head & RELIABLE:
            self.incoming_reliable ^= 1
        self.acknowledged = acknowledge & NUMBER
        if self.pending is not None and acknowledge >> 31 == self.bit and self.acknowledged >= self.carried:
            self.pending = None
        body = unmunge(data[8:], sequence & 0xFF)
        if head & FRAGMENT:
            body = self.take_fragments(body)
        if self.state == "playing" and not head & FRAGMENT and len(body) > 8:
            self.frames += 1
            self.last_frame = now

    def take_split(self, data):
        """A part of a datagram that was too long for the network; the whole once all parts are there, else nothing."""
        number, part = struct.unpack_from("<iB", data, 4)
        if number != self.split_number:
            self.split_number, self.split = number, {}
        self.split[part >> 4] = data[9:]
        if len(self.split) < part & 0xF:
            return b""
        return b"".join(self.split[i] for i in sorted(self.split))

    def take_fragments(self, body):
        streams, at = [], 0
        for stream in range(2):
            at += 1
            if body[at - 1]:
                streams.append((stream, *struct.unpack_from("<IHH", body, at)))
                at += 8
        body = body[at:]
        for stream, number, offset, length in reversed(streams):
            piece, body = body[offset : offset + length], body[:offset] + body[offset + length :]
            if stream == 0:
                self.fragments[number >> 16] = piece
                if len(self.fragments) == number & 0xFFFF:
                    whole = b"".join(self.fragments[i] for i in sorted(self.fragments))
                    self.fragments = {}
                    self.take_message(bz2.decompress(whole[4:]) if whole.startswith(b"BZ2\0") else whole)
        return body

    def take_message(self, message):
        """A long message. They come in this order: server information, resources, what is needed to spawn."""
        self.messages += 1
        if self.messages == 1:
            at = message.index(b"\0") + 1 if message[0] == PRINT else 0
            if message[at] != SERVER_INFO:
                self.refused = f"expected server information, found message {message[at]}"
                return
            protocol, self.spawn_count, hidden = struct.unpack_from("<III", message, at + 1)
            if protocol != 48:
                self.refused = f"the server has protocol {protocol}"
                return
            self.player = message[at + 1 + 12 + 16 + 1]
            crc = unmunge(struct.pack("<I", hidden), (-1 - self.player) & 0xFF, WORDS_3)
            self.map_crc = struct.unpack("<i", munge(crc, (-1 - self.spawn_count) & 0xFF))[0]
            self.command("sendres")
        elif self.messages == 2:
            self.waiting.append(struct.pack("<BH", RESOURCE_LIST, 0))
            self.command(f"spawn {self.spawn_count} {self.map_crc}")
        elif self.messages == 3:
            self.command("sendents")
            self.state = "playing"

    def out_of_band(self, data):
        if data.startswith(b"A00000000") and self.state == "challenge":
            self.challenge, self.state, self.next_send = data.split()[1].decode(), "connect", 0.0
        elif data.startswith(b"B") and self.state == "connect":
            self.state, self.next_send = "signing on", 0.0
            self.command("new")
        elif data.startswith(b"9"):
            self.refused = data[1:].strip(b"\0\n").decode(errors="replace")

    def leave(self):
        if self.state not in ("challenge", "connect"):
            self.pending, self.waiting = None, []
            self.command("dropclient")
            try:
                for _ in range(2):
                    self.transmit()
            except ConnectionRefusedError:
                pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    host, port = options.address.rsplit(":", 1)
    clients = [Client((host, int(port)), number + 1) for number in range(options.clients)]
    begin = time.monotonic()
    end = begin + options.seconds
    by_socket = {client.socket: client for client in clients}
    while (now := time.monotonic()) < end:
        for client in clients:
            # One after the other: the server spreads challenges and resources over time, too.
            if now - begin >= 0.5 * (client.number - 1):
                try:
                    client.tick(now)
                except ConnectionRefusedError:
                    client.next_send = now + client.CONNECT_EVERY_S
        for ready in select.select(by_socket, [], [], 0.005)[0]:
            try:
                while True:
                    by_socket[ready].receive(ready.recv(65536), time.monotonic())
            except (BlockingIOError, ConnectionRefusedError):
                pass
    whole = True
    for client in clients:
        good = client.last_frame is not None and client.last_frame > end - 2
        whole &= good
        print(json.dumps({"name": client.name, "state": client.state, "frames": client.frames, "bytes": client.bytes,
                          "lost": client.lost, "player": client.player, "refused": client.refused}))
        client.leave()
    sys.exit(0 if whole else 1)


main()
