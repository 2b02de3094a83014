"""Players and other clients of one protocol each: as much of it as makes the server simulate and answer."""

import gzip
import itertools
import random
import re
import socket
import ssl
import struct
import threading
import time
from pathlib import Path

import quake3 as quake3_protocol
import teeworlds as teeworlds_protocol
from loads import Stopped, connect, drain, lines, receive, together


def players(count, play):
    """So many at once; `play(run, number)`."""
    return together(*[lambda run, number=number: play(run, number) for number in range(count)])


def teeworlds(count, version="0.7"):
    tree = teeworlds_protocol.code_tree()
    return players(count, lambda run, number: teeworlds_protocol.play(run, number, version, tree))


def quake3(count):
    program = Path("/usr/lib/ioquake3/ioq3ded")
    computed = threading.Lock()

    def play(run, number):
        with computed:
            quake3_protocol.message_codes(program, run.kept.parent / "quake3-codes.json")
        quake3_protocol.play(run, number, program)

    return players(count, play)


def minetest(count):
    """Registers, receives the definitions and blocks around, walks and jumps. Facts: Minetest 5.6, `src/network/networkprotocol.h`."""
    protocol, reliable_first = 0x4F457403, 65500

    def play(run, number):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.connect(("127.0.0.1", run.port))
        client.settimeout(0.02)
        state = {"peer": 0, "sequence": reliable_first, "joined": False, "blocks": 0}
        unacknowledged, splits = {}, {}
        name = f"prony{number}".encode()

        def text(value):
            return struct.pack(">H", len(value)) + value

        def transmit(content, channel=0):
            try:
                client.send(struct.pack(">IHB", protocol, state["peer"], channel) + content)
            except ConnectionRefusedError:
                pass

        def reliably(content, channel=0):
            sequence = state["sequence"]
            state["sequence"] = (sequence + 1) & 0xFFFF
            packet = struct.pack(">BH", 3, sequence) + content
            unacknowledged[sequence] = (packet, channel)
            transmit(packet, channel)

        def command(number, content, channel=0):
            # Channels count on their own: all goes over the first one, so that one count does.
            reliably(struct.pack(">BH", 1, number) + content, channel)

        def handle(content, channel):
            kind = content[0]
            if kind == 0:
                if content[1] == 0:
                    unacknowledged.pop(struct.unpack_from(">H", content, 2)[0], None)
                elif content[1] == 1:
                    state["peer"] = struct.unpack_from(">H", content, 2)[0]
            elif kind == 1:
                message(content[1:])
            elif kind == 2:
                sequence, total, part = struct.unpack_from(">HHH", content, 1)
                parts = splits.setdefault((channel, sequence), {})
                parts[part] = content[7:]
                if len(parts) == total:
                    message(b"".join(parts[at] for at in range(total)))
                    del splits[channel, sequence]
            elif kind == 3:
                transmit(struct.pack(">BBH", 0, 0, struct.unpack_from(">H", content, 1)[0]), channel)
                handle(content[3:], channel)

        def message(content):
            number = struct.unpack_from(">H", content)[0]
            if number == 0x02 and not state.get("hello"):
                state["hello"] = True
                command(0x50, text(b"salt of prony") + text(bytes(range(256))) + b"\1")
            elif number == 0x03:
                command(0x11, text(b""))
            elif number == 0x0A:
                raise RuntimeError(f"access denied: {content[2:]!r}")
            elif number == 0x3A and not state["joined"]:
                # Node definitions: the last thing that a client needs.
                state["joined"] = True
                command(0x43, b"\5\6\1\0" + text(b"5.6.1") + struct.pack(">H", 6))
                run.ready()
            elif number == 0x20:
                state["blocks"] += 1
                command(0x24, b"\1" + content[2:8])

        next_request = next_move = next_resend = 0.0
        started = None
        try:
            while True:
                run.check()
                try:
                    packet = client.recv(65536)
                    if len(packet) > 7:
                        handle(packet[7:], packet[6])
                except (TimeoutError, ConnectionRefusedError):
                    pass
                now = time.monotonic()
                if not state.get("hello") and now >= next_request:
                    next_request = now + 0.5
                    if state["peer"] == 0:
                        unacknowledged.clear()
                        state["sequence"] = reliable_first
                        reliably(b"\1" + struct.pack(">H", 0))
                    else:
                        transmit(struct.pack(">BH", 1, 2) + b"\x1d" + struct.pack(">HHH", 0, 37, 41) + text(name), 1)
                if now >= next_resend:
                    next_resend = now + 0.5
                    for packet, channel in list(unacknowledged.values())[:20]:
                        transmit(packet, channel)
                if state["joined"] and now >= next_move:
                    next_move = now + 0.1
                    started = started or now
                    along = now - started
                    place = struct.pack(">iii", int(along * 4000 + 20000 * number), 40000, int(along * 2000))
                    speed = struct.pack(">iii", 400, 0, 200)
                    transmit(struct.pack(">BH", 1, 0x23) + place + speed + struct.pack(">iiIBB", 0, 4500, 1, 100, 10))
                    if int(along * 10) % 20 == 0:
                        command(0x32, struct.pack(">H", 12) + "some words".encode("utf-16-be"))
        except Stopped:
            if run.ready_at and state["blocks"] == 0:
                raise RuntimeError("no block of the map arrived") from None
            raise

    return players(count, play)


