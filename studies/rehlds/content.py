#!/usr/bin/env python3
"""Content for a GoldSrc server, all of it generated: maps, models, sprites, WADs, delta.lst, event scripts, configurations.

    content.py GAME_DIRECTORY GAME_DLL ENGINE_SOURCE

Names of models, sprites, events and skill variables come from the text of the game DLL, names and types of the fields that are
delta-coded from the engine's source. Formats: WAD3, BSP 30, studio model 10 and sprite 2, as the engine reads them.
"""

import re
import struct
import sys
from pathlib import Path

SOLID, EMPTY = -2, -1
# Half the size of what moves in each hull: a point, a player, a large monster, a crouching player.
HULLS = ((0, 0, 0), (16, 16, 36), (32, 32, 32), (16, 16, 18))

# Rooms in a row, length of a room in units, height, items in a room.
MAPS = {"hall": (2, 1280, 384, 8), "rooms": (4, 768, 320, 5), "maze": (8, 896, 320, 3)}
WALL, DOOR, DOOR_HEIGHT, PILLAR = 16, 192, 160, 96
ITEMS = """weapon_9mmAR weapon_shotgun weapon_357 ammo_9mmAR ammo_buckshot ammo_357 item_healthkit item_battery weapon_crossbow
    ammo_crossbow weapon_gauss ammo_gaussclip item_healthkit weapon_rpg ammo_rpgclip item_longjump weapon_hornetgun""".split()


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


# Maps ---------------------------------------------------------------------------------------------------------------


