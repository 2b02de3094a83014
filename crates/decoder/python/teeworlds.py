"""Decoder of Teeworlds 0.7 for `prony replay --decoder "python3 teeworlds.py"`.

It unpacks datagrams (static Huffman code, chunks, packed integers), rebuilds every snapshot from its delta, and names what is
in it: `snapshot.character[3].x`, `snapshot.projectile[9].vel_y`, `snapshot.death[0].client`, `kill.victim`. A snapshot whose
checksum does not fit is not decoded; then its bytes are compared. Protocol facts: Teeworlds 0.7.5, `src/engine/shared`
(`network.cpp`, `huffman.cpp`, `snapshot.cpp`, `compression.cpp`) and `datasrc/network.py`.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prony_decoder as prony

# How often each byte occurs; the symbol after the last byte ends the text and counts once.
FREQUENCIES = [
    1 << 30, 4545, 2657, 431, 1950, 919, 444, 482, 2244, 617, 838, 542, 715, 1814, 304, 240, 754, 212, 647, 186,
    283, 131, 146, 166, 543, 164, 167, 136, 179, 859, 363, 113, 157, 154, 204, 108, 137, 180, 202, 176, 872, 404, 168,
    134, 151, 111, 113, 109, 120, 126, 129, 100, 41, 20, 16, 22, 18, 18, 17, 19, 16, 37, 13, 21, 362, 166, 99, 78, 95,
    88, 81, 70, 83, 284, 91, 187, 77, 68, 52, 68, 59, 66, 61, 638, 71, 157, 50, 46, 69, 43, 11, 24, 13, 19, 10, 12, 12,
    20, 14, 9, 20, 20, 10, 10, 15, 15, 12, 12, 7, 19, 15, 14, 13, 18, 35, 19, 17, 14, 8, 5, 15, 17, 9, 15, 14, 18, 8,
    10, 2173, 134, 157, 68, 188, 60, 170, 60, 194, 62, 175, 71, 148, 67, 167, 78, 211, 67, 156, 69, 1674, 90, 174, 53,
    147, 89, 181, 51, 174, 63, 163, 80, 167, 94, 128, 122, 223, 153, 218, 77, 200, 110, 190, 73, 174, 69, 145, 66, 277,
    143, 141, 60, 136, 53, 180, 57, 142, 57, 158, 61, 166, 112, 152, 92, 26, 22, 21, 28, 20, 26, 30, 21, 32, 27, 20,
    17, 23, 21, 30, 22, 22, 21, 27, 25, 17, 27, 23, 18, 39, 26, 15, 21, 12, 18, 18, 27, 20, 18, 15, 19, 11, 17, 33, 12,
    18, 15, 19, 18, 16, 26, 17, 18, 9, 10, 25, 22, 22, 17, 20, 16, 6, 16, 15, 20, 14, 18, 24, 335, 1,
]
END = 256

# Flags of a datagram, in the six high bits of its first byte.
CONTROL, RESEND, COMPRESSION, CONNLESS = 1, 2, 4, 8
HEAD_BYTES = 7
VITAL = 1

# Messages of the engine that carry snapshots.
SNAP, SNAP_EMPTY, SNAP_SINGLE = 6, 7, 8
SYSTEM = {
    2: "map_change", 3: "map_data", 4: "server_info", 5: "con_ready", 10: "input_timing", 11: "rcon_auth_on",
    12: "rcon_auth_off", 13: "rcon_line", 26: "ping", 27: "ping_reply", 28: "error",
}
# Messages of the game.
KILL, TUNING = 5, 6
KILL_FIELDS = ["killer", "victim", "weapon", "mode"]
# In hundredths.
TUNING_FIELDS = [
    "ground_control_speed", "ground_control_accel", "ground_friction", "ground_jump_impulse", "air_jump_impulse",
    "air_control_speed", "air_control_accel", "air_friction", "hook_length", "hook_fire_speed", "hook_drag_accel",
    "hook_drag_speed", "gravity", "velocity_ramp_start", "velocity_ramp_range", "velocity_ramp_curvature", "gun_curvature",
    "gun_speed", "gun_lifetime", "shotgun_curvature", "shotgun_speed", "shotgun_speed_difference", "shotgun_lifetime",
    "grenade_curvature", "grenade_speed", "grenade_lifetime", "laser_reach", "laser_bounce_delay", "laser_bounces",
    "laser_bounce_cost", "player_collision", "player_hooking",
]
GAME = {
    1: "motd", 2: "broadcast", 3: "chat", 4: "team", 7: "extra_projectile", 8: "ready_to_enter",
    9: "weapon_pickup", 10: "emoticon", 11: "vote_clear_options", 15: "vote_set", 16: "vote_status",
    17: "server_settings", 18: "client_info", 19: "game_info", 20: "client_drop", 21: "game_msg",
}

CORE = [
    "tick", "x", "y", "vel_x", "vel_y", "angle", "direction", "jumped", "hooked_player", "hook_state", "hook_tick",
    "hook_x", "hook_y", "hook_dx", "hook_dy",
]
POINT = ["x", "y"]
# Items of a snapshot by their type: name, and the fields in order. Those of up to 22 have no length on the wire.
ITEMS = {
    1: ("input", ["direction", "target_x", "target_y", "jump", "fire", "hook", "player_flags", "wanted_weapon",
                  "next_weapon", "prev_weapon"]),
    2: ("projectile", ["x", "y", "vel_x", "vel_y", "type", "start_tick"]),
    3: ("laser", ["x", "y", "from_x", "from_y", "start_tick"]),
    4: ("pickup", ["x", "y", "type"]),
    5: ("flag", ["x", "y", "team"]),
    6: ("game", ["start_tick", "state_flags", "state_end_tick"]),
    7: ("game_teams", ["score_red", "score_blue"]),
    8: ("game_flags", ["carrier_red", "carrier_blue", "drop_tick_red", "drop_tick_blue"]),
    9: ("core", CORE),
    10: ("character", CORE + ["health", "armor", "ammo", "weapon", "emote", "attack_tick", "triggered_events"]),
    11: ("player", ["flags", "score", "latency"]),
    12: ("spectator", ["mode", "id", "x", "y"]),
    13: ("demo_client", [f"word_{at}" for at in range(58)]),
    14: ("demo_game", ["flags", "score_limit", "time_limit", "match_number", "match_current"]),
    15: ("demo_tuning", [f"word_{at}" for at in range(32)]),
    16: ("event", POINT),
    17: ("explosion", POINT),
    18: ("spawn", POINT),
    19: ("hammer_hit", POINT),
    20: ("death", POINT + ["client"]),
    21: ("sound", POINT + ["sound"]),
    22: ("damage", POINT + ["client", "angle", "health", "armor", "self"]),
    23: ("race_player", ["start_tick"]),
    24: ("race_game", ["best_time", "precision", "flags"]),
}
WITHOUT_LENGTH = range(1, 23)

# A server keeps snapshots for three seconds of fifty ticks; nothing refers to older ones.
KEPT_TICKS = 200
MOST_ITEMS = 1024


class Broken(Exception):
    """The datagram is not what Teeworlds sends, or refers to something that is not known."""


def huffman_tree():
    """Nodes that join two others, in the order in which they are made; the last one is the root.

    Which code a byte gets depends on the order in which equal frequencies are joined: a stable sort, largest first, and
    the two last nodes join.
    """
    nodes = [(frequency, symbol) for symbol, frequency in enumerate(FREQUENCIES)]
    joints = []
    while len(nodes) > 1:
        nodes.sort(key=lambda node: -node[0])
        last, second = nodes.pop(), nodes.pop()
        nodes.append((last[0] + second[0], END + 1 + len(joints)))
        joints.append((last[1], second[1]))
    return joints


def huffman_codes():
    """Symbol and length of every code, by its bits from the lowest one: a dictionary for each length."""
    joints = huffman_tree()
    codes = {}
    rest = [(END + len(joints), 0, 0)]
    while rest:
        node, bits, length = rest.pop()
        if node <= END:
            codes[(length, bits)] = node
            continue
        for bit, child in enumerate(joints[node - END - 1]):
            rest.append((child, bits | bit << length, length + 1))
    return codes


CODES = huffman_codes()
LENGTHS = sorted({length for length, _ in CODES})
# The first bits of most texts decide: symbol and length for every value of that many bits.
FIRST_BITS = 12
FIRST = [None] * (1 << FIRST_BITS)
for (length, bits), symbol in CODES.items():
    if length <= FIRST_BITS:
        for rest in range(1 << (FIRST_BITS - length)):
            FIRST[bits | rest << length] = (symbol, length)


def unpack(packed):
    """Undoes the Huffman code."""
    stream = int.from_bytes(packed, "little")
    left = 8 * len(packed)
    out = bytearray()
    mask = (1 << FIRST_BITS) - 1
    while True:
        found = FIRST[stream & mask]
        if found is None:
            for length in LENGTHS:
                symbol = CODES.get((length, stream & (1 << length) - 1))
                if symbol is not None:
                    found = symbol, length
                    break
        symbol, length = found
        left -= length
        if left < 0:
            raise Broken("the packed bytes end early")
        if symbol == END:
            return bytes(out)
        out.append(symbol)
        stream >>= length


class Ints:
    """Packed integers: more follows, sign, six bits; then seven bits a byte. Negative numbers are inverted."""

    def __init__(self, content):
        self.content = content
        self.at = 0

    def take(self):
        content, at = self.content, self.at
        if at >= len(content):
            raise Broken("a number is missing")
        byte = content[at]
        value, sign, shift = byte & 0x3F, byte & 0x40, 6
        while byte & 0x80 and shift < 32:
            at += 1
            if at >= len(content):
                raise Broken("a number ends early")
            byte = content[at]
            value |= (byte & 0x7F) << shift
            shift += 7
        self.at = at + 1
        value = signed(value)
        return ~value if sign else value

    def rest(self):
        return self.content[self.at :]


def signed(value):
    """A number as the server keeps it, in 32 bits."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 1 << 31 else value


