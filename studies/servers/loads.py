"""Clients of the general kind: programs of Debian, and lines, pages and datagrams that Python sends itself.

A load is a function that takes the `Run` of its server and keeps it busy until `Run.check` raises `Stopped`.
"""

import itertools
import os
import re
import signal
import socket
import ssl
import threading
import time


class Stopped(Exception):
    """The time of the load is up, or the server has ended."""


def connect(run, port=None, patience=0.2):
    """A connection to the server, as soon as it listens."""
    while True:
        run.check()
        try:
            connection = socket.create_connection(("127.0.0.1", port or run.port), timeout=2)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError:
            time.sleep(patience)


def receive(connection, run, enough, patience=2.0):
    """What comes until `enough` says so of all of it, or nothing comes for `patience` seconds."""
    connection.settimeout(0.1)
    got, last = b"", time.monotonic()
    while not enough(got):
        try:
            piece = connection.recv(65536)
            if not piece:
                raise ConnectionError(f"the server hung up after {got[-80:]!r}")
            got, last = got + piece, time.monotonic()
        except TimeoutError:
            run.check()
            if time.monotonic() - last > patience:
                break
    return got


def drain(connection, seconds=0.0):
    """What is there already, or comes within so many seconds."""
    got, until = b"", time.monotonic() + seconds
    while True:
        connection.settimeout(max(0.001, until - time.monotonic()))
        try:
            piece = connection.recv(65536)
            if not piece:
                raise ConnectionError(f"the server hung up after {got[-200:]!r}")
            got += piece
        except TimeoutError:
            return got


def together(*loads):
    """All of them at once; the first error counts."""

    def load(run):
        errors = []

        def one(part):
            try:
                part(run)
            except Stopped:
                pass
            except Exception as error:
                # What stops when the time is up makes others fail.
                if not (run.ready_at and time.monotonic() >= run.deadline):
                    errors.append(error)

        threads = [threading.Thread(target=one, args=(part,)) for part in loads]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        raise Stopped

    return load


def programs(command, until_ready=None, pause=0.0, clients=1, may_fail=False):
    """Runs a shell command again and again, in so many copies; the first that succeeds begins the time."""

    def load(run):
        running = []

        def start():
            return run.process(command)

        def one():
            failed = 0
            while True:
                process = start()
                running.append(process)
                while process.poll() is None:
                    run.check()
                    time.sleep(0.02)
                running.remove(process)
                if process.returncode == 0:
                    run.ready()
                elif run.ready_at is not None and not may_fail:
                    failed += 1
                    if failed > 20:
                        raise RuntimeError(f"`{run.fill(command)}` ends with {process.returncode}")
                run.check()
                time.sleep(pause if process.returncode == 0 else 0.2)

        try:
            if until_ready:
                while run.process(until_ready).wait() != 0:
                    run.check()
                    time.sleep(0.2)
                run.ready()
            together(*[lambda _: one()] * clients)(run)
        finally:
            for process in list(running):
                end(process)

    return load


def helper(command, load):
    """A program that lives as long as the load does, and the load."""

    def both(run):
        process = run.process(command)
        try:
            load(run)
        finally:
            end(process)

    return both


def end(process):
    """Ends a client with all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def see_snapshots(run, number, player):
    """Lets a game's player play until the load is over; it must have received some snapshots by then."""
    try:
        player.play()
    except Stopped:
        if run.ready_at and player.snapshots < 20:
            raise RuntimeError(f"player {number} received {player.snapshots} snapshots") from None
        raise


def lines(questions, hello=None, end=b"\n", clients=4, pause=0.005, greeting=False, tls=False, port=None):
    """Clients that send a line and wait for an answer, round and round.

    `questions`: texts, or pairs of a text and a pattern that the answer ends with; `@n@` counts. `hello`: such a list, sent once.
    """

    def asked(run, connection, question, count):
        text, pattern = question if isinstance(question, tuple) else (question, None)
        if text is not None:
            text = run.fill(text).replace("@n@", str(count))
            connection.sendall(text.encode() + end)
        if pattern == "":
            return
        done = re.compile((pattern or r"\n").encode()).search
        got = receive(connection, run, done)
        if pattern and not done(got):
            raise RuntimeError(f"{text!r} was answered by {got[-200:]!r}, not {pattern}")

    def load(run):
        def one(number):
            count = itertools.count(number * 1_000_000)
            connection = connect(run, port=getattr(run, port) if port else None)
            if tls:
                context = ssl._create_unverified_context()
                connection = context.wrap_socket(connection)
            if greeting:
                receive(connection, run, lambda got: got.endswith(b"\n"))
            for question in hello or []:
                asked(run, connection, question, number)
            run.ready()
            while True:
                for question in questions:
                    asked(run, connection, question, next(count))
                    run.check()
                    time.sleep(pause)

        together(*[lambda _, number=number: one(number) for number in range(clients)])(run)

    return load