def sauerbraten(count):
    """Joins and talks; what a player says and where it is goes to all others. Facts: Cube 2, `src/fpsgame/game.h`."""
    connect_message, servinfo, position, text_message, ping = 0, 1, 4, 5, 28

    def integer(value):
        if -127 < value < 128:
            return struct.pack("b", value)
        return struct.pack("<bh", -128, value) if -0x8000 <= value < 0x8000 else struct.pack("<bi", -127, value)

    def string(text):
        return b"".join(integer(ord(letter)) for letter in text) + b"\0"

    def play(run):
        import enet

        host = enet.Host(None, count, 3, 0, 0)
        peers = {}
        for number in range(count):
            peers[host.connect(enet.Address(b"127.0.0.1", run.port), 3).incomingPeerID] = None
        in_game, next_word = set(), 0.0
        all_peers = host.peers
        for counter in itertools.count():
            run.check()
            event = host.service(5)
            if event.type == enet.EVENT_TYPE_RECEIVE and event.packet.data[:1] == bytes([servinfo]):
                hello = integer(connect_message) + string(f"prony{event.peer.incomingPeerID}") + integer(0) + string("") * 3
                event.peer.send(1, enet.Packet(hello, enet.PACKET_FLAG_RELIABLE))
                in_game.add(event.peer.incomingPeerID)
                run.ready()
            elif event.type == enet.EVENT_TYPE_DISCONNECT and run.ready_at is None:
                host.connect(enet.Address(b"127.0.0.1", run.port), 3)
            if time.monotonic() >= next_word:
                next_word = time.monotonic() + 0.05
                for peer in all_peers:
                    if peer.incomingPeerID in in_game:
                        words = integer(text_message) + string(f"word {counter} of a player who talks") + integer(ping) + integer(counter)
                        peer.send(1, enet.Packet(words, enet.PACKET_FLAG_RELIABLE))

    return play


