"""Decoder of GoldSrc's protocol 48 (HLDS, ReHLDS) for `prony replay --decoder "python3 goldsrc.py"`.

It joins split datagrams and fragments, takes the mask off, reads the messages of the server, and names what is in them:
`entity[12].origin.x`, `clientdata.health`, `movevars.gravity`, `sound[3].sample`, `message.DeathMsg.victim`. How fields are
delta-coded comes from the descriptions that the server sends; what they refer to is kept for each client, in a ring of frames
as the server has it. A frame has all entities that the client sees in it: floats once they were sent, whole numbers when they
are not 0.

What cannot be decoded is a field `raw` with the bytes in hex, and `raw.reason`. Then frames that refer to this one cannot be
decoded either, until the client acknowledges a later one.

Protocol facts: ReHLDS (`engine/net_chan.cpp`, `net_ws.cpp`, `sv_main.cpp`, `delta.cpp`, `common.cpp`, and
`HLTV/Core/src/Server.cpp`), hlsdk-portable (`common/const.h`, `dlls/player.cpp`).
"""

import array
import bz2
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prony_decoder as prony

CONNECTIONLESS, SPLIT = b"\xff\xff\xff\xff", b"\xfe\xff\xff\xff"
HEAD_BYTES, SPLIT_HEAD_BYTES = 8, 9
RELIABLE, FRAGMENT = 1 << 31, 1 << 30
NUMBER = FRAGMENT - 1
MESSAGES, FILE = 0, 1

# The largest message that is sent in fragments, and how many fragments and datagrams in a row are kept for what follows.
MOST_BYTES = 65536
MOST_FRAGMENTS = 256
MOST_HELD = 512
# What one answer may hold.
MOST_FIELDS, MOST_TEXT, LARGEST = 65000, 4_000_000, 1 << 62

# The server keeps this many frames for each client, fewer in a game for one.
FRAMES, FRAMES_ALONE = 64, 8
MOST_ENTITIES = 2048
EVERY_FIELD = 64

# Messages of the server whose content needs more than a list of its parts.
EVENT, SOUND, TIME, SERVER_INFO, LIGHT_STYLE, USER_INFO, DESCRIPTION, CLIENT_DATA = 3, 6, 7, 11, 12, 13, 14, 15
PINGS, STATIC_ENTITY, RELIABLE_EVENT, BASELINES, TEMPORARY, RESTORE, NEW_USER_MESSAGE = 17, 20, 21, 22, 23, 33, 39
ENTITIES, DELTA_ENTITIES, RESOURCES, CUSTOMIZATION, PROXY, DIRECTOR, VOICE, EXEC = 40, 41, 43, 46, 50, 51, 53, 59
FIRST_USER_MESSAGE = 64
# What a client says to get its first frame.
SPAWN = b"\x03spawn "

# The others: name, and the parts in order. Codes: b B one byte, s w two (b and w without a sign), l four, f a float,
# z a text, c a coordinate, P three of them, a h an angle in one and in two bytes, x the sixteen bytes of a hash.
PLAIN = {
    1: ("nop", ""),
    2: ("disconnect", "reason:z"),
    4: ("version", "protocol:l"),
    5: ("setview", "entity:s"),
    8: ("print", "text:z"),
    9: ("stufftext", "text:z"),
    10: ("setangle", "pitch:h yaw:h roll:h"),
    16: ("stopsound", "channel:w"),
    18: ("particle", "origin:P direction.x:B direction.y:B direction.z:B count:b color:b"),
    24: ("setpause", "paused:b"),
    25: ("signonnum", "number:b"),
    26: ("centerprint", "text:z"),
    27: ("killedmonster", ""),
    28: ("foundsecret", ""),
    29: ("staticsound", "origin:P sound:s volume:b attenuation:b entity:s pitch:b flags:b"),
    30: ("intermission", ""),
    31: ("finale", "text:z"),
    32: ("cdtrack", "track:b loop:b"),
    34: ("cutscene", "text:z"),
    35: ("weaponanim", "sequence:b body:b"),
    36: ("decalname", "index:b name:z"),
    37: ("roomtype", "type:s"),
    38: ("addangle", "yaw:h"),
    42: ("choke", ""),
    44: ("movevars", "gravity:f stopspeed:f maxspeed:f spectatormaxspeed:f accelerate:f airaccelerate:f wateraccelerate:f "
         "friction:f edgefriction:f waterfriction:f entgravity:f bounce:f stepsize:f maxvelocity:f zmax:f waveheight:f "
         "footsteps:b rollangle:f rollspeed:f skycolor.r:f skycolor.g:f skycolor.b:f skyvec.x:f skyvec.y:f skyvec.z:f "
         "skyname:z"),
    45: ("resourcerequest", "spawncount:l start:l"),
    47: ("crosshairangle", "pitch:B yaw:B"),
    48: ("soundfade", "percent:b hold:b out:b in:b"),
    49: ("filetransferfailed", "name:z"),
    52: ("voiceinit", "codec:z quality:b"),
    54: ("extrainfo", "fallback:z cheats:b"),
    55: ("timescale", "scale:f"),
    56: ("resourcelocation", "url:z"),
    57: ("cvarvalue", "name:z"),
    58: ("cvarvalue2", "request:l name:z"),
}