def pages(paths=("/",), clients=4, keep_alive=True, pause=0.005, port=None, proxy=None, statuses=(200, 304, 404), headers=""):
    """HTTP/1.1 clients; with `proxy` a text that begins the target, as a proxy is asked."""

    def load(run):
        def one():
            connection, left = None, 0
            for number in itertools.count():
                run.check()
                if connection is None:
                    connection, left = connect(run, port=getattr(run, port) if port else None), 40
                path = run.fill((proxy or "") + paths[number % len(paths)].replace("@n@", str(number)))
                left -= 1
                keep = "keep-alive" if keep_alive and left else "close"
                request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{run.port}\r\nConnection: {keep}\r\n{run.fill(headers)}\r\n"
                connection.sendall(request.encode())
                status, still_open = answered(connection, run)
                if status in statuses:
                    run.ready()
                elif run.ready_at is not None:
                    raise RuntimeError(f"{path} was answered with {status}")
                if keep == "close" or not still_open:
                    connection.close()
                    connection = None
                time.sleep(pause if status in statuses else 0.3)

        together(*[lambda _: one()] * clients)(run)

    return load


def answered(connection, run):
    """Reads one HTTP answer; returns its status and whether the connection goes on."""
    got = receive(connection, run, lambda got: b"\r\n\r\n" in got, patience=20)
    head, _, body = got.partition(b"\r\n\r\n")
    if not head:
        return 0, False
    status = int(head.split()[1])
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    if length and status not in (204, 304):
        wanted = int(length[1])
        receive(connection, run, lambda more: len(body) + len(more) >= wanted, patience=20)
    elif re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
        receive(connection, run, lambda more: (body + more).endswith(b"0\r\n\r\n"), patience=20)
    elif status not in (204, 304):
        try:
            receive(connection, run, lambda more: False, patience=20)
        except ConnectionError:
            pass
        return status, False
    return status, not re.search(rb"(?i)\r\nconnection: *close", head)


def datagrams(make, clients=2, pause=0.005, port=None):
    """Clients that send a datagram and wait for the answer; `make(run, number)` gives the bytes."""

    def load(run):
        def one(number):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.settimeout(0.3)
                client.connect(("127.0.0.1", getattr(run, port) if port else run.port))
                for count in itertools.count(number * 1_000_000):
                    run.check()
                    try:
                        client.send(make(run, count))
                        client.recv(65536)
                        run.ready()
                        time.sleep(pause)
                    except OSError:
                        time.sleep(0.05)

        together(*[lambda _, number=number: one(number) for number in range(clients)])(run)

    return load


def origin(body=b"from the origin\n" * 200, port="other_port"):
    """A load beside others: an HTTP server of our own that a proxy fetches pages from."""

    def serve(run):
        listener = socket.create_server(("127.0.0.1", getattr(run, port)), backlog=64)
        listener.settimeout(0.1)

        def answer(connection):
            try:
                with connection:
                    while True:
                        receive(connection, run, lambda got: b"\r\n\r\n" in got, patience=60)
                        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nContent-Type: text/plain\r\n\r\n"
                        connection.sendall(head.encode() + body)
            except (OSError, Stopped):
                pass

        try:
            while True:
                run.check()
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                threading.Thread(target=answer, args=(connection,)).start()
        finally:
            listener.close()

    return serve


def dns(names, clients=3, pause=0.003, port=None):
    """Questions for names, of type A."""

    def question(_, count):
        name = names[count % len(names)].replace("@n@", str(count % 50))
        labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
        return (count & 0xFFFF).to_bytes(2, "big") + bytes.fromhex("01000001000000000000") + labels + bytes.fromhex("0000010001")

    return datagrams(question, clients, pause, port)
