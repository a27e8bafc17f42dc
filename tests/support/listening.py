"""A process goes in; the addresses on which it listens come out, as Linux knows them."""

import socket
import struct
from pathlib import Path

LISTEN = "0A"


def addresses(pid: int) -> set[str]:
    """Return the local addresses, without ports, on which a process takes connections; none if it has ended."""
    try:
        return _addresses(pid)
    except OSError:
        return set()


def _addresses(pid: int) -> set[str]:
    sockets = {_inode(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and fields[9] in sockets:
                found.add(_address(fields[1].split(":")[0]))
    return found


def _inode(link: Path) -> str:
    try:
        target = str(link.readlink())
    except OSError:
        return ""  # closed meanwhile
    return target.removeprefix("socket:[").removesuffix("]")


def _address(text: str) -> str:
    """Return an address as people write it.

    >>> _address("0100007F")
    '127.0.0.1'
    """
    words = [int(text[i : i + 8], 16) for i in range(0, len(text), 8)]
    packed = b"".join(struct.pack("<I", word) for word in words)
    if len(packed) == 4:
        return socket.inet_ntop(socket.AF_INET, packed)
    plain = socket.inet_ntop(socket.AF_INET6, packed)
    return plain.removeprefix("::ffff:")


def family(leader: int) -> list[int]:
    """Return the processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            found.append(int(stat.parent.name))
    return found
