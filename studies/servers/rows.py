"""What a row of the study says of a server."""

from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Server:
    """How a server is installed, started and kept busy."""

    name: str
    kind: str
    # Of Debian 12; the version of the first one is shown.
    packages: str
    command: str
    load: Callable
    # How long it is kept busy, from the first answer on.
    seconds: float = 6
    # Files below its directory, made before it starts; those that begin with `#!` are programs.
    files: dict = field(default_factory=dict)
    # Shell commands that run before.
    prepare: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    # Flags of `prony record`.
    flags: str = ""
    # Whether `@state@` is given as --state: for what it writes and reads back.
    state: bool = True
    # The user that it runs as where the study is run by root.
    user: str = ""
    # A file below its directory.
    stdin: str = ""
    # Whether the command is a shell's.
    shell: bool = False
    # Where it listens, for those that cannot be told.
    port: int = 4000
    # Ended by SIGINT instead of SIGTERM.
    interrupt: bool = False
    # A package of npm, installed into `@tools@`.
    npm: str = ""
