"""Vowpal Wabbit on two processes that average by its allreduce: python -m benchmarks.allreduce [--turns 3]

Its package brings the nodes of the tree and not the server that tells them of each other, so a server for two is
here: node 1 is the child of node 0. Each process reads half of the generated file of `benchmarks.files`; beside them
are one process of Vowpal Wabbit and one of ours on the whole file, by turns. Wall clock and processor seconds of
everything together, start-up included. Prints a table, writes out/allreduce.json.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import struct
import subprocess
import sys
import threading
from pathlib import Path

from benchmarks.cache import Spent, spent
from benchmarks.files import PYTHON, generate, ours, theirs
from benchmarks.speed import OUT

NODES = 2
NOBODY = b"\xff" * 6  # an address and a port


def introduce(server: socket.socket) -> None:
    """Tell the two nodes that come next of each other.

    Each says a number for all, how many they are and which it is; hears that it is welcome and how many children it
    has; says where it listens; hears where its parent is.
    """
    found: dict[int, tuple[socket.socket, str]] = {}
    while len(found) < NODES:
        client, (address, _) = server.accept()
        _, _, node = struct.unpack("=QQQ", exactly(client, 24))
        client.sendall(struct.pack("=i", 1))
        found[node] = client, address
    ports = []
    for node in range(NODES):
        client = found[node][0]
        client.sendall(struct.pack("=H", 1 if node == 0 else 0))
        ports.append(exactly(client, 2))
    for node, (client, _) in found.items():
        client.sendall(NOBODY if node == 0 else socket.inet_aton(found[0][1]) + ports[0])
        client.close()


def exactly(client: socket.socket, size: int) -> bytes:
    """So many bytes of a client, however they come."""
    found = b""
    while len(found) < size:
        more = client.recv(size - len(found))
        if not more:
            raise ConnectionError("a node left before the tree was made")
        found += more
    return found


def halves(path: Path) -> list[Path]:
    """The lines of a file in two files, every other one in each."""
    found = [path.with_suffix(f".half{k}{path.suffix}") for k in range(NODES)]
    if not all(half.exists() for half in found):
        lines = path.read_bytes().splitlines(keepends=True)
        for k, half in enumerate(found):
            half.write_bytes(b"".join(lines[k::NODES]))
    return found


def pair(files: list[str], port: int) -> int:
    """Run both nodes of Vowpal Wabbit; returns 0 if both ended well."""
    server = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=introduce, args=(server,), daemon=True).start()
    options = ["--span_server", "127.0.0.1", "--span_server_port", str(port), "--total", str(NODES), "--unique_id", "7"]
    nodes = [
        subprocess.Popen(theirs(Path(file), *options, "--node", str(k)), stderr=subprocess.DEVNULL)
        for k, file in enumerate(files)
    ]
    return max(abs(node.wait()) for node in nodes)


def main() -> None:
    """Run all contenders by turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=OUT)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--port", type=int, default=26543)
    parser.add_argument("--pair", nargs=NODES, metavar="FILE", help="run two nodes on these files, and nothing else")
    given = parser.parse_args()
    if given.pair:
        sys.exit(pair(given.pair, given.port))
    svm, vw = generate(given.folder)
    both = [PYTHON, "-m", "benchmarks.allreduce", "--port", str(given.port), "--pair", *map(str, halves(vw))]
    commands = {"lowregret, one": ours(svm), "VW, one": theirs(vw), "VW, two with allreduce": both}
    found: dict[str, list[Spent]] = {name: [] for name in commands}
    for _ in range(given.turns):
        for name, command in commands.items():
            found[name].append(spent(command))
    for name, times in found.items():
        wall, processor = (statistics.median(column) for column in zip(*times, strict=True))
        print(f"{name:<24} {wall:7.2f} s {processor:7.2f} s of processor")
    OUT.mkdir(exist_ok=True)
    (OUT / "allreduce.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
