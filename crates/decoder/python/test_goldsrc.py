"""Tests of goldsrc.py: `python3 test_goldsrc.py`. A small server writes what the decoder reads."""

import bz2
import json
import os
import random
import struct
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
import goldsrc
import prony_decoder as prony

PEER = "127.0.0.1:27005"
FLOAT, INTEGER, BYTE, SHORT, ANGLE, WINDOW_8, WINDOW, STRING, SIGNED = 4, 8, 1, 2, 16, 32, 64, 128, 1 << 31
# Name, type, bits, scale.
ENTITY = [
    ("origin[0]", FLOAT | SIGNED, 21, 32), ("origin[1]", FLOAT | SIGNED, 21, 32), ("origin[2]", FLOAT | SIGNED, 21, 32),
    ("angles[1]", ANGLE, 16, 1), ("modelindex", INTEGER, 10, 1), ("animtime", WINDOW_8, 8, 1),
    ("starttime", WINDOW, 13, 100), ("controller[1]", BYTE, 8, 1), ("team", SHORT | SIGNED, 16, 1),
    ("rendercolor.r", BYTE, 8, 1),
]
CLIENT = [("origin[0]", FLOAT | SIGNED, 21, 32), ("health", FLOAT | SIGNED, 10, 1), ("physinfo", STRING, 1, 1)]
WEAPON = [("m_iClip", INTEGER | SIGNED, 10, 1), ("m_flNextPrimaryAttack", FLOAT | SIGNED, 22, 1000)]
EVENTS = [("entindex", INTEGER, 11, 1), ("origin[0]", FLOAT | SIGNED, 26, 8), ("fparam1", FLOAT | SIGNED, 22, 1000)]
TABLES = {
    "entity_state_t": ENTITY, "entity_state_player_t": ENTITY, "custom_entity_state_t": ENTITY[:5],
    "clientdata_t": CLIENT, "weapon_data_t": WEAPON, "event_t": EVENTS,
}


def mask(content, sequence, table=goldsrc.MASK):
    """What the server sends for this content: the bytes of each word reversed, then combined."""
    key = struct.unpack("<16I", goldsrc.mask_words(table, sequence))
    words = [goldsrc.swap(word) for (word,) in struct.iter_unpack("<I", content[: len(content) & ~3])]
    hidden = (word ^ key[at % 16] for at, word in enumerate(words))
    return struct.pack(f"<{len(words)}I", *hidden) + content[len(content) & ~3 :]


class Bits:
    def __init__(self):
        self.bits = []

    def put(self, value, count):
        self.bits += [value >> at & 1 for at in range(count)]
        return self

    def signed(self, value, count):
        return self.put(int(value < 0), 1).put(abs(value), count - 1)

    def text(self, text):
        for byte in text.encode() + b"\0":
            self.put(byte, 8)
        return self

    def delta(self, fields, values, time=0.0):
        """The fields of a description that `values` has."""
        given = sum(1 << at for at, field in enumerate(fields) if field[0] in values)
        size = given.bit_length() + 7 >> 3
        self.put(size, 3).put(given, 8 * size)
        for name, kind, bits, scale in fields:
            if name not in values:
                continue
            value, plain = values[name], kind & ~SIGNED
            if plain == STRING:
                self.text(value)
            elif plain == ANGLE:
                self.put(int(value * (1 << bits) / 360), bits)
            elif plain == WINDOW_8:
                self.signed(int(time * 100) - round(value * 100), 8)
            elif plain == WINDOW:
                self.signed(int(time * scale) - round(value * scale), bits)
            elif kind & SIGNED:
                self.signed(int(value * scale), bits)
            else:
                self.put(int(value * scale), bits)
        return self

    def bytes(self):
        whole = self.bits + [0] * (-len(self.bits) % 8)
        return bytes(sum(whole[at + bit] << bit for bit in range(8)) for at in range(0, len(whole), 8)) or b"\0"


def described(name, fields):
    bits = Bits().put(len(fields), 16)
    for field, kind, size, scale in fields:
        # All seven parts of a description: type, name, place, size, bits, and the two scales.
        bits.put(1, 3).put(0x7F, 8).put(kind, 32).text(field).put(0, 16).put(1, 8).put(size, 8)
        bits.put(scale * 4000, 32).put(4000, 32)
    return b"\x0e" + name.encode() + b"\0" + bits.bytes()