def bzflag(count):
    """Tanks that join, come alive, and tell all others where they are. Facts: BZFlag 2.4, `include/Protocol.h`."""

    def frame(code, content):
        return struct.pack(">H2s", len(content), code) + content

    def play(run, number):
        connection = connect(run)
        connection.sendall(b"BZFLAG\r\n\r\n")
        hello = receive(connection, run, lambda got: len(got) >= 9)
        player = hello[8]
        content = struct.pack(">Hh", 0, 0) + f"prony{number}".encode().ljust(32, b"\0") + bytes(128) + bytes(22) + b"2.4.26".ljust(60, b"\0")
        connection.sendall(frame(b"en", content))
        left, place, order = b"", None, itertools.count(1)
        began, alive_asked = time.monotonic(), 0.0
        while True:
            run.check()
            left += drain(connection, 0.03)
            while len(left) >= 4:
                length, code = struct.unpack_from(">H2s", left)
                if len(left) < 4 + length:
                    break
                body, left = left[4 : 4 + length], left[4 + length :]
                if code == b"rj":
                    raise RuntimeError(f"rejected: {body[2:].rstrip(bytes(1)).decode(errors='replace')}")
                if code == b"al" and body[0] == player:
                    place = body[1:13]
                    run.ready()
                if code == b"kl" and body[0] == player:
                    place = None
            now = time.monotonic()
            if place is None and now - alive_asked > 1:
                alive_asked = now
                connection.sendall(frame(b"al", b""))
            if place:
                motion = struct.pack(">ffff", 0, 0, 0, (now - began) % 6) + struct.pack(">f", 0.2)
                update = struct.pack(">fBiH", now - began, player, next(order), 1) + place + motion
                connection.sendall(frame(b"pu", update))
            if next(order) % 20 == 0:
                connection.sendall(frame(b"mg", b"\xfe" + f"word {next(order)} of {number}".encode().ljust(128, b"\0")))

    return players(count, play)