BEAM = "startframe:b framerate:b life:b width:b noise:b color.r:b color.g:b color.b:b brightness:b speed:b"
RING = "origin:P axis:P sprite:s " + BEAM
BLOOD = "origin:P direction:P color:b speed:b"
LINE = "start:P end:P life:s color.r:b color.g:b color.b:b"
BUBBLES = "mins:P maxs:P height:c sprite:s count:b speed:c"
# Temporary entities by their type. Two more have parts that depend on others.
TEMPORARIES = {
    0: ("beampoints", "start:P end:P sprite:s " + BEAM),
    1: ("beamentpoint", "entity:s end:P sprite:s " + BEAM),
    2: ("gunshot", "origin:P"),
    3: ("explosion", "origin:P sprite:s scale:b framerate:b flags:b"),
    4: ("tarexplosion", "origin:P"),
    5: ("smoke", "origin:P sprite:s scale:b framerate:b"),
    6: ("tracer", "start:P end:P"),
    7: ("lightning", "start:P end:P life:b width:b noise:b sprite:s"),
    8: ("beaments", "entity:s target:s sprite:s " + BEAM),
    9: ("sparks", "origin:P"),
    10: ("lavasplash", "origin:P"),
    11: ("teleport", "origin:P"),
    12: ("explosion2", "origin:P color:b colors:b"),
    14: ("implosion", "origin:P radius:b count:b life:b"),
    15: ("spritetrail", "start:P end:P sprite:s count:b life:b scale:b speed:b noise:b"),
    17: ("sprite", "origin:P sprite:s scale:b brightness:b"),
    18: ("beamsprite", "start:P end:P beam:s sprite:s"),
    19: ("beamtorus", RING),
    20: ("beamdisk", RING),
    21: ("beamcylinder", RING),
    22: ("beamfollow", "entity:s sprite:s life:b width:b color.r:b color.g:b color.b:b brightness:b"),
    23: ("glowsprite", "origin:P model:s life:b scale:b brightness:b"),
    24: ("beamring", "entity:s target:s sprite:s " + BEAM),
    25: ("streaksplash", "origin:P direction:P color:b count:s speed:s noise:s"),
    27: ("dlight", "origin:P radius:b color.r:b color.g:b color.b:b life:b decay:b"),
    28: ("elight", "entity:s origin:P radius:c color.r:b color.g:b color.b:b life:b decay:c"),
    30: ("line", LINE),
    31: ("box", LINE),
    99: ("killbeam", "entity:s"),
    100: ("largefunnel", "origin:P sprite:s flags:s"),
    101: ("bloodstream", BLOOD),
    102: ("showline", "start:P end:P"),
    103: ("blood", BLOOD),
    104: ("decal", "origin:P decal:b entity:s"),
    105: ("fizz", "entity:s sprite:s density:b"),
    106: ("model", "origin:P velocity:P yaw:a model:s sound:b life:b"),
    107: ("explodemodel", "origin:P velocity:c model:s count:s life:b"),
    108: ("breakmodel", "origin:P size:P velocity:P noise:b model:s count:b life:b flags:b"),
    109: ("gunshotdecal", "origin:P entity:s decal:b"),
    110: ("spritespray", "origin:P velocity:P sprite:s count:b speed:b noise:b"),
    111: ("armorricochet", "origin:P scale:b"),
    112: ("playerdecal", "player:b origin:P entity:s decal:b"),
    113: ("bubbles", BUBBLES),
    114: ("bubbletrail", BUBBLES),
    115: ("bloodsprite", "origin:P sprite:s drop:s color:b scale:b"),
    116: ("worlddecal", "origin:P decal:b"),
    117: ("worlddecalhigh", "origin:P decal:b"),
    118: ("decalhigh", "origin:P decal:b entity:s"),
    119: ("projectile", "origin:P velocity:P model:s life:b owner:b"),
    120: ("spray", "origin:P direction:P model:s count:b speed:b noise:b rendermode:b"),
    121: ("playersprites", "entity:s model:s count:b variance:b"),
    122: ("particleburst", "origin:P radius:s color:b life:b"),
    123: ("firefield", "origin:P radius:s model:s count:b flags:b life:b"),
    124: ("playerattachment", "player:b offset:c model:s life:s"),
    125: ("killplayerattachments", "player:b"),
    126: ("multigunshot", "origin:P direction:P noise.x:c noise.y:c count:b decal:b"),
    127: ("usertracer", "origin:P velocity:P life:b color:b length:b"),
}
BSP_DECAL, TEXT_MESSAGE = 13, 29

# Messages of the game that tell what happened to whom. Others, and these if their length does not fit, are bytes.
USER_MESSAGES = {
    "AmmoPickup": "ammo:b count:b",
    "AmmoX": "ammo:b count:b",
    "Battery": "armor:s",
    "CurWeapon": "state:b weapon:B clip:B",
    "Damage": "armor:b health:b type:l origin:P",
    "DeathMsg": "killer:b victim:b weapon:z",
    "Health": "health:b",
    "ItemPickup": "item:z",
    "SayText": "player:b text:z",
    "ScoreInfo": "player:b frags:s deaths:s class:s team:s",
    "SetFOV": "fov:b",
    "TeamInfo": "player:b team:z",
    "WeapPickup": "weapon:b",
}

# Types of delta-coded fields, and the flag of those with a sign.
BYTE, SHORT, FLOAT, INTEGER, ANGLE, WINDOW_8, WINDOW, STRING = 1, 2, 4, 8, 16, 32, 64, 128
SIGNED = 1 << 31
AS_FLOAT = {FLOAT, ANGLE, WINDOW_8, WINDOW}
AS_TEXT = {STRING}
# How the description of a field is coded itself: type, name, place in memory, size, bits, and the two scales times 4000.
OF_A_FIELD = ((32, 1), (0, 1), (16, 1), (8, 1), (8, 1), (32, 4000), (32, 4000))

PLAYERS, OTHERS, BEAMS = "entity_state_player_t", "entity_state_t", "custom_entity_state_t"