def text(*texts):
    return b"".join(each.encode() + b"\0" for each in texts)


def server_info(players=4, player=0):
    checksum = mask(struct.pack("<I", 0x12345678), (-1 - player) & 0xFF, goldsrc.MASK_OF_MAP)
    head = struct.pack("<BiI", 11, 48, 7)[:9] + checksum + bytes(16) + bytes((players, player, 1))
    return head + text("valve", "a server", "maps/box.bsp", "") + b"\0"


def movevars(gravity=800.0):
    return b"\x2c" + struct.pack("<16fB9f", gravity, *[1.0] * 15, 1, *[0.0] * 8, 0.0)[: 65 + 32] + text("desert")


def resources(*found):
    bits = Bits().put(len(found), 12)
    for kind, index, name in found:
        bits.put(kind, 4).text(name).put(index, 12).put(100, 24).put(0, 3).put(0, 1)
    return b"\x2b" + bits.put(0, 1).bytes()


def baselines(entities, instanced=()):
    bits = Bits()
    for number, values in entities.items():
        bits.put(number, 11).put(1, 2).delta(ENTITY, values)
    bits.put(0xFFFF, 16).put(len(instanced), 6)
    for values in instanced:
        bits.delta(ENTITY, values)
    return b"\x16" + bits.bytes()


def time(value):
    return b"\x07" + struct.pack("<f", value)


def client_data(values, reference=None, weapons=None):
    bits = Bits().put(0, 1) if reference is None else Bits().put(1, 1).put(reference & 0xFF, 8)
    bits.delta(CLIENT, values)
    for number, weapon in (weapons or {}).items():
        bits.put(1, 1).put(number, 6).delta(WEAPON, weapon)
    return b"\x0f" + bits.put(0, 1).bytes()


def all_entities(entities, now=0.0):
    """Each with its number, its values, and how far before it the entity is from which it differs."""
    bits, last = Bits(), 0
    for number, values, back in entities:
        step = number - last
        if step == 1:
            bits.put(1, 1)
        elif 1 < step <= 63:
            bits.put(0, 1).put(0, 1).put(step, 6)
        else:
            bits.put(0, 1).put(1, 1).put(number, 11)
        bits.put(0, 1)
        bits.put(1, 1).put(back, 6) if back else bits.put(0, 1)
        bits.delta(ENTITY, values, now)
        last = number
    return b"\x28" + struct.pack("<H", len(entities)) + bits.put(0, 16).bytes()


def delta_entities(count, reference, changes, now=0.0):
    """`None` for an entity that is gone."""
    bits, last = Bits(), 0
    for number, values in sorted(changes.items()):
        step = number - last
        bits.put(int(values is None), 1)
        bits.put(0, 1).put(step, 6) if 1 <= step <= 63 else bits.put(1, 1).put(number, 11)
        if values is not None:
            bits.put(0, 1).delta(ENTITY, values, now)
        last = number
    return b"\x29" + struct.pack("<HB", count, reference & 0xFF) + bits.put(0, 16).bytes()


SIGN_ON = server_info() + b"".join(described(*table) for table in TABLES.items()) + movevars()
EVERYTHING = SIGN_ON + resources((0, 3, "player/pl_step1.wav"), (5, 2, "events/gauss.sc"), (2, 1, "models/player.mdl"))


class Server:
    """Both directions of a conversation with one client."""

    def __init__(self, peer=PEER):
        self.decoder = goldsrc.GoldSrc()
        self.peer = peer
        self.number = self.sequence = self.client_sequence = 0

    def pass_on(self, payload, to_server):
        self.number += 1
        return self.decoder.decode(prony.Datagram(self.number, to_server, False, 0, self.number, 4, 27015, self.peer, payload))

    def raw(self, payload):
        return named(self.pass_on(payload, False))

    def connect(self, info=r"\name\player"):
        self.pass_on(b"\xff\xff\xff\xffconnect 48 1 \"\\prot\\3\" \"" + info.encode() + b"\"\n", True)
        self.pass_on(b'\xff\xff\xff\xffB 1 "127.0.0.1:27005" 0 1\0', False)
        self.sequence = self.client_sequence = 0
        return self

    def head(self, flags=0):
        self.sequence += 1
        return struct.pack("<II", self.sequence | flags, self.client_sequence)

    def packet(self, content, flags=0):
        head = self.head(flags)
        return head + mask(content, self.sequence & 0xFF)

    def send(self, content, flags=0):
        return named(self.pass_on(self.packet(content, flags), False))

    def fragment(self, number, count, piece, behind=b"", file=False):
        head = struct.pack("<BIHH", 1, number << 16 | count, 0, len(piece))
        head = b"\0" + head if file else head + b"\0"
        return self.pass_on(self.packet(head + piece + behind, 3 << 30), False)

    def acknowledge(self, bit=0, content=b"\x01" * 8, last=None):
        self.client_sequence += 1
        last = self.sequence if last is None else last
        head = struct.pack("<II", self.client_sequence, last | bit << 31)
        self.pass_on(head + mask(content, self.client_sequence & 0xFF), True)

    def signed_on(self, content=EVERYTHING):
        self.connect()
        found = self.send(content)
        assert "raw" not in found, found
        return self