class Map:
    """Square rooms in a square, with doors between neighbours and pillars in the corners of each."""

    def __init__(self, name, rooms, length, height, items):
        self.name, self.rooms, self.length, self.items = name, rooms, length, items
        half = rooms * length // 2
        self.low, self.high = (-half, -half, 0), (half, half, height)
        self.walls()
        self.nodes_and_links()

    def corner(self, index):
        return self.low[0] + index * self.length

    def centre(self, index):
        return self.corner(index) + self.length // 2

    def walls(self):
        """The solid boxes, each as two corners."""
        self.boxes = []
        top = self.high[2]
        for line in range(1, self.rooms):
            at = self.corner(line)
            for room in range(self.rooms):
                begin, end, middle = self.corner(room), self.corner(room + 1), self.centre(room)
                for low, high, bottom in (
                    (begin, middle - DOOR // 2, 0),
                    (middle + DOOR // 2, end, 0),
                    (middle - DOOR // 2, middle + DOOR // 2, DOOR_HEIGHT),
                ):
                    self.boxes.append(((at - WALL, low, bottom), (at + WALL, high, top)))
                    self.boxes.append(((low, at - WALL, bottom), (high, at + WALL, top)))
        quarter = self.length // 4
        for x in range(self.rooms):
            for y in range(self.rooms):
                for dx, dy in ((-1, -1), (1, 1)):
                    px, py = self.centre(x) + dx * quarter, self.centre(y) + dy * quarter
                    low, high = (px - PILLAR // 2, py - PILLAR // 2), (px + PILLAR // 2, py + PILLAR // 2)
                    # One of the two is low enough to jump on.
                    self.boxes.append(((*low, 0), (*high, top if dx < 0 else 40)))

    def nodes_and_links(self):
        """Where fighters walk: a point, and the points that are reached from it in a straight line."""
        self.nodes, self.links = [], []

        def node(x, y):
            self.nodes.append((x, y, 37))
            self.links.append(set())
            return len(self.nodes) - 1

        def link(a, b):
            self.links[a].add(b)
            self.links[b].add(a)

        step = self.length // 3
        rooms = {}
        for x in range(self.rooms):
            for y in range(self.rooms):
                middle = node(self.centre(x), self.centre(y))
                # Right, left, up, down of the middle: never behind a pillar.
                around = [node(self.centre(x) + dx * step, self.centre(y) + dy * step) for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))]
                for other in around:
                    link(middle, other)
                rooms[x, y] = around
        for (x, y), around in rooms.items():
            if (x + 1, y) in rooms:
                link(around[0], rooms[x + 1, y][1])
            if (x, y + 1) in rooms:
                link(around[2], rooms[x, y + 1][3])

    def hull(self, half, leaf):
        """Nodes (axis, distance, front, back) for something of these half sizes; `leaf` gives the child for a region."""
        boxes = [
            (tuple(low[i] - half[i] for i in range(3)), tuple(high[i] + half[i] for i in range(3))) for low, high in self.boxes
        ]
        low = tuple(self.low[i] + half[i] for i in range(3))
        high = tuple(self.high[i] - half[i] for i in range(3))
        nodes = []

        def split(low, high, boxes):
            inside = [b for b in boxes if all(b[0][i] < high[i] and b[1][i] > low[i] for i in range(3))]
            if any(all(b[0][i] <= low[i] and b[1][i] >= high[i] for i in range(3)) for b in inside):
                return leaf(SOLID, low, high)
            if not inside:
                return leaf(EMPTY, low, high)
            # The face that cuts fewest boxes and leaves about as many on either side.
            best = None
            for axis in range(3):
                for at in {b[side][axis] for b in inside for side in (0, 1)}:
                    if low[axis] < at < high[axis]:
                        front = sum(b[1][axis] > at for b in inside)
                        back = sum(b[0][axis] < at for b in inside)
                        cost = 3 * (front + back - len(inside)) + abs(front - back)
                        if best is None or (cost, axis, at) < best:
                            best = (cost, axis, at)
            _, axis, at = best
            mine = len(nodes)
            nodes.append(None)
            above, below = list(low), list(high)
            above[axis] = below[axis] = at
            front = split(tuple(above), high, inside)
            back = split(low, tuple(below), inside)
            nodes[mine] = (axis, at, front, back)
            return mine

        # Outside of the six outer planes all is solid.
        outer = [(axis, low[axis], None, SOLID) for axis in range(3)] + [(axis, high[axis], SOLID, None) for axis in range(3)]
        for axis, at, front, back in outer:
            solid = leaf(SOLID, low, high)
            following = len(nodes) + 1
            nodes.append((axis, at, solid, following) if back is None else (axis, at, following, solid))
        last = split(low, high, boxes)
        if last != len(outer):
            axis, at, front, back = nodes[len(outer) - 1]
            nodes[len(outer) - 1] = (axis, at, front, last)
        return nodes

    def room_of(self, low, high):
        return tuple(min(self.rooms - 1, max(0, ((low[i] + high[i]) // 2 - self.low[i]) // self.length)) for i in range(2))

    def visibility(self, leaves):
        """Each leaf sees its own room and those around; runs of zeros are a zero and their number."""
        rows, offsets = b"", []
        rooms = [self.room_of(low, high) for low, high in leaves]
        for room in rooms:
            bits = bytearray((len(leaves) + 7) // 8)
            for index, other in enumerate(rooms):
                if max(abs(room[0] - other[0]), abs(room[1] - other[1])) <= 1:
                    bits[index // 8] |= 1 << index % 8
            offsets.append(len(rows))
            at = 0
            while at < len(bits):
                if bits[at]:
                    rows += bits[at : at + 1]
                    at += 1
                else:
                    run = at
                    while at < len(bits) and not bits[at] and at - run < 255:
                        at += 1
                    rows += bytes((0, at - run))
        return rows, offsets

    def entities(self):
        text = f'{{\n"classname" "worldspawn"\n"message" "{self.name}"\n"wad" ""\n"mapversion" "220"\n}}\n'

        def add(name, x, y, z, yaw=0):
            nonlocal text
            text += f'{{\n"classname" "{name}"\n"origin" "{x} {y} {z}"\n"angles" "0 {yaw} 0"\n}}\n'

        add("info_player_start", self.nodes[0][0], self.nodes[0][1], 40)
        per_room, placed = max(3, 48 // self.rooms**2), 0
        third = self.length // 3
        for x in range(self.rooms):
            for y in range(self.rooms):
                for index in range(per_room):
                    # On the two sides of the room without pillars.
                    side, row = index % 2, index // 2
                    px = self.centre(x) + (third if side else -third)
                    py = self.centre(y) + (-1 if side else 1) * (third - 48 * (row % (self.length // 160)))
                    add("info_player_deathmatch", px + 40 * (row // 8), py, 40, 90 * (index % 4))
                for index in range(self.items):
                    # Along the ways of the fighters.
                    along = (index // 4 + 1) * self.length // 8
                    dx, dy = ((1, 0), (0, 1), (-1, 0), (0, -1))[(index + x + y) % 4]
                    add(ITEMS[placed % len(ITEMS)], self.centre(x) + dx * along, self.centre(y) + dy * along, 24)
                    placed += 1
        return text.encode() + b"\0"

    def bsp(self):
        planes, plane_of, leaves = b"", {}, []

        def plane(axis, at):
            nonlocal planes
            if (axis, at) not in plane_of:
                plane_of[axis, at] = len(plane_of)
                planes += struct.pack("<3ffi", *(float(i == axis) for i in range(3)), at, axis)
            return plane_of[axis, at]

        def drawn(kind, low, high):
            if kind == SOLID:
                return -1
            leaves.append((low, high))
            return -1 - len(leaves)

        nodes = b""
        for axis, at, front, back in self.hull(HULLS[0], drawn):
            nodes += struct.pack("<i2h6hHH", plane(axis, at), front, back, *self.low, *self.high, 0, 0)
        clips, heads = [], [0]
        for half in HULLS[1:]:
            first = len(clips)
            heads.append(first)
            for axis, at, front, back in self.hull(half, lambda kind, low, high: kind):
                clips.append((plane(axis, at), *(child if child < 0 else child + first for child in (front, back))))
        rows, offsets = self.visibility(leaves)
        leaf = struct.pack("<ii6hHH4B", SOLID, -1, *[0] * 12)
        for (low, high), offset in zip(leaves, offsets):
            leaf += struct.pack("<ii6hHH4B", EMPTY, offset, *low, *high, *[0] * 6)
        model = struct.pack("<9f7i", *self.low, *self.high, 0, 0, 0, *heads, len(leaves), 0, 0)
        clip = b"".join(struct.pack("<i2h", *node) for node in clips)
        # Entities, planes, textures, vertices, visibility, nodes, texture infos, faces, light, clip nodes, leaves, and models last.
        lumps = [self.entities(), planes, b"", b"", rows, nodes, b"", b"", b"", clip, leaf, b"", b"", b"", model]
        head, body = struct.pack("<i", 30), b""
        begin = 4 + 8 * len(lumps)
        for lump in lumps:
            body += bytes(-len(body) % 4)
            head += struct.pack("<ii", begin + len(body), len(lump))
            body += lump
        print(f"{self.name}: {len(leaves)} leaves, {len(clips)} clip nodes, {len(self.nodes)} way points", file=sys.stderr)
        return head + body

    def ways(self):
        """A line for each point: where it is, and the numbers of its neighbours."""
        return "".join(
            " ".join(map(str, (*node, *sorted(links)))) + "\n" for node, links in zip(self.nodes, self.links)
        )


# Models, sprites, WADs ------------------------------------------------------------------------------------------------


def model(name):
    """One bone, one hit box of a player's size, one sequence of one frame."""
    bone = struct.pack("<32sii6i6f6f", b"root", -1, 0, *[-1] * 6, *[0.0] * 6, *[0.01] * 6)
    box = struct.pack("<ii6f", 0, 0, -16, -16, -36, 16, 16, 36)
    bones = 244
    boxes = bones + len(bone)
    sequences = boxes + len(box)
    groups = sequences + 176
    frames = groups + 104
    parts = frames + 16
    end = parts + 76 + 112
    sequence = struct.pack("<32sf10i3fii6f", b"idle", 10.0, 1, *[0] * 4, 1, *[0] * 4, 0, 0, 0, 0, 0, -16, -16, -36, 16, 16, 36)
    sequence += struct.pack("<ii2i2f2f6i", 1, frames, 0, 0, 0, 0, 0, 0, *[0] * 6)
    group = struct.pack("<32s64sii", b"default", b"", 0, 0)
    part = struct.pack("<64siii", b"body", 1, 1, parts + 76) + struct.pack("<64sif10i", b"model", 0, 0.0, *[0] * 10)
    assert len(sequence) == 176 and len(group) == 104 and len(part) == 188
    head = struct.pack("<4si64si", b"IDST", 10, name.encode()[:63], end)
    head += struct.pack("<15f", 0, 0, 0, -16, -16, -36, 16, 16, 36, -16, -16, -36, 16, 16, 36)
    # Pairs of number and place: bones, bone controllers, hit boxes, sequences, sequence groups, textures, skins, body parts, …
    head += struct.pack("<27i", 0, 1, bones, 0, boxes, 1, boxes, 1, sequences, 1, groups, 0, end, end, 0, 0, end, 1, parts, 0, end, *[0] * 4, 0, end)
    assert len(head) == bones
    return head + bone + box + sequence + group + bytes(16) + part


def sprite():
    head = struct.pack("<4siiifiiifi", b"IDSP", 2, 2, 0, 11.0, 16, 16, 1, 0.0, 0)
    return head + struct.pack("<H", 256) + bytes(768) + struct.pack("<5i", 0, -8, 8, 16, 16) + bytes(256)


def wad(lumps):
    body, index = b"", b""
    for name, kind, data in lumps:
        index += struct.pack("<iiibbh16s", 12 + len(body), len(data), len(data), kind, 0, 0, name)
        body += data + bytes(-len(data) % 4)
    return struct.pack("<4sii", b"WAD3", len(lumps), 12 + len(body)) + body + index


def picture(side=16):
    return struct.pack("<ii", side, side) + bytes(side * side) + struct.pack("<H", 256) + bytes(768)


def decal(name, side=16):
    sizes = [(side >> level) ** 2 for level in range(4)]
    places = [40 + sum(sizes[:level]) for level in range(4)]
    return struct.pack("<16sii4i", name, side, side, *places) + bytes(sum(sizes)) + struct.pack("<H", 256) + bytes(768)


# delta.lst --------------------------------------------------------------------------------------------------------------

# What is described, its encoder, the engine's table of its fields, and how many of them fit.
DELTAS = (
    ("event_t", "none", "g_EventDataDefinition", 64),
    ("weapon_data_t", "none", "g_WeaponDataDefinition", 64),
    ("usercmd_t", "none", "g_UsercmdDataDefinition", 64),
    ("custom_entity_state_t", "gamedll Custom_Encode", "g_EntityDataDefinition", 56),
    ("entity_state_player_t", "gamedll Player_Encode", "g_EntityDataDefinition", 56),
    ("entity_state_t", "gamedll Entity_Encode", "g_EntityDataDefinition", 56),
    ("clientdata_t", "none", "g_ClientDataDefinition", 50),
)
PLACES = {"origin", "startpos", "endpos", "impact_position", "mins", "maxs", "view_ofs", "velocity", "basevelocity"}


def encoding(field, kind):
    """Type, bits and factor of a field, by what the header says it is."""
    base = field.split("[")[0].split(".")[0]
    if kind == "float":
        if base == "animtime":
            return "DT_TIMEWINDOW_8, 8, 1.0"
        if base in ("impacttime", "starttime"):
            return "DT_TIMEWINDOW_BIG, 13, 100.0"
        if base in ("angles", "viewangles"):
            return "DT_ANGLE, 16, 1.0"
        return "DT_SIGNED | DT_FLOAT, 21, 32.0" if base in PLACES else "DT_SIGNED | DT_FLOAT, 22, 128.0"
    return {
        "byte": "DT_BYTE, 8, 1.0",
        "short": "DT_SIGNED | DT_SHORT, 16, 1.0",
        "string": "DT_STRING, 1, 1.0",
        "int": "DT_SIGNED | DT_INTEGER, 32, 1.0",
    }[kind]


def kinds(structure, headers):
    """A function from a field of this structure to what it is."""
    found = re.search(r"struct\s+%s\s*\{(.*?)\n\}" % re.escape(structure), headers, re.S)
    lines = [line.split("//")[0].strip() for line in found.group(1).split("\n")] if found else []

    def kind(field):
        base = field.split("[")[0].split(".")[0]
        for line in lines:
            if re.search(r"\b%s\b" % re.escape(base), line):
                if line.startswith(("vec3_t", "float")):
                    return "float"
                if line.startswith(("byte", "unsigned char")) or "color24" in line:
                    return "byte"
                if "short" in line:
                    return "short"
                if line.startswith("char"):
                    return "string" if "[" in line else "byte"
                return "int"
        return "int"

    return kind


def delta_list(engine):
    source = (engine / "engine" / "delta.cpp").read_text(errors="replace")
    headers = "\n".join(p.read_text(errors="replace") for d in ("common", "engine") for p in sorted((engine / d).glob("*.h")))
    text = ""
    for name, encoder, table, most in DELTAS:
        body = re.search(r"%s\[\]\s*=\s*\{(.*?)\};" % table, source, re.S).group(1)
        fields = re.findall(r"DELTA_DEF\((\w+),\s*([^)]+)\)", body)[:most]
        kind = kinds(fields[0][0], headers)
        lines = ",\n".join(f"\tDEFINE_DELTA( {field}, {encoding(field, kind(field))} )" for _, field in fields)
        text += f"{name} {encoder}\n{{\n{lines}\n}}\n\n"
    return text


# Configurations -----------------------------------------------------------------------------------------------------------


def skill(name):
    """Damage, health or charge. Without them every value is zero, and so no shot hurts anybody."""
    for part, value in (("crowbar", 15), ("357", 40), ("buckshot", 6), ("rpg", 100), ("hgrenade", 90), ("tripmine", 120),
                        ("satchel", 120), ("xbow_bolt_client", 60), ("xbow_bolt_monster", 60), ("gauss", 20), ("healthkit", 15),
                        ("battery", 15), ("suitcharger", 30), ("healthcharger", 40), ("_head", 3)):
        if part in name:
            return value
    return 1 if re.search(r"_(chest|stomach|arm|leg)\d$", name) else 60 if "health" in name else 10


SERVER = """hostname "prony"
deathmatch 1
mp_timelimit 0
mp_fraglimit 0
mp_consistency 0
mp_falldamage 1
sv_maxupdaterate 102
sv_maxrate 0
sv_minrate 0
sv_timeout 60
sv_proxies 1
sv_allowupload 0
sv_send_logos 0
sys_ticrate 1000
log off
"""


def main():
    out, dll, engine = map(Path, sys.argv[1:])
    text = dll.read_bytes()
    for path in sorted({match.decode() for match in re.findall(rb"(?:models|sprites|events)/[\w/.+-]+\.(?:mdl|spr|sc)(?=\0)", text)}):
        data = {".mdl": lambda: model(Path(path).name), ".spr": sprite, ".sc": lambda: b""}[Path(path).suffix]()
        write(out / path, data)
    for path in ("models/player.mdl", "models/player/gordon/gordon.mdl"):
        write(out / path, model("player.mdl"))
    skills = sorted({match.decode() for match in re.findall(rb"\bsk_\w+[123](?=\0)", text)})
    write(out / "skill.cfg", "".join(f'{name} "{skill(name)}"\n' for name in skills))
    write(out / "gfx.wad", wad([(b"conchars", 0x42, picture()), (b"palette", 0x40, bytes(768))]))
    write(out / "cached.wad", wad([(b"conback", 0x42, picture())]))
    write(out / "decals.wad", wad([(b"{shot%d" % i, 0x43, decal(b"{shot%d" % i)) for i in range(1, 6)]))
    write(out / "fonts.wad", wad([(b"font0", 0x46, picture())]))
    write(out / "delta.lst", delta_list(engine))
    write(out / "server.cfg", SERVER)
    write(out / "valve.rc", "stuffcmds\n")
    write(out / "liblist.gam", 'game "Half-Life"\ntype "multiplayer_only"\ngamedll_linux "addons/fighters/fighters.so"\n')
    for name, sizes in MAPS.items():
        made = Map(name, *sizes)
        write(out / "maps" / f"{name}.bsp", made.bsp())
        write(out / "maps" / f"{name}.ways", made.ways())


main()
