"""Peers that misbehave on the wire, below gRPC: written with an HTTP/2 library.

    hostile_wire.py ADDRESS SERVER_PID [CHECK…]

The server must have been started with --idle-timeout 2s, --keepalive-time 2s
and --keepalive-timeout 2s.
"""

import multiprocessing
import os
import signal
import socket
import struct
import sys
import time

import h2.config
import h2.connection
import h2.events

from casemate_client import (STREAM, Client, bs, digest, name, put, read,
                             upload_name)


# Such a program needs more memory, of which nothing is promised.
SANITIZED = "CASEMATE_TEST_SANITIZED" in os.environ


class Peer:
    """One HTTP/2 connection, driven by hand."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(20)
        self.state = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True))
        self.state.initiate_connection()
        self.pending = []  # Events that nobody has asked for yet.
        self.flush()

    def flush(self):
        self.socket.sendall(self.state.data_to_send())

    def call(self, method):
        stream = self.state.get_next_available_stream_id()
        self.state.send_headers(stream, [
            (":method", "POST"), (":scheme", "http"),
            (":path", f"/{STREAM}/{method}"), (":authority", "x"),
            ("content-type", "application/grpc"), ("te", "trailers")])
        self.flush()
        return stream

    def send(self, stream, message, end=False):
        data = message.SerializeToString()
        self.state.send_data(stream, b"\0" + struct.pack(">I", len(data)) + data,
                             end_stream=end)
        self.flush()

    def events(self, wanted):
        """Reads until an event of the kind `wanted`; returns it. Gives back no
        credit for data."""
        while True:
            while self.pending:
                event = self.pending.pop(0)
                if isinstance(event, wanted):
                    return event
            data = self.socket.recv(65536)
            if not data:
                return None
            self.pending += self.state.receive_data(data)
            self.flush()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def store(address, blob):
    with Client(address) as client:
        put(client, blob)


def fetch(address, blob):
    with Client(address) as client:
        return read(client, name("blobs", blob))


def rss(pid):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) << 10
    return 0


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def quiet(pid):
    """The descriptors of the server once those of earlier peers are closed."""
    last, same = descriptors(pid), 0
    while same < 10:
        time.sleep(0.05)
        now = descriptors(pid)
        same, last = (same + 1 if now == last else 0), now
    return last


def wait_until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def hold(address, connections, streams, ready, leave):
    peers = [Peer(address) for _ in range(connections)]
    for peer in peers:
        peer.events(h2.events.RemoteSettingsChanged)
        peer.flush()
        for _ in range(streams):
            peer.call("Write")
    ready.set()
    leave.wait()
    for peer in peers:
        peer.close()


def with_held(address, pid, processes, connections, streams):
    """Bytes of memory that the server spends on all of them together."""
    descriptors_before = quiet(pid)
    before, threads_before = rss(pid), threads(pid)
    leave = multiprocessing.Event()
    ready = [multiprocessing.Event() for _ in range(processes)]
    holders = [multiprocessing.Process(
        target=hold, args=(address, connections, streams, each, leave))
        for each in ready]
    for each in holders:
        each.start()
    for each in ready:
        assert each.wait(60)
    wait_until(lambda: descriptors(pid) >= descriptors_before +
               processes * connections, "they were not all accepted")
    assert fetch(address, b"warm") == b"warm"
    cost = rss(pid) - before
    assert threads(pid) <= threads_before + 4, threads(pid)
    leave.set()
    for each in holders:
        each.join()
    wait_until(lambda: descriptors(pid) <= descriptors_before + 2,
               "descriptors are left")
    return cost


def idle_connections(address, pid):
    count = int(os.environ.get("CASEMATE_TEST_CONNECTIONS", 10_000))
    cost = with_held(address, pid, 2, count // 2, 0) / count
    print(f"{cost:.0f} bytes a connection")
    assert cost <= 25_000 or SANITIZED


def idle_streams(address, pid):
    cost = with_held(address, pid, 1, 20, 100) / 2000
    print(f"{cost:.0f} bytes a stream")
    assert cost <= 30_000 or SANITIZED


def reader_that_stops(address, pid):
    """Many readers that take one window and no more: memory stays bounded, and
    each is let go after the idle timeout."""
    blob = os.urandom(1 << 20) * 3
    store(address, blob)
    before = rss(pid)
    peer = Peer(address)
    streams = [peer.call("Read") for _ in range(50)]
    for stream in streams:
        peer.send(stream, bs.ReadRequest(resource_name=name("blobs", blob)),
                  end=True)
    time.sleep(1)
    assert rss(pid) - before < 200 << 20
    ended = 0
    while ended < len(streams):
        event = peer.events((h2.events.StreamEnded, h2.events.StreamReset))
        assert event, "the connection ended"
        ended += 1
    assert fetch(address, blob) == blob


def slow_writer(address, pid):
    blob = os.urandom(40)
    peer, resource = Peer(address), upload_name(blob)
    stream = peer.call("Write")
    for i in range(len(blob)):
        time.sleep(0.1)  # Slow, but never idle for long.
        peer.send(stream, bs.WriteRequest(
            resource_name=resource, write_offset=i, data=blob[i:i + 1],
            finish_write=i + 1 == len(blob)), end=i + 1 == len(blob))
    assert peer.events(h2.events.DataReceived)
    assert fetch(address, blob) == blob


def stalled_writer(address, pid):
    """A writer that waits hears at once that another has brought the blob."""
    blob = os.urandom(1_000_000)
    peer = Peer(address)
    stream = peer.call("Write")
    peer.send(stream, bs.WriteRequest(resource_name=upload_name(blob),
                                      data=blob[:1000]))
    time.sleep(0.2)
    store(address, blob)
    start = time.monotonic()
    event = peer.events(h2.events.DataReceived)
    assert bs.WriteResponse.FromString(event.data[5:]).committed_size == len(blob)
    assert time.monotonic() - start < 1


def resets(address, pid):
    """A stream reset after each message, and in the middle of one."""
    blob = os.urandom(200_000)
    before = quiet(pid)
    peer = Peer(address)
    for messages in range(5):
        stream = peer.call("Write")
        resource = upload_name(blob)
        for i in range(messages):
            part = blob[i * 1000:(i + 1) * 1000]
            peer.send(stream, bs.WriteRequest(
                resource_name=resource, write_offset=i * 1000, data=part))
        peer.state.send_data(stream, b"\0\0\0")  # Half a prefix.
        peer.state.reset_stream(stream, error_code=8)
        peer.flush()
    wait_until(lambda: descriptors(pid) <= before + 2, "descriptors are left")


def go_away(address, pid):
    """A client that says it goes away still gets its answer."""
    store(address, b"warm")
    peer = Peer(address)
    stream = peer.call("Read")
    peer.send(stream, bs.ReadRequest(resource_name=name("blobs", b"warm")),
              end=True)
    peer.socket.sendall(b"\0\0\x08\x07\0\0\0\0\0" + struct.pack(">II", 0, 0))
    assert peer.events(h2.events.DataReceived)


def half_open(address, pid):
    """A client that is frozen answers no PING; its connection is closed."""
    before = quiet(pid)
    ready, leave = multiprocessing.Event(), multiprocessing.Event()
    frozen = multiprocessing.Process(target=hold,
                                     args=(address, 1, 1, ready, leave))
    frozen.start()
    assert ready.wait(20)
    wait_until(lambda: descriptors(pid) > before, "it was not accepted")
    os.kill(frozen.pid, signal.SIGSTOP)
    wait_until(lambda: descriptors(pid) <= before, "it is still held")
    os.kill(frozen.pid, signal.SIGKILL)


CHECKS = [idle_connections, idle_streams, reader_that_stops, slow_writer,
          stalled_writer, resets, go_away, half_open]


def main():
    address, pid, *names = sys.argv[1:]
    store(address, b"warm")
    for check in CHECKS:
        if not names or check.__name__ in names:
            check(address, int(pid))
            print(check.__name__, "passed", flush=True)


main()