def named(answer):
    """The fields of an answer by their names. Repeated ones are a list."""
    if answer is prony.HELD:
        return answer
    found = {}
    fields = json.loads(f"[{answer.fields}]") if isinstance(answer, prony.Rendered) else answer
    for name, kind, value in fields:
        assert isinstance(name, str) and 1 <= len(name) <= 256, name
        assert kind in ("f32", "text", "bool") or kind == "int" and -1 << 63 <= value < 1 << 63, (kind, value)
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def last(values):
    return values[-1] if isinstance(values, list) else values


class SignOn(unittest.TestCase):
    def test_first_messages_to_a_client(self):
        found = Server().connect().send(EVERYTHING)
        self.assertNotIn("raw", found)
        self.assertEqual(found["serverinfo.map"], "maps/box.bsp")
        self.assertEqual(found["serverinfo.players"], 4)
        self.assertEqual(found["serverinfo.map_checksum"], 0x12345678)
        self.assertEqual(found["movevars.gravity"], 800)
        self.assertEqual(found["movevars.skyname"], "desert")
        self.assertEqual(found["resource[1].name"], "events/gauss.sc")
        self.assertEqual(found["delta.clientdata_t[1]"], "health 0x4 1 10 1 1")

    def test_another_gravity_is_one_field(self):
        one, other = (Server().connect().send(server_info() + movevars(gravity)) for gravity in (800, 790))
        self.assertEqual({name for name in one if one[name] != other[name]}, {"movevars.gravity"})

    def test_numbers_of_any_scale_can_be_answered(self):
        fields = [("large", INTEGER | SIGNED, 32, 1), ("small", FLOAT, 32, 1)]
        bits = Bits().put(len(fields), 16)
        for name, kind, size, _ in fields:
            # The first scale is the least there is, the second one the largest.
            bits.put(1, 3).put(0x7F, 8).put(kind, 32).text(name).put(0, 16).put(1, 8).put(size, 8)
            bits.put(1, 32).put(0xFFFFFFFF, 32)
        content = b"\x0f" + Bits().put(0, 1).delta(fields, {"large": -0x7FFFFFFF, "small": 0xFFFFFFFF}).put(0, 1).bytes()
        found = Server().connect().send(server_info() + b"\x0eclientdata_t\0" + bits.bytes() + content)
        self.assertEqual((found.get("raw"), found["clientdata.large"]), (None, -1 << 62))

    def test_connectionless_datagrams_are_text(self):
        found = Server().raw(b"\xff\xff\xff\xffA00000000 17 2\n\0")
        self.assertEqual(found, {"connectionless": "A00000000 17 2\n\0"})

    def test_messages_of_the_game(self):
        server = Server().signed_on()
        new = b"".join(
            bytes((39, number, size)) + name.encode().ljust(16, b"\0")
            for number, size, name in ((64, 255, "DeathMsg"), (65, 2, "Battery"), (66, 3, "Unheard"), (67, 2, "Health"))
        )
        found = server.send(new + b"\x40\x0a\x03\x04crowbar\0\x41\x64\x00\x42\x01\x02\x03\x43\x01\x02")
        self.assertEqual(found["newusermsg[64].name"], "DeathMsg")
        self.assertEqual((found["message.DeathMsg.killer"], found["message.DeathMsg.victim"]), (3, 4))
        self.assertEqual((found["message.DeathMsg.weapon"], found["message.Battery.armor"]), ("crowbar", 100))
        # One that is not known, and one that has another length than expected.
        self.assertEqual((found["message.Unheard"], found["message.Health"]), ("010203", "0102"))
        self.assertNotIn("message.Health.health", found)
        self.assertNotIn("raw", found)

    def test_every_message_and_temporary_entity_is_read_to_its_end(self):
        sizes = {"b": 1, "B": 1, "s": 2, "w": 2, "l": 4, "f": 4, "z": 1, "c": 2, "P": 6, "a": 1, "h": 2, "x": 16}
        size = lambda parts: sum(sizes[code] for _, code in parts)
        for number, (_, parts) in goldsrc.PLAIN.items():
            found = Server().signed_on().send(bytes((number,)) + bytes(size(parts)) + b"\x08end\0")
            self.assertEqual((last(found.get("print.text")), found.get("raw")), ("end", None), number)
        for number, (_, parts) in goldsrc.TEMPORARIES.items():
            found = Server().signed_on().send(bytes((23, number)) + bytes(size(parts)) + b"\x08end\0")
            self.assertEqual((last(found.get("print.text")), found.get("raw")), ("end", None), number)
        others = [
            b"\x17\x0d" + bytes(10), b"\x17\x0d" + bytes(8) + b"\x01\0\x02\0",
            b"\x17\x1d" + bytes(21), b"\x17\x1d" + bytes(5) + b"\x02" + bytes(17),
            b"\x14" + bytes(17), b"\x14" + bytes(16) + b"\x01" + bytes(5),
            b"\x21save\0\x02one\0two\0",
            b"\x2e\x01\x00logo\0" + bytes(6) + b"\x04" + bytes(16), b"\x2e\x01\x00logo\0" + bytes(7),
            b"\x32\x00", b"\x32\x01" + bytes(10), b"\x33\x02ab", b"\x35\x01\x03\0abc",
            b"\x3b\x00", b"\x3b\x01\x02", b"\x0c\x01abc\0",
            b"\x0d\x01" + bytes(4) + b"\\name\\x\0" + bytes(16),
            b"\x11" + Bits().put(1, 1).put(3, 5).put(40, 12).put(9, 7).put(0, 1).bytes(),
        ]
        for content in others:
            found = Server().signed_on().send(content + b"\x08end\0")
            self.assertEqual((last(found.get("print.text")), found.get("raw")), ("end", None), content)


