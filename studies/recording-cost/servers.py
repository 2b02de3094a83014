"""Servers, and loads of a fixed number of requests."""

import contextlib
import dataclasses
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
READY_S = 30
END_S = 60


@dataclasses.dataclass
class Server:
    name: str
    # In one load.
    requests: int
    # Makes the words of a server in this directory, at this port.
    command: Callable
    # Gives a `Running` that many requests.
    load: Callable
    # Of `prony record`.
    flags: tuple = ()


class Running:
    """A server, or a recorder that has one, until the context ends."""

    def __init__(self, server, directory, prony, flags, requests=None, tool=()):
        """`requests` in one load, if not those of the server; `tool`: words that start the server's program."""
        directory.mkdir()
        self.port = free_port()
        self.directory = directory
        self.requests = requests or server.requests
        self.loads = 0
        self.demo = directory.with_suffix(".demo") if prony else None
        words = [*tool, *server.command(directory, self.port)]
        if prony:
            words = [str(prony), "record", "--force", "-o", str(self.demo), *server.flags, *flags, "--", *words]
        self.log = open(directory.with_suffix(".log"), "w+")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.recorder = self.process.pid if prony else None

    def __enter__(self):
        deadline = time.monotonic() + READY_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return self
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise RuntimeError(f"{self.process.args[0]} does not listen: {self.log.read()[-500:]}")
            time.sleep(0.02)

    def __exit__(self, *_):
        self.end()
        self.log.close()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def processes(self):
        """The processes of the server, without the recorder."""
        found = []
        seen = [self.process.pid]
        while seen:
            pid = seen.pop()
            if pid != self.recorder:
                found.append(pid)
            with contextlib.suppress(OSError):
                for task in os.listdir(f"/proc/{pid}/task"):
                    seen += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        return found


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def program(name, package):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if not path:
        raise SystemExit(f"error: `{name}` is missing\nhint: apt-get install {package}")
    return path


def ran(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stdout[-500:]}")
    return done.stdout


def memcached(_, port):
    path = program("memcached", "memcached")
    return [path, "-t", "4", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", getpass.getuser()]


# `memcslap` stores as many pairs as a client reads, and then reads them with all clients.
GETS, CLIENTS = 4000, 8


def slap(running):
    running.loads += 1
    path = program("memcslap", "libmemcached-tools")
    ran(
        path,
        f"--servers=127.0.0.1:{running.port}",
        f"--concurrency={CLIENTS}",
        f"--execute-number={running.requests // (CLIENTS + 1)}",
        "--test=get",
    )


def tokio(_, port):
    source = HERE / "tokio"
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target")) / "recording-cost"
    ran("cargo", "build", "--quiet", "--release", "--manifest-path", source / "Cargo.toml", "--target-dir", target)
    return [str(target / "release/tokio-http"), str(port)]


def nginx(directory, port):
    path = program("nginx", "nginx-light")
    (directory / "index.html").write_text("small page\n" * 60)
    settings = directory / "nginx.conf"
    settings.write_text(
        f"daemon off; pid {directory}/pid; error_log /dev/null; worker_processes 2;\n"
        "events { worker_connections 256; }\n"
        "http { access_log off; keepalive_requests 100000000;\n"
        f"server {{ listen 127.0.0.1:{port}; root {directory}; }} }}\n"
    )
    return [path, "-p", str(directory), "-c", str(settings)]


PAGES = 20_000


def pages(running):
    running.loads += 1
    page = f"http://127.0.0.1:{running.port}/index.html"
    ran(program("ab", "apache2-utils"), "-q", "-k", "-n", running.requests, "-c", 8, page)


def postgres_program(name):
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    if not versions:
        raise SystemExit(f"error: `{name}` of PostgreSQL is missing\nhint: apt-get install postgresql")
    return str(versions[-1])


def as_postgres(*words):
    # It refuses to run as root.
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words] if os.getuid() == 0 else words


def postgres(directory, port):
    if os.getuid() == 0:
        shutil.chown(directory, "postgres", "postgres")
    ran(*as_postgres(postgres_program("initdb"), "--no-sync", "-U", "postgres", "-A", "trust", "-D", directory))
    return [*as_postgres(postgres_program("postgres")), "-D", str(directory), f"--port={port}", f"-k{directory}", "-cfsync=off"]


TRANSACTIONS, SESSIONS = 300, 4


def transactions(running):
    words = [postgres_program("pgbench"), "-h", "127.0.0.1", "-p", running.port, "-U", "postgres"]
    if running.loads == 0:
        # It listens before it answers.
        deadline = time.monotonic() + READY_S
        while True:
            try:
                ran(*words, "-i", "-q", "-s", 2, "postgres")
                break
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
    running.loads += 1
    ran(*words, "-n", "-c", SESSIONS, "-t", running.requests // SESSIONS, "postgres")


def node(_, port):
    return [program("node", "nodejs"), str(HERE / "node.js"), str(port)]


def java(directory, port):
    # Without `nodelay`, head and body are two packets, and the second waits for an acknowledgement.
    ran(program("javac", "openjdk-17-jdk-headless"), "-d", directory, HERE / "Pages.java")
    return [program("java", "openjdk-17-jre-headless"), "-Dsun.net.httpserver.nodelay=true", "-cp", str(directory), "Pages", str(port)]


# Loads until a just-in-time compiler has made what is run often.
WARM_LOADS = 6


def pages_when_warm(running):
    if running.loads == 0:
        for _ in range(WARM_LOADS):
            pages(running)
    pages(running)


def redis(directory, port):
    path = program("redis-server", "redis-server")
    return [path, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(directory)]


COMMANDS = 20_000


def commands(running):
    running.loads += 1
    path = program("redis-benchmark", "redis-tools")
    ran(path, "-p", running.port, "-n", running.requests // 2, "-c", 20, "-t", "set,get", "-q")


SERVERS = [
    Server("memcached", (CLIENTS + 1) * GETS, memcached, slap),
    Server("tokio", PAGES, tokio, pages),
    Server("nginx", PAGES, nginx, pages),
    Server("postgresql", TRANSACTIONS * SESSIONS, postgres, transactions),
    # Its workers are programs that it starts.
    Server("node", PAGES, node, pages_when_warm, ("--follow-exec",)),
    Server("java", PAGES, java, pages_when_warm),
    Server("redis", COMMANDS, redis, commands),
]