class Player:
    """What one client has been sent."""

    def __init__(self):
        self.snapshots = {-1: {}}
        self.parts = None

    def snapshot(self, tick, base, content, checksum):
        """Applies a delta and keeps the snapshot; returns its items."""
        if base not in self.snapshots:
            raise Broken(f"the delta refers to tick {base}, which is not known")
        before = self.snapshots[base]
        items = dict(before)
        if content is not None:
            ints = Ints(content)
            deleted, updated, temporary = ints.take(), ints.take(), ints.take()
            if not (0 <= deleted <= MOST_ITEMS and 0 <= updated <= MOST_ITEMS and temporary == 0):
                raise Broken("the counts of a delta make no sense")
            for _ in range(deleted):
                items.pop(ints.take(), None)
            for _ in range(updated):
                kind, number = ints.take(), ints.take()
                if kind in WITHOUT_LENGTH:
                    length = len(ITEMS[kind][1])
                else:
                    length = ints.take()
                    if not 0 <= length <= MOST_ITEMS:
                        raise Broken("an item has no length")
                key = kind << 16 | number & 0xFFFF
                values = [ints.take() for _ in range(length)]
                past = before.get(key)
                if past is not None:
                    values = [signed(was + value) for was, value in zip(past, values)]
                items[key] = tuple(values)
        if checksum is not None and signed(sum(map(sum, items.values()))) != checksum:
            raise Broken(f"the checksum of tick {tick} does not fit")
        self.snapshots[tick] = items
        for old in [old for old in self.snapshots if -1 < old < tick - KEPT_TICKS]:
            del self.snapshots[old]
        return items