class Frames(unittest.TestCase):
    def first(self):
        server = Server().signed_on()
        start = {"modelindex": 1, "origin[2]": 36}
        found = server.send(baselines({1: start, 2: start, 40: {"modelindex": 9}}))
        self.assertEqual((found["baseline[1].origin.z"], found["baseline[40].modelindex"]), (36, 9))
        return server

    def test_entities_differ_from_baselines_from_each_other_and_from_earlier_frames(self):
        server = self.first()
        moved = {"origin[0]": -10.5, "animtime": 1.25, "starttime": 1.1}
        entities = all_entities([(1, moved, 0), (2, {"angles[1]": 90}, 1), (40, {"team": -3}, 0)], 1.5)
        found = server.send(time(1.5) + client_data({"health": 100, "origin[0]": 8}) + entities)
        self.assertNotIn("raw", found)
        self.assertEqual((found["entity[1].origin.x"], found["entity[1].origin.z"]), (-10.5, 36))
        self.assertEqual((found["entity[1].animtime"], found["entity[1].starttime"]), (1.25, 1.1))
        # What the one before it has, and its own.
        self.assertEqual((found["entity[2].origin.x"], found["entity[2].angles.y"]), (-10.5, 90))
        self.assertEqual((found["entity[40].modelindex"], found["entity[40].team"]), (9, -3))
        self.assertEqual((found["clientdata.health"], found["time"]), (100, 1.5))
        reference = server.sequence
        entities = delta_entities(3, reference, {1: {"origin[0]": 7}})
        lost = server.send(time(1.6) + client_data({"health": 50}, reference) + entities)
        self.assertEqual((lost["entity[1].origin.x"], lost["clientdata.health"]), (7, 50))
        # The client has not acknowledged that one: the server goes on from the first.
        changes = {2: None, 3: {"origin[1]": 64}, 40: {"controller[1]": 4, "rendercolor.r": 255}}
        weapons = {5: {"m_iClip": 17, "m_flNextPrimaryAttack": -0.5}}
        found = server.send(time(1.7) + client_data({}, reference, weapons) + delta_entities(3, reference, changes))
        self.assertNotIn("raw", found)
        self.assertEqual((found["entity[1].origin.x"], found["clientdata.health"]), (-10.5, 100))
        self.assertFalse([name for name in found if name.startswith("entity[2]")])
        self.assertEqual((found["entity[3].origin.y"], found["entity[40].team"]), (64, -3))
        self.assertEqual((found["entity[40].controller[1]"], found["entity[40].rendercolor.r"]), (4, 255))
        self.assertEqual((found["weapon[5].m_iClip"], found["weapon[5].m_flNextPrimaryAttack"]), (17, -0.5))
        # Numbers in a frame have eight bits.
        server.sequence += 256 - 3
        found = server.send(delta_entities(3, server.sequence, {}))
        self.assertIn("raw", found)

    def test_the_first_frame_has_the_place_of_the_datagram_that_was_next(self):
        server = self.first()
        server.acknowledge(content=b"\x03spawn 7 1\0")
        place = server.sequence + 1
        server.send(b"\x01" * 8)
        server.send(b"\x01" * 8)
        message = time(1.0) + client_data({"health": 77}) + b"\x19\x01"
        self.assertIs(server.fragment(1, 2, message[:4]), prony.HELD)
        found = named(server.fragment(2, 2, message[4:]))
        self.assertEqual((found["clientdata.health"], found["signonnum.number"]), (77, 1))
        found = server.send(time(1.1) + client_data({}, place) + delta_entities(1, place, {1: {"origin[0]": 3}}))
        self.assertEqual((found["clientdata.health"], found["entity[1].origin.x"]), (77, 3))

    def test_instanced_baselines_and_beams(self):
        server = Server().signed_on()
        server.send(baselines({}, [{"modelindex": 5}, {"modelindex": 6}]))
        bits = Bits()
        # The first entity: 70, from the second instanced baseline. The next one: a beam, from nothing.
        bits.put(0, 1).put(1, 1).put(70, 11).put(0, 1).put(1, 1).put(1, 6).delta(ENTITY, {"team": 2})
        bits.put(1, 1).put(1, 1).put(0, 1).put(0, 1).delta(ENTITY[:5], {"origin[0]": 12})
        found = server.send(b"\x28" + struct.pack("<H", 2) + bits.put(0, 16).bytes())
        self.assertEqual((found["entity[70].modelindex"], found["entity[70].team"]), (6, 2))
        self.assertEqual((found["entity[71].beam"], found["entity[71].origin.x"]), (True, 12))

    def test_sounds_and_events_are_named(self):
        server = self.first()
        server.send(all_entities([(1, {}, 0), (2, {}, 0)]))
        sound = Bits().put(1 | 2, 9).put(128, 8).put(32, 8).put(4, 3).put(2, 11).put(3, 8).put(0b101, 3)
        sound.put(1, 1).put(1, 1).put(1, 1).put(100, 12).put(4, 3).put(1, 1).put(0, 1).put(0, 1).put(7, 12)
        event = Bits().put(2, 5)
        event.put(2, 10).put(1, 1).put(1, 11).put(1, 1).delta(EVENTS, {"origin[0]": 5.5}).put(1, 1).put(150, 16)
        event.put(9, 10).put(1, 1).put(2, 11).put(1, 1).delta(EVENTS, {"entindex": 30, "fparam1": 0.25}).put(0, 1)
        reliable = Bits().put(2, 10).delta(EVENTS, {"entindex": 3}).put(0, 1)
        found = server.send(b"\x06" + sound.bytes() + b"\x03" + event.bytes() + b"\x15" + reliable.bytes() + b"\x08end\0")
        self.assertNotIn("raw", found)
        self.assertEqual((found["sound[2].sample"], found["sound[2].volume"]), ("player/pl_step1.wav", 128))
        self.assertEqual((found["sound[2].origin.x"], found["sound[2].origin.y"], found["sound[2].origin.z"]), (-100.5, 0, 7))
        self.assertEqual((found["sound[2].attenuation"], found["sound[2].pitch"]), (0.5, 100))
        # The second entity of the frame, one that is not in it, and one that is named.
        self.assertEqual((found["event[2].script"], found["event[2].delay"]), ("events/gauss.sc", 1.5))
        self.assertEqual((found["event[30].script"], found["event[30].fparam1"]), ("event 9", 0.25))
        self.assertEqual((found["event[3].script"], found["print.text"]), ("events/gauss.sc", "end"))

    def test_a_proxy_gets_no_data_of_its_own(self):
        server = Server().connect(r"\name\HLTV Proxy\*hltv\1")
        self.assertNotIn("raw", server.send(EVERYTHING))
        content = time(1) + b"\x0f" + all_entities([(1, {"origin[0]": 2}, 0)])
        found = server.send(content)
        self.assertEqual((found["clientdata"], found["entity[1].origin.x"]), (True, 2))
        # To another client the same bytes mean something else.
        self.assertNotEqual(Server().signed_on().send(content).get("entity[1].origin.x"), 2)