def freeciv():
    """An observer, who is told of the whole map and all that the computer's players do. Facts: freeciv 3.0, `common/networking/packets.def`."""

    def play(run):
        program = Path("/usr/games/freeciv-server").read_bytes()
        capability = re.search(rb"\+Freeciv-3\.0-network[^\0]*", program)[0]
        connection = connect(run)
        content = b"prony\0" + capability + b"\0" + b"\0" + struct.pack(">III", 3, 0, 6)
        connection.sendall(struct.pack(">HB", len(content) + 3, 4) + content)
        receive(connection, run, lambda got: len(got) > 3)
        run.ready()

        def say(words):
            content = words.encode() + b"\0"
            connection.sendall(struct.pack(">HH", len(content) + 4, 26) + content)

        # Whoever comes first may command the server.
        for words in ["/set timeout 1", "/start", "/observe"]:
            say(words)
            drain(connection, 0.5)
        for count in itertools.count():
            run.check()
            drain(connection, 0.2)
            if count % 5 == 0:
                say(["/show all", "/list players", "/list rulesets", f"words {count}"][count // 5 % 4])

    return play


def wesnoth(count):
    """Guests of the lobby who talk and open games. WML, each document compressed and with its length in front."""

    def play(run, number):
        connection = connect(run)
        left = bytearray()

        def send(document):
            packed = gzip.compress(document.encode())
            connection.sendall(struct.pack(">I", len(packed)) + packed)

        def documents(seconds):
            nonlocal left
            left += drain(connection, seconds)
            while len(left) >= 4 and len(left) >= 4 + struct.unpack_from(">I", left)[0]:
                length = struct.unpack_from(">I", left)[0]
                yield gzip.decompress(left[4 : 4 + length])
                left = left[4 + length :]

        connection.sendall(bytes(4))
        receive(connection, run, lambda got: len(got) >= 4)
        in_lobby = False
        next_word = 0.0
        for counter in itertools.count():
            run.check()
            for document in documents(0.05):
                if b"[version]" in document:
                    send('[version]\nversion="1.16.9"\n[/version]\n')
                elif b"[mustlogin]" in document:
                    send(f'[login]\nselective_ping=1\nusername="prony{number}"\n[/login]\n')
                elif b"[join_lobby]" in document:
                    in_lobby = True
                    run.ready()
                elif b"[error]" in document and not in_lobby:
                    raise RuntimeError(document.decode(errors="replace"))
            if in_lobby and time.monotonic() >= next_word:
                next_word = time.monotonic() + 0.1
                send(f'[message]\nmessage="word {counter} of player {number}"\nroom="lobby"\nsender="prony{number}"\n[/message]\n')

    return players(count, play)


def crossfire(count):
    """New characters who walk about. Facts: `doc/developers/protocol` of Crossfire."""

    def play(run, number):
        connection = connect(run)
        left, directions = bytearray(), random.Random(number)
        name = f"prony{chr(97 + number)}"

        def send(content):
            connection.sendall(struct.pack(">H", len(content)) + content)

        send(b"version 1023 1029 prony")
        send(b"setup map2cmd 1 mapsize 25x25 tick 1 facecache 1 extended_stats 1 newmapcmd 1 loginmethod 0 darkness 1")
        send(b"addme")
        in_game, questions, sequence, next_step = False, 0, 0, 0.0
        while True:
            run.check()
            left += drain(connection, 0.03)
            while len(left) >= 2 and len(left) >= 2 + struct.unpack_from(">H", left)[0]:
                length = struct.unpack_from(">H", left)[0]
                content, left = bytes(left[2 : 2 + length]), left[2 + length :]
                if content.startswith(b"query"):
                    text = content.decode(errors="replace").lower()
                    questions += 1
                    if "name" in text:
                        send(f"reply {name}".encode())
                    elif "password" in text:
                        send(b"reply secret")
                    elif "abcd" in text or "roll" in text or "stats" in text or "<y>" in text or "1-7" in text:
                        send(b"reply n")
                    else:
                        send(b"reply d")
                elif content.startswith((b"map2", b"tick")):
                    in_game = in_game or questions > 3 and content.startswith(b"map2")
                    if in_game:
                        run.ready()
            now = time.monotonic()
            if in_game and now >= next_step:
                next_step = now + 0.1
                sequence += 1
                step = directions.choice(["north", "south", "east", "west", "north", "say some words", "look", "apply"])
                send(b"ncom " + struct.pack(">HI", sequence & 0xFFFF, 1) + step.encode())

    return players(count, play)


def openttd():
    """An administrator who is told of each day and asks the console. Facts: OpenTTD, `docs/admin_network.md`."""

    def play(run):
        connection = connect(run, port=run.other_port)

        def send(kind, content):
            connection.sendall(struct.pack("<HB", len(content) + 3, kind) + content)

        send(0, b"prony\0prony\x001\0")
        receive(connection, run, lambda got: len(got) > 40)
        run.ready()
        for update, frequency in [(0, 2), (1, 64), (2, 64), (3, 4), (5, 64), (6, 64)]:
            send(2, struct.pack("<HH", update, frequency))
        questions = ["list_settings", "list_cmds", "status", "companies", "getdate", "help", "list_aliases"]
        for count in itertools.count():
            run.check()
            send(5, questions[count % len(questions)].encode() + b"\0")
            send(7, struct.pack("<I", count))
            drain(connection, 0.1)

    return play


def hedgewars(count):
    """Guests of the lobby who talk and open rooms; a message is lines that end with an empty one."""

    def play(run, number):
        connection = connect(run)

        def send(*parts):
            connection.sendall(("\n".join(parts) + "\n\n").encode())

        receive(connection, run, lambda got: b"CONNECTED" in got and got.endswith(b"\n\n"))
        send("NICK", f"prony{number}")
        send("PROTO", "60")
        receive(connection, run, lambda got: b"LOBBY" in got)
        run.ready()
        for counter in itertools.count():
            run.check()
            send("CHAT", f"word {counter} of player {number}, who has a lot to say to everybody in the lobby")
            if counter % 4 == 1:
                send("CREATE_ROOM", f"room {number} {counter}")
            if counter % 4 == 3:
                send("PART")
            send("LIST")
            until = time.monotonic() + 0.4
            while time.monotonic() < until:
                run.check()
                if b"PING" in drain(connection, 0.1):
                    send("PONG")

    return players(count, play)


def tetrinet(count):
    """Players who tell each other of their fields and talk. The greeting is coded with the server's address."""

    def greeting(name):
        key = str(54 * 127 + 17)
        number, out = 128, "80"
        for at, letter in enumerate(f"tetrisstart {name} 1.13"):
            number = (number + ord(letter)) % 255 ^ ord(key[at % len(key)])
            out += f"{number:02X}"
        return out.encode() + b"\xff"

    def play(run, number):
        connection = connect(run)
        connection.sendall(greeting(f"prony{number}"))
        got = receive(connection, run, lambda got: b"playernum" in got)
        place = int(re.search(rb"playernum (\d)", got)[1])

        def send(text):
            connection.sendall(text.encode() + b"\xff")

        send(f"team {place} ")
        run.ready()
        drain(connection, 0.5)
        if number == 0:
            send(f"startgame 1 {place}")
        dice = random.Random(number)
        for counter in itertools.count():
            run.check()
            field = "".join(dice.choice("000012345") for _ in range(264))
            send(f"f {place} {field}")
            if counter % 4 == 1:
                send(f"pline {place} word {counter} of {number}")
            if counter % 10 == 5:
                send(f"lvl {place} {counter // 10}")
            drain(connection, 0.2)

    return players(count, play)


def mud(count):
    """Players who look, talk, build and have the server compute."""
    wishes = [
        ("look", "\n"),
        ("say word @n@ of mine", "\n"),
        ("think [iter(lnum(20),[add(##,@n@)] [sha1(##)])] over", "over"),
        ("WHO", "\n"),
        ("think [rand(1000)] [time()] [convsecs(secs())] over", "over"),
        ("inventory", "\n"),
    ]
    return lines(wishes, hello=[("create guest@n@ secret@n@", "\n"), ("connect guest@n@ secret@n@", "\n")], end=b"\r\n", clients=count, greeting=True, pause=0.02)


def monopd(count):
    """A game of four in which everybody rolls the dice and buys."""
    opened = threading.Event()

    def play(run, number):
        connection = connect(run)
        receive(connection, run, lambda got: b"</monopd>" in got)

        def send(text):
            connection.sendall(text.encode() + b"\n")

        send(f".nprony{number}")
        drain(connection, 0.3)
        if number == 0:
            got = b""
            send(".gncity")
            got = drain(connection, 0.6)
            if b"gameupdate" not in got:
                send(".gnatlantic")
                drain(connection, 0.6)
            opened.set()
            drain(connection, 1.5)
            send(".gs")
        else:
            opened.wait(20)
            send(".gj1")
        run.ready()
        dice = random.Random(number)
        for counter in itertools.count():
            run.check()
            send(dice.choice([".r", ".E", ".eb", ".E", ".r", f"word {counter} of {number}"]))
            drain(connection, 0.05)

    return players(count, play)


def gnugo():
    """One who lets both sides play, and asks for the board."""
    answer = "(?:=|\\?)(?s:.*)\n\n"
    wishes = [("genmove black", answer), ("showboard", answer), ("genmove white", answer), ("showboard", answer), ("all_legal black", answer), ("estimate_score", answer)]
    return lines(wishes, hello=[("boardsize 9", answer)], clients=1)


def irc(count):
    """Guests of one channel who talk to each other."""

    def play(run, number):
        connection = connect(run)

        def send(text):
            connection.sendall(text.encode() + b"\r\n")

        send(f"NICK prony{number}\r\nUSER prony 0 * :p")
        got = b""
        while not re.search(rb" (376|422) ", got):
            run.check()
            piece = drain(connection, 0.2)
            got += piece
            if found := re.search(rb"PING (\S+)", piece):
                send("PONG " + found[1].decode())
        send("JOIN #prony")
        run.ready()
        for counter in itertools.count():
            run.check()
            send(f"PRIVMSG #prony :word {counter} of number {number}, and some more")
            if counter % 10 == 3:
                send("NAMES #prony\r\nLUSERS\r\nWHO #prony")
            drain(connection, 0.03)

    return players(count, play)


def xmpp(count):
    """Nameless guests who ask for what there is and write to themselves."""

    def play(run, number):
        connection = connect(run)
        opening = "<?xml version='1.0'?><stream:stream to='localhost' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"

        def ask(text, answer):
            connection.sendall(text.encode())
            got = receive(connection, run, lambda got: answer in got)
            if answer not in got:
                raise RuntimeError(f"{text} was answered by {got[-300:]!r}")
            return got

        ask(opening, b"</stream:features>")
        ask("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='ANONYMOUS'/>", b"<success")
        ask(opening, b"</stream:features>")
        got = ask("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", b"</iq>")
        me = re.search(rb"<jid>([^<]*)", got)[1].decode()
        connection.sendall(b"<presence/>")
        run.ready()
        for counter in itertools.count():
            run.check()
            ask(f"<message to='{me}' id='m{counter}'><body>word {counter} of {number}</body></message>", b"</message>")
            ask(f"<iq type='get' to='localhost' id='d{counter}'><query xmlns='http://jabber.org/protocol/disco#info'/></iq>", b"</iq>")
            time.sleep(0.01)

    return players(count, play)


def mumble(count):
    """Guests who come over TLS, write to each other and ask for the time."""

    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    def play(run, number):
        connection = ssl._create_unverified_context().wrap_socket(connect(run))

        def send(kind, content):
            connection.sendall(struct.pack(">HI", kind, len(content)) + content)

        send(0, b"\x08" + b"\x84\x86\x04" + field(2, b"prony"))
        send(2, field(1, f"prony{number}".encode()))
        receive(connection, run, lambda got: len(got) > 400)
        run.ready()
        for counter in itertools.count():
            run.check()
            send(11, b"\x18\x00" + field(5, f"word {counter} of {number}".encode()))
            send(3, b"\x08" + bytes([counter & 127]))
            drain(connection, 0.03)

    return players(count, play)


def icecast(count):
    """One who sends a stream, and those who hear it."""

    def source(run):
        connection = connect(run)
        head = "SOURCE /prony.ogg HTTP/1.0\r\nAuthorization: Basic c291cmNlOnNlY3JldA==\r\nContent-Type: audio/mpeg\r\n\r\n"
        connection.sendall(head.encode())
        receive(connection, run, lambda got: b"200 OK" in got)
        for counter in itertools.count():
            run.check()
            connection.sendall(bytes([counter & 255]) * 1400)
            time.sleep(0.05)

    def listener(run):
        while True:
            connection = connect(run)
            connection.sendall(b"GET /prony.ogg HTTP/1.0\r\n\r\n")
            try:
                got = receive(connection, run, lambda got: b"\r\n\r\n" in got)
                if b"200 OK" in got:
                    run.ready()
                    while True:
                        run.check()
                        drain(connection, 0.1)
            except ConnectionError:
                time.sleep(0.2)

    return together(source, *[listener] * count)


def sip(run, count):
    """A question whether somebody is there."""
    return (
        f"OPTIONS sip:prony{count}@127.0.0.1:{run.port} SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK{count};rport\r\nFrom: <sip:a@prony.test>;tag={count}\r\n"
        f"To: <sip:b@prony.test>\r\nCall-ID: {count}\r\nCSeq: {count} OPTIONS\r\nMax-Forwards: 9\r\nContent-Length: 0\r\n\r\n"
    ).encode()


def godot(count):
    """Those who watch a world of balls and throw more of them in."""
    return lines([("throw @n@", "\n"), ("state", "\n"), ("state", "\n")], clients=count, pause=0.01)