def item_fields(tick, items):
    fields = [prony.integer("snapshot.tick", tick)]
    for key in sorted(items):
        kind, number = key >> 16, key & 0xFFFF
        name, parts = ITEMS.get(kind, (f"item_{kind}", []))
        for at, value in enumerate(items[key]):
            part = parts[at] if at < len(parts) else f"word_{at}"
            fields.append([f"snapshot.{name}[{number}].{part}", "int", value])
    return fields


class Teeworlds:
    def __init__(self):
        self.players = {}

    def decode(self, datagram):
        if datagram.to_server or datagram.is_stream:
            return None
        payload = datagram.payload
        if len(payload) < HEAD_BYTES or payload[0] >> 2 & (CONTROL | CONNLESS):
            return None
        player = self.players.setdefault((datagram.process, datagram.socket, datagram.peer), Player())
        try:
            return self.packet(player, payload)
        except Broken as broken:
            return prony.Opaque(str(broken))

    def packet(self, player, payload):
        flags = payload[0] >> 2
        content = unpack(payload[HEAD_BYTES:]) if flags & COMPRESSION else payload[HEAD_BYTES:]
        fields = []
        at = 0
        for _ in range(payload[2]):
            if at + 2 > len(content):
                raise Broken("a chunk ends early")
            first, second = content[at], content[at + 1]
            size = (first & 0x3F) << 6 | second & 0x3F
            at += 2
            if first >> 6 & VITAL:
                if at >= len(content):
                    raise Broken("a chunk ends early")
                fields.append(prony.integer("chunk.sequence", (second & 0xC0) << 2 | content[at]))
                at += 1
            if at + size > len(content):
                raise Broken("a chunk ends early")
            fields += self.message(player, content[at : at + size])
            at += size
        if not fields and player.parts:
            return prony.HELD
        if flags & RESEND:
            fields.append(prony.flag("packet.resend", True))
        fields.append(prony.integer("packet.ack", (payload[0] & 3) << 8 | payload[1]))
        return fields

    def message(self, player, content):
        ints = Ints(content)
        number = ints.take()
        system, number = number & 1, number >> 1
        if system and number in (SNAP, SNAP_EMPTY, SNAP_SINGLE):
            return self.snapshot(player, number, ints)
        if not system and number == KILL:
            return [prony.integer(f"kill.{name}", ints.take()) for name in KILL_FIELDS]
        if not system and number == TUNING:
            return [prony.integer(f"tuning.{name}", ints.take()) for name in TUNING_FIELDS]
        names = SYSTEM if system else GAME
        name = names.get(number, f"{'system' if system else 'game'}_{number}")
        return [prony.text(f"message.{name}", ints.rest().hex())]

    def snapshot(self, player, number, ints):
        tick = ints.take()
        base = tick - ints.take()
        if number == SNAP_EMPTY:
            return item_fields(tick, player.snapshot(tick, base, None, None))
        parts, part = (ints.take(), ints.take()) if number == SNAP else (1, 0)
        checksum, size = ints.take(), ints.take()
        content = ints.rest()
        if len(content) != size:
            raise Broken("a snapshot has another size than it says")
        if parts > 1:
            if part == 0:
                player.parts = (tick, [])
            if player.parts is None or player.parts[0] != tick or len(player.parts[1]) != part:
                raise Broken("a part of a snapshot is missing")
            player.parts[1].append(content)
            if part + 1 < parts:
                return []
            content = b"".join(player.parts[1])
            player.parts = None
        return item_fields(tick, player.snapshot(tick, base, content, checksum))


if __name__ == "__main__":
    prony.serve("Teeworlds 0.7", Teeworlds().decode)