class Parts(unittest.TestCase):
    def test_fragments_are_joined_and_unpacked(self):
        for message in (EVERYTHING, b"BZ2\0" + bz2.compress(EVERYTHING)):
            server = Server().connect()
            pieces = [message[at : at + 100] for at in range(0, len(message), 100)]
            for at, piece in enumerate(pieces[:-1]):
                self.assertIs(server.fragment(at + 1, len(pieces), piece), prony.HELD)
                server.acknowledge(bit=at + 1 & 1)
            found = named(server.fragment(len(pieces), len(pieces), pieces[-1]))
            self.assertEqual((found["movevars.gravity"], found.get("raw")), (800, None))
            # The client has not got the last one: it is sent again, and is not the beginning of another message.
            found = named(server.fragment(len(pieces), len(pieces), pieces[-1], b"\x08late\0"))
            self.assertEqual((found["fragment.content"], found["print.text"]), (pieces[-1].hex(), "late"))
            server.acknowledge(bit=len(pieces) & 1)
            self.assertIs(server.fragment(1, 2, b"\x08e"), prony.HELD)
            server.acknowledge(bit=len(pieces) + 1 & 1)
            self.assertEqual(named(server.fragment(2, 2, b"nd\0"))["print.text"], "end")

    def test_what_is_beside_a_fragment_is_not_delayed(self):
        server = Server().connect()
        found = named(server.fragment(1, 2, b"\x08a", b"\x08beside\0"))
        self.assertEqual(found["print.text"], "beside")
        self.assertEqual(named(server.fragment(2, 2, b"b\0"))["print.text"], "ab")

    def test_files_are_shown_as_they_come(self):
        found = named(Server().connect().fragment(1, 9000, b"logo.wad\0", file=True))
        self.assertEqual((found["file.fragment"], found["file.content"]), (1, b"logo.wad\0".hex()))

    def test_split_datagrams_are_joined_in_any_order(self):
        server = Server().connect()
        whole = server.packet(EVERYTHING)
        parts = [whole[at : at + 500] for at in range(0, len(whole), 500)]
        count = len(parts)
        self.assertGreater(count, 1)
        for at in range(count - 1, 0, -1):
            self.assertIs(server.raw(goldsrc.SPLIT + struct.pack("<iB", 5, at << 4 | count) + parts[at]), prony.HELD)
        found = server.raw(goldsrc.SPLIT + struct.pack("<iB", 5, count) + parts[0])
        self.assertEqual((found["movevars.gravity"], found.get("raw")), (800, None))