SOUND_VOLUME, SOUND_ATTENUATION, SOUND_LARGE, SOUND_PITCH, SOUND_SENTENCE = 1, 2, 4, 8, 16
# Kinds of resources that messages refer to, and the flag of those with a hash.
SAMPLE, EVENT_SCRIPT = 0, 5
CUSTOM = 4


class Broken(Exception):
    """The datagram is not what GoldSrc sends, or refers to something that is not known."""


# The mask --------------------------------------------------------------------------------------------------------------

MASK = bytes.fromhex("05617aed1bca0d9b4af164c7b58edfa0")
MASK_OF_MAP = bytes.fromhex("20071361034517720a2d480c4a12a9b5")


def swap(word):
    return int.from_bytes(word.to_bytes(4, "little"), "big")


def mask_words(table, sequence):
    """What sixteen consecutive words of a datagram with this number are combined with."""
    key = swap(~sequence & 0xFFFFFFFF) ^ sequence
    words = [sum((0xA5 | j << j | j | table[(i + j) % 16]) << 8 * j for j in range(4)) for i in range(16)]
    return struct.pack("<16I", *(word ^ key for word in words))


MASKS = [mask_words(MASK, sequence) for sequence in range(256)]


def unmask(content, mask):
    """Shows the content of a datagram: words are combined with the mask, and their bytes are reversed."""
    size = len(content) & ~3
    repeated = (mask * (size // len(mask) + 1))[:size]
    combined = int.from_bytes(content[:size], "little") ^ int.from_bytes(repeated, "little")
    words = array.array("I", combined.to_bytes(size, "little"))
    words.byteswap()
    return words.tobytes() + content[size:]


# Reading -----------------------------------------------------------------------------------------------------------------


class Reader:
    """The bytes of messages, from the first to the last."""

    def __init__(self, content):
        self.content = content
        self.at = 0

    def take(self, count):
        end = self.at + count
        if end > len(self.content):
            raise Broken("the message ends early")
        taken = self.content[self.at : end]
        self.at = end
        return taken

    def number(self, layout):
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def byte(self):
        return self.take(1)[0]

    def text(self):
        end = self.content.find(b"\0", self.at)
        if end < 0:
            raise Broken("a text does not end")
        taken = self.content[self.at : end]
        self.at = end + 1
        return taken.decode("latin-1")

    def left(self):
        return len(self.content) - self.at


class Bits:
    """A part of a message that consists of bits, the lowest of each byte first. It ends at the end of a byte."""

    def __init__(self, reader):
        self.reader = reader
        self.stream = int.from_bytes(reader.content[reader.at :], "little")
        self.at, self.limit = 0, 8 * reader.left()

    def take(self, count):
        at = self.at
        end = at + count
        if end > self.limit:
            raise Broken("the bits end early")
        self.at = end
        return self.stream >> at & (1 << count) - 1

    def signed(self, count):
        value = self.take(count)
        return -(value >> 1) if value & 1 else value >> 1

    def peek(self, count):
        value = self.take(count)
        self.at -= count
        return value

    def text(self):
        taken = bytearray()
        while byte := self.take(8):
            taken.append(byte)
        return taken.decode("latin-1")

    def coordinate(self):
        whole, part = self.take(1), self.take(1)
        if not (whole or part):
            return 0.0
        negative = self.take(1)
        value = (self.take(12) if whole else 0) + (self.take(3) / 8 if part else 0)
        return -value if negative else float(value)

    def point(self):
        given = self.take(3)
        return [self.coordinate() if given >> axis & 1 else 0.0 for axis in range(3)]

    def end(self):
        self.reader.take(max(1, self.at + 7 >> 3))


# Fields -----------------------------------------------------------------------------------------------------------------


class Fields:
    """The fields of one answer, each as its JSON."""

    def __init__(self):
        self.parts = []
        self.count = 0

    def add(self, field):
        self.parts.append(json.dumps(field, separators=(",", ":")))
        self.count += 1

    def integer(self, name, value):
        self.add(prony.integer(name, value))

    def single(self, name, value):
        self.add(prony.single(name, value))

    def text(self, name, value):
        self.add(prony.text(name, value))

    def flag(self, name, value):
        """Only what is set."""
        if value:
            self.add(prony.flag(name, True))

    def point(self, name, point):
        for axis, value in zip("xyz", point):
            self.single(f"{name}.{axis}", value)

    def state(self, state):
        if state.count:
            self.parts.append(state.json)
            self.count += state.count

    def mark(self):
        return len(self.parts), self.count

    def back_to(self, mark):
        parts, self.count = mark
        del self.parts[parts:]

    def raw(self, content, reason):
        self.text("raw", content.hex())
        self.text("raw.reason", reason)

    def answer(self, content):
        joined = ",".join(self.parts)
        if self.count > MOST_FIELDS or len(joined) > MOST_TEXT:
            instead = Fields()
            instead.raw(content, "too many fields")
            joined = ",".join(instead.parts)
        return prony.Rendered(joined)


def parsed(layout):
    return [tuple(part.rsplit(":", 1)) for part in layout.split()]


PLAIN = {number: (name, parsed(layout)) for number, (name, layout) in PLAIN.items()}
TEMPORARIES = {number: (name, parsed(layout)) for number, (name, layout) in TEMPORARIES.items()}
USER_MESSAGES = {name: parsed(layout) for name, layout in USER_MESSAGES.items()}
NUMBERS = {"b": "<B", "B": "<b", "s": "<h", "w": "<H", "l": "<i"}


def read_parts(fields, name, parts, reader):
    for part, code in parts:
        part = f"{name}.{part}"
        if code in NUMBERS:
            fields.integer(part, reader.number(NUMBERS[code]))
        elif code == "f":
            fields.single(part, reader.number("<f"))
        elif code == "z":
            fields.text(part, reader.text())
        elif code == "c":
            fields.single(part, reader.number("<h") / 8)
        elif code == "P":
            fields.point(part, [reader.number("<h") / 8 for _ in range(3)])
        elif code == "a":
            fields.single(part, reader.byte() * 360 / 256)
        elif code == "h":
            fields.single(part, reader.number("<h") * 360 / 65536)
        else:
            fields.text(part, reader.take(16).hex())


def word(name, instead):
    """A name from the network as a part of a field's name."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)[:32] or instead


# Delta coding ------------------------------------------------------------------------------------------------------------


class Field:
    """One field of a description."""

    def __init__(self, kind, name, bits, divisor, factor):
        self.kind, self.signed = kind & ~SIGNED, bool(kind & SIGNED)
        self.name, self.bits = name, bits
        self.divisor = divisor
        self.factor = factor
        if self.kind not in (BYTE, SHORT, FLOAT, INTEGER, ANGLE, WINDOW_8, WINDOW, STRING):
            raise Broken(f"a field has the type {kind:#x}")
        if not 1 <= bits <= 32 and self.kind != STRING:
            raise Broken(f"a field has {bits} bits")
        self.is_float = self.kind in AS_FLOAT
        self.nothing = 0.0 if self.is_float else "" if self.kind == STRING else 0
        base, bracket, index = name.partition("[")
        label = word(base.replace(".", "__"), "field").replace("__", ".")
        if bracket:
            axis = {"0]": "x", "1]": "y", "2]": "z"}.get(index) if self.is_float else None
            label += f".{axis}" if axis else f"[{word(index.rstrip(']'), '0')}]"
        self.label = label

    def read(self, bits, time):
        kind = self.kind
        if kind == STRING:
            return bits.text()
        if kind == ANGLE:
            return bits.take(self.bits) * 360.0 / (1 << self.bits)
        if kind == WINDOW_8:
            return (int(time * 100) - bits.signed(8)) / 100
        if kind == WINDOW:
            return (int(time * self.divisor) - bits.signed(self.bits)) / self.divisor
        value = bits.signed(self.bits) if self.signed else bits.take(self.bits)
        if self.divisor != 1:
            value /= self.divisor
        if self.factor != 1:
            value *= self.factor
        return float(value) if self.is_float else within(int(value))

    def render(self, prefix, value):
        if self.is_float:
            return f'["{prefix}.{self.label}","f32",{value!r}]'
        if not value:
            return ""
        if self.kind == STRING:
            return json.dumps(prony.text(f"{prefix}.{self.label}", value))
        return f'["{prefix}.{self.label}","int",{value}]'


def given_fields(bits, count):
    """Numbers of the fields that follow."""
    size = bits.take(3)
    given = bits.take(8 * size)
    if given >> count:
        raise Broken("a field is given that the description does not have")
    return [at for at in range(given.bit_length()) if given >> at & 1]


class Table:
    """Fields of one structure, as the server described them."""

    def __init__(self, bits):
        self.fields = []
        count = bits.take(16)
        if count > EVERY_FIELD:
            raise Broken(f"a description has {count} fields")
        for _ in range(count):
            values = [0] * len(OF_A_FIELD)
            for at in given_fields(bits, len(OF_A_FIELD)):
                size, scale = OF_A_FIELD[at]
                value = bits.take(size) if size else bits.text()
                values[at] = value / scale if scale > 1 else value
            kind, name, _, _, size, divisor, factor = values
            # As the client has it: what is nearly one is one. Nothing is divided by nothing.
            divisor = 1 if 0.9999 < divisor < 1.0001 or not divisor else divisor
            factor = 1 if 0.9999 < factor < 1.0001 else factor
            self.fields.append(Field(kind, name or f"field{len(self.fields)}", size, divisor, factor))

    def read(self, bits, time):
        """Number and value of each field that is sent."""
        fields = self.fields
        return [(at, fields[at].read(bits, time)) for at in given_fields(bits, len(fields))]


class State:
    """A structure at one time. It does not change: the next frame has another one, which shares what is equal."""

    __slots__ = ("values", "prefix", "table", "parts", "json", "count")

    def __init__(self, values, prefix=None, table=None, parts=()):
        self.values, self.prefix, self.table, self.parts = values, prefix, table, parts
        present = [part for part in parts if part]
        self.count = len(present)
        self.json = ",".join(present)

    def after(self, changes, prefix, table):
        values, fields = self.values, table.fields
        if changes:
            values = dict(values)
            for at, value in changes:
                values[fields[at].name] = value
        if prefix == self.prefix and table is self.table:
            if not changes:
                return self
            parts = list(self.parts)
            for at, value in changes:
                parts[at] = fields[at].render(prefix, value)
        else:
            parts = [
                field.render(prefix, suited(values[field.name], field)) if field.name in values else "" for field in fields
            ]
        return State(values, prefix, table, parts)


def suited(value, field):
    """The value of a field that another table may have described as something else."""
    if isinstance(value, str) or field.kind == STRING:
        return value if isinstance(value, str) and field.kind == STRING else field.nothing
    return float(value) if field.is_float else within(int(value))


def within(value):
    """No scale makes a number that an answer cannot hold."""
    return max(-LARGEST, min(LARGEST, value))


NOTHING = State({})


class Frame:
    """Content of a datagram that later ones may refer to."""

    def __init__(self):
        self.client, self.weapons, self.entities = NOTHING, {}, {}


UNUSED = Frame()


# One client --------------------------------------------------------------------------------------------------------------


class Channel:
    """The conversation with one client, as its server has it."""

    def __init__(self, is_proxy=False):
        self.is_proxy = is_proxy
        # The reliable message on its way: its bit, the datagram that last carried it, whether it is not acknowledged yet.
        self.bit, self.carrier, self.unconfirmed = 0, 0, False
        self.heard_last, self.sent_last, self.spawned = 0, 0, None
        self.pieces, self.pieces_count = {}, 0
        self.split_number, self.split = None, {}
        self.incomplete = 0
        self.user_messages = {}
        self.new_level()

    def new_level(self):
        self.tables, self.baselines, self.instanced, self.names = {}, {}, [], {}
        # Places of the ring that are not there were not used yet; those that are None could not be decoded.
        self.frames, self.ring, self.players = {}, FRAMES, 32
        self.time, self.frame, self.packet = 0.0, None, []

    def heard(self, payload):
        """A datagram of the client: what it acknowledges, and whether the server makes its first frame now."""
        if len(payload) < HEAD_BYTES or payload[:4] in (CONNECTIONLESS, SPLIT):
            return
        sequence, acknowledged = struct.unpack_from("<II", payload)
        if sequence & NUMBER <= self.heard_last:
            return
        self.heard_last = sequence & NUMBER
        if acknowledged >> 31 == self.bit and acknowledged & NUMBER >= self.carrier:
            self.unconfirmed = False
        if SPAWN in unmask(payload[HEAD_BYTES:], MASKS[sequence & 0xFF]):
            self.spawned = self.sent_last + 1

    def sent(self, payload):
        fields = Fields()
        if payload[:4] == SPLIT:
            joined = self.join(payload)
            if joined is None:
                return self.hold(payload, fields)
            if len(joined) < HEAD_BYTES or joined[:4] == SPLIT:
                fields.raw(payload, "what was split is no datagram")
                return fields
            payload = joined
        if len(payload) < HEAD_BYTES:
            fields.raw(payload, "the datagram is too short")
            return fields
        head, acknowledged = struct.unpack_from("<II", payload)
        sequence = self.sent_last = head & NUMBER
        reader = Reader(unmask(payload[HEAD_BYTES:], MASKS[sequence & 0xFF]))
        fields.integer("packet.sequence", sequence)
        fields.integer("packet.ack", acknowledged & ~RELIABLE)
        fields.flag("packet.ack_reliable", acknowledged & RELIABLE)
        fields.flag("packet.reliable", head & RELIABLE)
        again = bool(head & RELIABLE) and self.unconfirmed
        if head & RELIABLE:
            self.bit ^= not again
            self.carrier, self.unconfirmed = sequence, True
        fields.flag("packet.resent", again)
        complete, waits = None, False
        begin = fields.mark()
        if head & FRAGMENT:
            try:
                complete, waits = self.fragments(reader, fields, again)
            except Broken as broken:
                fields.back_to(begin)
                fields.raw(reader.content, str(broken))
                return fields
        self.frame = None
        self.messages(reader, fields, sequence)
        if complete is not None:
            try:
                plain = unpacked(complete)
            except Broken as broken:
                fields.raw(complete, str(broken))
                return fields
            # The first frame has the place of the datagram that was next when the client requested it.
            self.frame = None
            self.messages(Reader(plain), fields, self.spawned or sequence)
        if waits and fields.mark() == begin:
            return self.hold(payload, fields)
        self.incomplete = 0
        return fields

    def hold(self, payload, fields):
        self.incomplete += 1
        if self.incomplete > MOST_HELD:
            fields.raw(payload, "a part of something that is never completed")
            return fields
        return prony.HELD

    def join(self, payload):
        """The whole of what was sent in parts, when all of them are there."""
        if len(payload) <= SPLIT_HEAD_BYTES:
            return b""
        number, part = struct.unpack_from("<iB", payload, 4)
        if number != self.split_number:
            self.split_number, self.split = number, {}
        self.split[part >> 4] = payload[SPLIT_HEAD_BYTES:]
        if any(at not in self.split for at in range(part & 0xF)):
            return None
        joined = b"".join(self.split[at] for at in range(part & 0xF))
        self.split_number = None
        return joined

    def fragments(self, reader, fields, again):
        """Takes fragments out of a datagram. Returns the message that is complete now, and whether one is not."""
        found = []
        for stream in (MESSAGES, FILE):
            if reader.byte():
                found.append((stream, *struct.unpack("<IHH", reader.take(8))))
        content = reader.content[reader.at :]
        complete, waits, behind = None, False, len(content)
        for stream, number, offset, length in reversed(found):
            at, count = number >> 16, number & 0xFFFF
            if offset + length > behind or not 1 <= at <= count:
                raise Broken("a fragment is not inside of its datagram")
            piece, content = content[offset : offset + length], content[:offset] + content[offset + length :]
            behind = offset
            if stream == FILE:
                fields.integer("file.fragment", at)
                fields.integer("file.fragments", count)
                fields.text("file.content", piece.hex())
            elif count > MOST_FRAGMENTS:
                fields.integer("fragment.number", at)
                fields.raw(piece, f"a message of {count} fragments")
            elif again and at not in self.pieces and not self.pieces:
                # The last one of a message that is complete already.
                fields.integer("fragment.number", at)
                fields.text("fragment.content", piece.hex())
            else:
                if count != self.pieces_count:
                    self.pieces, self.pieces_count = {}, count
                self.pieces[at] = piece
                if len(self.pieces) == count:
                    complete = b"".join(self.pieces[at] for at in range(1, count + 1))
                    self.pieces, self.pieces_count = {}, 0
                else:
                    waits = True
        reader.content, reader.at = content, 0
        return complete, waits

    # Messages -----------------------------------------------------------------------------------------------------------

    def messages(self, reader, fields, sequence):
        while reader.left():
            at, mark = reader.at, fields.mark()
            try:
                self.message(reader.byte(), reader, fields, sequence)
            except Broken as broken:
                # What was read of a message that is broken is in its bytes.
                fields.back_to(mark)
                fields.raw(reader.content[at:], f"message {reader.content[at]}: {broken}")
                self.frames[sequence % self.ring] = None
                return

    def message(self, number, reader, fields, sequence):
        if number in PLAIN:
            name, parts = PLAIN[number]
            if not parts and number != 1:
                fields.flag(name, True)
            read_parts(fields, name, parts, reader)
        elif number in self.OTHERS:
            self.OTHERS[number](self, reader, fields, sequence)
        elif number in self.user_messages:
            self.user_message(number, reader, fields)
        else:
            raise Broken("it is not known")

    def user_message(self, number, reader, fields):
        name, size = self.user_messages[number]
        content = reader.take(reader.byte() if size == 255 else size)
        if name in USER_MESSAGES:
            inner, trial = Reader(content), Fields()
            try:
                read_parts(trial, f"message.{name}", USER_MESSAGES[name], inner)
            except Broken:
                inner.at = -1
            if not inner.left():
                fields.parts += trial.parts
                fields.count += trial.count
                return
        fields.text(f"message.{name}", content.hex())

    def new_user_message(self, reader, fields, _):
        number, size, name = reader.byte(), reader.byte(), reader.take(16).split(b"\0")[0].decode("latin-1")
        if number < FIRST_USER_MESSAGE:
            raise Broken(f"a message of the game has the number {number}")
        self.user_messages[number] = word(name, f"message_{number}"), size
        fields.text(f"newusermsg[{number}].name", name)
        fields.integer(f"newusermsg[{number}].size", size)

    def server_time(self, reader, fields, _):
        time = reader.number("<f")
        fields.single("time", time)
        if not -1e9 < time < 1e9:
            raise Broken("it is no time")
        self.time = time

    def server_info(self, reader, fields, _):
        self.new_level()
        protocol = reader.number("<i")
        if protocol != 48:
            raise Broken(f"the protocol is {protocol}")
        fields.integer("serverinfo.spawncount", reader.number("<i"))
        checksum, library, players, player = reader.take(4), reader.take(16), reader.byte(), reader.byte()
        plain = unmask(checksum, mask_words(MASK_OF_MAP, (-1 - player) & 0xFF))
        fields.integer("serverinfo.map_checksum", struct.unpack("<I", plain)[0])
        fields.text("serverinfo.library", library.hex())
        fields.integer("serverinfo.players", players)
        fields.integer("serverinfo.player", player)
        read_parts(fields, "serverinfo", parsed("deathmatch:b game:z hostname:z map:z mapcycle:z secure:b"), reader)
        self.players, self.ring = players, FRAMES if players > 1 else FRAMES_ALONE

    def light_style(self, reader, fields, _):
        fields.text(f"lightstyle[{reader.byte()}]", reader.text())

    def user_info(self, reader, fields, _):
        name = f"userinfo[{reader.byte()}]"
        read_parts(fields, name, parsed("id:l info:z key:x"), reader)

    def static_entity(self, reader, fields, _):
        layout = "model:s sequence:b frame:b colormap:w skin:b x:c pitch:a y:c yaw:a z:c roll:a"
        read_parts(fields, "staticentity", parsed(layout), reader)
        mode = reader.byte()
        fields.integer("staticentity.rendermode", mode)
        if mode:
            read_parts(fields, "staticentity", parsed("amount:b color.r:b color.g:b color.b:b effect:b"), reader)

    def temporary(self, reader, fields, _):
        kind = reader.byte()
        if kind in TEMPORARIES:
            name, parts = TEMPORARIES[kind]
            fields.flag(f"tempentity.{name}", True)
            read_parts(fields, f"tempentity.{name}", parts, reader)
        elif kind == BSP_DECAL:
            read_parts(fields, "tempentity.bspdecal", parsed("origin:P decal:s"), reader)
            entity = reader.number("<h")
            fields.integer("tempentity.bspdecal.entity", entity)
            if entity:
                fields.integer("tempentity.bspdecal.model", reader.number("<h"))
        elif kind == TEXT_MESSAGE:
            name = "tempentity.textmessage"
            read_parts(fields, name, parsed("channel:b x:s y:s"), reader)
            effect = reader.byte()
            fields.integer(f"{name}.effect", effect)
            layout = "color:l effectcolor:l fadein:w fadeout:w hold:w " + ("delay:w text:z" if effect == 2 else "text:z")
            read_parts(fields, name, parsed(layout), reader)
        else:
            raise Broken(f"no temporary entity has the type {kind}")

    def restore(self, reader, fields, _):
        fields.text("restore.save", reader.text())
        for _ in range(reader.byte()):
            fields.text("restore.map", reader.text())

    def customization(self, reader, fields, _):
        name = f"customization[{reader.byte()}]"
        read_parts(fields, name, parsed("type:b name:z index:s size:l"), reader)
        flags = reader.byte()
        fields.integer(f"{name}.flags", flags)
        if flags & CUSTOM:
            fields.text(f"{name}.hash", reader.take(16).hex())

    def proxy(self, reader, fields, _):
        mode = reader.byte()
        fields.integer("hltv.mode", mode)
        if mode == 1:
            fields.text("hltv.status", reader.take(10).hex())
        elif mode:
            raise Broken(f"no message for HLTV has the mode {mode}")

    def director(self, reader, fields, _):
        fields.text("director", reader.take(reader.byte()).hex())

    def voice(self, reader, fields, _):
        fields.integer("voice.player", reader.byte())
        fields.text("voice.content", reader.take(reader.number("<H")).hex())

    def execute(self, reader, fields, _):
        kind = reader.byte()
        fields.integer("exec.kind", kind)
        if kind:
            fields.integer("exec.script", reader.byte())

    # Parts of messages that consist of bits -------------------------------------------------------------------------------

    def sound(self, reader, fields, _):
        bits = Bits(reader)
        flags = bits.take(9)
        volume = bits.take(8) if flags & SOUND_VOLUME else 255
        attenuation = bits.take(8) if flags & SOUND_ATTENUATION else 64
        channel, entity = bits.take(3), bits.take(11)
        number = bits.take(16 if flags & SOUND_LARGE else 8)
        origin = bits.point()
        pitch = bits.take(8) if flags & SOUND_PITCH else 100
        bits.end()
        sample = f"sentence {number}" if flags & SOUND_SENTENCE else self.names.get((SAMPLE, number), f"sound {number}")
        name = f"sound[{entity}]"
        fields.text(f"{name}.sample", sample)
        for part, value in (("channel", channel), ("volume", volume), ("pitch", pitch), ("flags", flags >> 5 << 5)):
            fields.integer(f"{name}.{part}", value)
        fields.single(f"{name}.attenuation", attenuation / 64)
        fields.point(f"{name}.origin", origin)

    def pings(self, reader, fields, _):
        bits = Bits(reader)
        while bits.take(1):
            name = f"pings[{bits.take(5)}]"
            fields.integer(f"{name}.ping", bits.take(12))
            fields.integer(f"{name}.loss", bits.take(7))
        bits.end()

    def resources(self, reader, fields, _):
        bits = Bits(reader)
        count = bits.take(12)
        for at in range(count):
            kind, name, index, size, flags = bits.take(4), bits.text(), bits.take(12), bits.take(24), bits.take(3)
            self.names[kind, index] = name
            fields.text(f"resource[{at}].name", name)
            for part, value in (("type", kind), ("index", index), ("size", size), ("flags", flags)):
                fields.integer(f"resource[{at}].{part}", value)
            if flags & CUSTOM:
                fields.text(f"resource[{at}].hash", f"{bits.take(128):032x}")
            if bits.take(1):
                fields.text(f"resource[{at}].check", f"{bits.take(256):064x}")
        if bits.take(1):
            at = 0
            while bits.take(1):
                at = at + bits.take(5) if bits.take(1) else bits.take(10)
                fields.integer("consistency.resource", at)
        bits.end()

    def description(self, reader, fields, _):
        name = reader.text()
        bits = Bits(reader)
        table = Table(bits)
        bits.end()
        self.tables[name] = table
        name = word(name, "table")
        fields.integer(f"delta.{name}.fields", len(table.fields))
        for at, field in enumerate(table.fields):
            described = f"{field.name} {field.kind:#x} {field.signed:d} {field.bits} {field.divisor:g} {field.factor:g}"
            fields.text(f"delta.{name}[{at}]", described)

    def table(self, name):
        if name not in self.tables:
            raise Broken(f"`{name}` was not described")
        return self.tables[name]

    def table_of(self, number, is_beam):
        return self.table(BEAMS if is_beam else PLAYERS if 1 <= number <= self.players else OTHERS)

    def spawn_baselines(self, reader, fields, _):
        bits = Bits(reader)
        while bits.peek(16) != 0xFFFF:
            number, kind = bits.take(11), bits.take(2)
            table = self.table_of(number, not kind & 1)
            state = NOTHING.after(table.read(bits, self.time), f"baseline[{number}]", table)
            self.baselines[number] = state
            fields.state(state)
        bits.take(16)
        self.instanced = []
        for number in range(bits.take(6)):
            table = self.table(OTHERS)
            state = NOTHING.after(table.read(bits, self.time), f"instanced[{number}]", table)
            self.instanced.append(state)
            fields.state(state)
        bits.end()

    def current(self, sequence):
        """The frame of this datagram. What it does not say is as it was when its place in the ring was last used."""
        if self.frame is None:
            self.frame = self.frames[sequence % self.ring] = self.frames.get(sequence % self.ring) or Frame()
        return self.frame

    def earlier(self, number):
        frame = self.frames.get(number % self.ring, UNUSED)
        if frame is None:
            raise Broken(f"it refers to frame {number}, which was not decoded")
        return frame

    def client_data(self, reader, fields, sequence):
        if self.is_proxy:
            fields.flag("clientdata", True)
            return
        bits = Bits(reader)
        client, weapons = NOTHING, {}
        if bits.take(1):
            number = bits.take(8)
            fields.integer("clientdata.reference", number)
            earlier = self.earlier(number)
            client, weapons = earlier.client, dict(earlier.weapons)
        table = self.table("clientdata_t")
        client = client.after(table.read(bits, self.time), "clientdata", table)
        while bits.take(1):
            table = self.table("weapon_data_t")
            number = bits.take(6)
            weapons[number] = weapons.get(number, NOTHING).after(table.read(bits, self.time), f"weapon[{number}]", table)
        bits.end()
        frame = self.current(sequence)
        frame.client, frame.weapons = client, weapons
        fields.state(client)
        for number in sorted(weapons):
            fields.state(weapons[number])

    def all_entities(self, reader, fields, sequence):
        self.entities(reader, fields, sequence, {}, True)

    def delta_entities(self, reader, fields, sequence):
        count, number = struct.unpack("<HB", reader.take(3))
        fields.integer("entities.reference", number)
        reader.at -= 3
        self.entities(reader, fields, sequence, self.earlier(number).entities, False)

    def entities(self, reader, fields, sequence, before, is_full):
        count = reader.number("<H")
        if not is_full:
            reader.byte()
        bits = Bits(reader)
        entities, order, number = dict(before), [], 0
        while bits.peek(16):
            first = bits.take(1)
            if is_full and first:
                number += 1
            else:
                number = bits.take(11) if bits.take(1) else number + bits.take(6)
            if number >= MOST_ENTITIES:
                raise Broken(f"an entity has the number {number}")
            if first and not is_full:
                if entities.pop(number, None) is None:
                    raise Broken(f"entity {number} is removed and was not there")
                continue
            table = self.table_of(number, bits.take(1))
            base = None
            if self.instanced and bits.take(1):
                at = bits.take(6)
                if at >= len(self.instanced):
                    raise Broken(f"instanced baseline {at} is not known")
                base = self.instanced[at]
            elif is_full and bits.take(1):
                back = bits.take(6)
                if not 1 <= back <= len(order):
                    raise Broken(f"it refers to the entity {back} before the first ones")
                base = order[-back]
            if base is None:
                base = before.get(number) or self.baselines.get(number, NOTHING)
            state = base.after(table.read(bits, self.time), f"entity[{number}]", table)
            entities[number] = state
            order.append(state)
        bits.take(16)
        bits.end()
        if len(entities) != count:
            raise Broken(f"{len(entities)} entities were read where {count} were announced")
        self.current(sequence).entities = entities
        self.packet = sorted(entities)
        beams = self.tables.get(BEAMS)
        for number in self.packet:
            state = entities[number]
            if state.table is beams:
                fields.flag(f"entity[{number}].beam", True)
            fields.state(state)

    def event_fields(self, fields, index, entity, state, delay):
        name = f"event[{entity}]"
        fields.text(f"{name}.script", self.names.get((EVENT_SCRIPT, index), f"event {index}"))
        fields.single(f"{name}.delay", delay / 100)
        fields.state(state)

    def events(self, reader, fields, _):
        bits = Bits(reader)
        for _ in range(bits.take(5)):
            index, entity, table, changes = bits.take(10), None, None, []
            if bits.take(1):
                at = bits.take(11)
                entity = self.packet[at] if at < len(self.packet) else None
                if bits.take(1):
                    table = self.table("event_t")
                    changes = table.read(bits, self.time)
            delay = bits.take(16) if bits.take(1) else 0
            self.event(fields, index, entity, table, changes, delay)
        bits.end()

    def reliable_event(self, reader, fields, _):
        bits = Bits(reader)
        index = bits.take(10)
        table = self.table("event_t")
        changes = table.read(bits, self.time)
        delay = bits.take(16) if bits.take(1) else 0
        bits.end()
        self.event(fields, index, None, table, changes, delay)

    def event(self, fields, index, entity, table, changes, delay):
        if entity is None:
            # Who is not in the frame is named by the event.
            named = {table.fields[at].name: value for at, value in changes}
            entity = named.get("entindex", 0)
        entity = entity if isinstance(entity, int) else 0
        state = NOTHING.after(changes, f"event[{entity}]", table) if table else NOTHING
        self.event_fields(fields, index, entity, state, delay)

    OTHERS = {
        EVENT: events, SOUND: sound, TIME: server_time, SERVER_INFO: server_info, LIGHT_STYLE: light_style,
        USER_INFO: user_info, DESCRIPTION: description, CLIENT_DATA: client_data, PINGS: pings, STATIC_ENTITY: static_entity,
        RELIABLE_EVENT: reliable_event, BASELINES: spawn_baselines, TEMPORARY: temporary, RESTORE: restore,
        NEW_USER_MESSAGE: new_user_message, ENTITIES: all_entities, DELTA_ENTITIES: delta_entities, RESOURCES: resources,
        CUSTOMIZATION: customization, PROXY: proxy, DIRECTOR: director, VOICE: voice, EXEC: execute,
    }


def unpacked(message):
    """A message as it was before it was compressed, if it was."""
    if not message.startswith(b"BZ2\0"):
        return message
    try:
        plain = bz2.BZ2Decompressor().decompress(message[4:], MOST_BYTES + 1)
    except (OSError, EOFError, ValueError):
        raise Broken("a compressed message cannot be unpacked") from None
    if len(plain) > MOST_BYTES:
        raise Broken("a compressed message is too long")
    return plain


class GoldSrc:
    def __init__(self):
        self.channels = {}
        self.proxies = set()

    def decode(self, datagram):
        if datagram.is_stream:
            return None
        key = datagram.process, datagram.socket, datagram.peer
        payload = datagram.payload
        if datagram.to_server:
            self.heard(key, payload)
            return None
        if payload[:4] == CONNECTIONLESS:
            if payload[4:5] == b"B":
                self.channels[key] = Channel(key in self.proxies)
            return [prony.text("connectionless", payload[4:].decode("latin-1"))]
        channel = self.channels.get(key)
        if channel is None:
            channel = self.channels[key] = Channel()
        fields = channel.sent(payload)
        return fields if fields is prony.HELD else fields.answer(payload)

    def heard(self, key, payload):
        if payload.startswith(CONNECTIONLESS + b"connect "):
            quoted = payload.split(b'"')
            hltv = re.search(rb"\\\*hltv\\\s*(\d+)", quoted[3]) if len(quoted) > 3 else None
            if hltv and int(hltv[1]) == 1:
                self.proxies.add(key)
            else:
                self.proxies.discard(key)
        elif key in self.channels:
            self.channels[key].heard(payload)


if __name__ == "__main__":
    prony.serve("GoldSrc 48", GoldSrc().decode)
