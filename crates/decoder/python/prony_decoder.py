"""Decoders of `prony replay --decoder` in Python: this one file, and nothing but the standard library.

docs/formats/decoder.md has every byte. A decoder is a function from a datagram to its fields:

    import prony_decoder as prony

    def decode(datagram):
        if datagram.to_server or len(datagram.payload) != 2:
            return None                      # not known: the bytes are compared
        return [prony.integer("score", datagram.payload[1])]

    prony.serve("scores 1", decode)
"""

import json
import math
import struct
import sys
from typing import NamedTuple

VERSION = 1

HELD = object()
"""Answer to a part of something that a later datagram completes."""


class Datagram(NamedTuple):
    """One datagram, or one piece of a TCP stream."""

    number: int
    to_server: bool
    is_stream: bool
    process: int
    frame: int
    socket: int
    local_port: int
    peer: str
    payload: bytes


class Opaque(NamedTuple):
    """Answer to a datagram whose bytes are to be compared, with the reason."""

    why: str


class Rendered(NamedTuple):
    """Answer with fields that are JSON already, separated by commas: for decoders that keep what does not change."""

    fields: str


def integer(name, value):
    return [name, "int", int(value)]


def single(name, value):
    return [name, "f32", _float(value)]


def double(name, value):
    return [name, "f64", _float(value)]


def text(name, value):
    return [name, "text", str(value)]


def flag(name, value):
    return [name, "bool", bool(value)]


def _float(value):
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def serve(name, decode):
    """Answers prony until it has no more datagrams.

    `decode` gets a Datagram and returns a list of fields, Rendered ones, HELD, an Opaque, or None.
    """
    source, sink = sys.stdin.buffer, sys.stdout

    def read(count):
        content = source.read(count)
        if content and len(content) < count:
            raise EOFError("the input ends inside a frame")
        return content

    magic, version = struct.unpack("<8sI", read(12) or bytes(12))
    if magic != b"PRONYDEC":
        raise ValueError("start this decoder with `prony replay --decoder`")
    if version != VERSION:
        raise ValueError(f"expected version {VERSION} of the conversation, found {version}")
    print(json.dumps({"decoder": name, "version": VERSION}), file=sink, flush=True)
    head = struct.Struct("<BBHQQHHH")
    while length := read(4):
        frame = read(struct.unpack("<I", length)[0])
        direction, stream, process, number, turn, socket, port, peer_bytes = head.unpack_from(frame)
        payload = head.size + peer_bytes
        peer = frame[head.size : payload].decode()
        answer = decode(
            Datagram(number, direction == 0, stream == 1, process, turn, socket, port, peer, frame[payload:])
        )
        if isinstance(answer, Rendered):
            print(f'{{"n":{number},"fields":[{answer.fields}]}}', file=sink, flush=True)
            continue
        line = {"n": number}
        if answer is HELD:
            line["held"] = True
        elif isinstance(answer, Opaque):
            line["note"] = answer.why
        elif answer is not None:
            line["fields"] = answer
        print(json.dumps(line, separators=(",", ":")), file=sink, flush=True)