class Hostile(unittest.TestCase):
    def test_what_cannot_be_read_is_there_in_bytes(self):
        server = Server().signed_on()
        found = server.send(b"\x08fine\0\xfe\x01\x02\x03")
        self.assertEqual((found["print.text"], found["raw"]), ("fine", "fe010203"))
        self.assertEqual(found["raw.reason"], "message 254: it is not known")
        found = server.send(b"\x08never ends")
        self.assertEqual(found["raw"], b"\x08never ends".hex())
        self.assertNotIn("print.text", found)
        self.assertEqual(server.raw(b"\x01\x02\x03")["raw"], "010203")

    def test_a_frame_that_was_not_decoded_is_not_referred_to(self):
        server = Server().signed_on()
        server.send(time(1) + client_data({"health": 100}) + all_entities([(1, {}, 0)]))
        good = server.sequence
        self.assertIn("raw", server.send(time(2) + client_data({"health": 90}, good) + b"\x29\x05\0"))
        found = server.send(time(3) + client_data({}, server.sequence))
        self.assertEqual(found["raw.reason"], f"message 15: it refers to frame {good + 1}, which was not decoded")
        self.assertEqual(server.send(time(4) + client_data({}, good))["clientdata.health"], 100)

    def test_descriptions_that_make_no_sense(self):
        for fields in ([("a", FLOAT, 99, 1)], [("a", 3, 8, 1)], [("a", FLOAT, 8, 1)] * 65):
            self.assertIn("raw", Server().connect().send(described("event_t", fields)))
        # Names that are no names, and a scale of nothing.
        odd = [('"x\n[', FLOAT, 8, 0)]
        content = b"\x0f" + Bits().put(0, 1).delta(odd, {'"x\n[': 0}).put(0, 1).bytes()
        server = Server().connect()
        found = server.send(server_info() + described("clientdata_t", odd) + content)
        self.assertNotIn("raw", found)
        self.assertEqual([name for name in found if name.startswith("clientdata")], ["clientdata._x_[0]"])

    def test_compressed_messages_that_are_none(self):
        for message in (b"BZ2\0nothing", b"BZ2\0" + bz2.compress(bytes(70000))):
            found = named(Server().connect().fragment(1, 1, message))
            self.assertIn("compressed message", found["raw.reason"])
            self.assertEqual(found["raw"], message.hex())

    def test_parts_without_end(self):
        server = Server().connect()
        for at in range(goldsrc.MOST_HELD):
            self.assertIs(server.raw(goldsrc.SPLIT + struct.pack("<iB", at, 2) + b"x" * 9), prony.HELD)
        self.assertIn("raw", server.raw(goldsrc.SPLIT + struct.pack("<iB", -1, 2) + b"x" * 9))
        self.assertIn("raw", named(Server().connect().fragment(1, 60000, b"x")))

    def test_any_bytes_give_an_answer_and_the_same_one_again(self):
        seen = [[], []]
        for answers in seen:
            rng = random.Random(48)
            server = Server().signed_on()
            frame = client_data({"health": 9}) + all_entities([(1, {"origin[0]": 5}, 0), (40, {"team": 4}, 0)])
            for _ in range(3000):
                content = bytearray(rng.choice((time(2) + frame, EVERYTHING, rng.randbytes(rng.randrange(200)))))
                for _ in range(rng.randrange(4)):
                    if content:
                        content[rng.randrange(len(content))] = rng.randrange(256)
                content = bytes(content[: rng.randrange(len(content) + 1)])
                answer = server.pass_on(server.packet(content, rng.choice((0, 0, 1 << 31, 3 << 30))), False)
                answers.append(named(answer) if answer is not prony.HELD else None)
                server.pass_on(rng.randbytes(rng.randrange(30)), True)
        self.assertEqual(*seen)
        self.assertTrue(any(answer and "raw" in answer for answer in seen[0]))

    def test_an_answer_stays_within_what_prony_reads(self):
        server = Server().signed_on()
        many = [(number, {name: 1 for name, *_ in ENTITY if name != "animtime"}, 0) for number in range(1, 2048)]
        found = server.pass_on(server.packet(all_entities(many)), False)
        self.assertLess(len(found.fields), 4 << 20)
        self.assertNotIn("raw", named(found))
        fields = goldsrc.Fields()
        for _ in range(70000):
            fields.integer("x", 1)
        self.assertEqual(named(fields.answer(b"abc")), {"raw": "616263", "raw.reason": "too many fields"})


class Conversation(unittest.TestCase):
    def test_as_prony_starts_it(self):
        server = Server()
        server.connect()
        content = server.packet(EVERYTHING)
        written = b"PRONYDEC" + struct.pack("<I", 1)
        for number, (to_client, payload) in enumerate([(0, b"hello"), (1, content), (1, b"\xff\xff\xff\xffj\0")], 1):
            frame = struct.pack("<BBHQQHHH", to_client, 0, 0, number, 1, 4, 27015, len(PEER)) + PEER.encode() + payload
            written += struct.pack("<I", len(frame)) + frame
        command = [sys.executable, "-B", os.path.join(FOLDER, "goldsrc.py")]
        ran = subprocess.run(command, input=written, capture_output=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        self.assertEqual(lines[0], {"decoder": "GoldSrc 48", "version": 1})
        self.assertEqual(lines[1], {"n": 1})
        self.assertIn(["movevars.gravity", "f32", 800.0], lines[2]["fields"])
        self.assertEqual(lines[3], {"n": 3, "fields": [["connectionless", "text", "j\0"]]})


if __name__ == "__main__":
    unittest.main()
