"""Calls that no honest client makes: each is refused for a reason it names, and
leaves nothing behind.

    hostile_calls.py ADDRESS SERVER_PID STORE_FOLDER
"""

import os
import sys
import time
import zlib

from casemate_client import (ACTIONS, CAS, INSTANCE, STREAM, Client, bs,
                             code_of, digest, grpc, name, put, re, read,
                             upload_name)

INVALID = grpc.StatusCode.INVALID_ARGUMENT


def zstd_zeros(size):
    """A zstd frame of `size` zeros: RLE blocks of 128 KiB (RFC 8878)."""
    block = 128 << 10
    frame = bytearray(bytes.fromhex("28b52ffd"))
    frame += bytes([0xE0]) + size.to_bytes(8, "little")  # Size of 8 bytes.
    while size > 0:
        now = min(size, block)
        size -= now
        header = (now << 3) | (1 << 1) | (size == 0)  # RLE; last?
        frame += header.to_bytes(3, "little") + b"\0"
    return bytes(frame)


def refused(call, code=INVALID):
    """The call fails like that, and says why."""
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, (error.code(), error.details())
        assert error.details(), "no reason"
        return
    raise AssertionError("it was not refused")


def write(client, requests):
    return client.up(STREAM, "Write", requests, bs.WriteResponse)


def endless(resource):
    at = 0
    while True:
        data = bytes(1 << 20)
        yield bs.WriteRequest(resource_name=resource, write_offset=at, data=data)
        at += len(data)


def check_endless_writer(client):
    refused(lambda: write(client, endless(upload_name(bytes(3_000_000)))))


def check_giant_size(client):
    blob = b"x" * 100
    resource = upload_name(blob).rpartition("/")[0] + f"/{1 << 62}"
    refused(lambda: write(client, [bs.WriteRequest(
        resource_name=resource, data=blob, finish_write=True)]))
    missing = client.unary(CAS, "FindMissingBlobs", re.FindMissingBlobsRequest(
        instance_name=INSTANCE, blob_digests=[
            re.Digest(hash=digest(blob).hash, size_bytes=1 << 62)]),
        re.FindMissingBlobsResponse)
    assert len(missing.missing_blob_digests) == 1


def check_zstd(client):
    blob = bytes(1000)
    resource = upload_name(blob).replace("/blobs/", "/compressed-blobs/zstd/")
    good = zstd_zeros(1000)
    for data in [zstd_zeros(64 << 30)[:1 << 20], b"garbage", good[:-1],
                 good + b"xx", zstd_zeros(999), b""]:
        refused(lambda: write(client, [bs.WriteRequest(
            resource_name=resource, data=data, finish_write=True)]))
    assert write(client, [bs.WriteRequest(
        resource_name=resource, data=good, finish_write=True)]
                 ).committed_size == len(good)


def check_batch_items(client):
    bomb, blob = zstd_zeros(64 << 20), bytes(10)
    answer = client.unary(CAS, "BatchUpdateBlobs", re.BatchUpdateBlobsRequest(
        instance_name=INSTANCE, requests=[
            dict(digest=digest(blob), data=bomb, compressor=1),
            dict(digest=digest(blob), data=zlib.compress(blob), compressor=2),
            dict(digest=digest(blob), data=blob, compressor=3),
            dict(digest=digest(b"other"), data=b"othex"),
        ]), re.BatchUpdateBlobsResponse)
    codes = [each.status.code for each in answer.responses]
    assert codes == [INVALID.value[0]] * 4, codes
    assert all(each.status.message for each in answer.responses)


def check_large_batches(client):
    too_much = [bytes([i]) * 1_000_000 for i in range(4)] + [b"x" * 194_305]
    refused(lambda: client.unary(
        CAS, "BatchUpdateBlobs", re.BatchUpdateBlobsRequest(
            instance_name=INSTANCE, requests=[
                dict(digest=digest(each), data=each) for each in too_much]),
        re.BatchUpdateBlobsResponse))
    many = [re.Digest(hash=f"{i:064x}", size_bytes=i + 1) for i in range(80_000)]
    answer = client.unary(CAS, "FindMissingBlobs", re.FindMissingBlobsRequest(
        instance_name=INSTANCE, blob_digests=many), re.FindMissingBlobsResponse)
    assert len(answer.missing_blob_digests) == 80_000
    one = put(client, b"one")
    answer = client.unary(CAS, "BatchReadBlobs", re.BatchReadBlobsRequest(
        instance_name=INSTANCE, digests=[one] * 20_000),
        re.BatchReadBlobsResponse)
    assert len(answer.responses) == 20_000
    items = [dict(digest=one, data=b"one")] * 65_536
    answer = client.unary(CAS, "BatchUpdateBlobs", re.BatchUpdateBlobsRequest(
        instance_name=INSTANCE, requests=items), re.BatchUpdateBlobsResponse)
    assert all(each.status.code == 0 for each in answer.responses)


def check_names(client):
    good = digest(b"x")
    for bad in ["", "/", "blobs", "blobs/", f"blobs/{good.hash}",
                f"blobs/{good.hash}/", f"blobs/{good.hash}/-1",
                f"blobs/{good.hash}/01", f"blobs/{good.hash}/1x",
                f"blobs/{good.hash.upper()}/1", f"blobs/{good.hash[1:]}/1",
                f"blobs/{good.hash}/1/x", f"a//blobs/{good.hash}/1",
                f"../blobs/{good.hash}/1", f"uploads/u/blobs/{good.hash}/1",
                f"compressed-blobs/gzip/{good.hash}/1",
                f"blobs/{good.hash}/99999999999999999999",
                "x/" * 100_000 + f"blobs/{good.hash}/1"]:
        refused(lambda: read(client, bad))


def check_exponential_tree(client):
    below = put(client, b"")
    for _ in range(30):
        level = re.Directory(directories=[dict(name="a", digest=below),
                                          dict(name="b", digest=below)])
        below = put(client, level.SerializeToString())
    pages = client.down(CAS, "GetTree", re.GetTreeRequest(
        instance_name=INSTANCE, root_digest=below), re.GetTreeResponse)
    assert sum(len(page.directories) for page in pages) == 31


def check_no_result(client):
    refused(lambda: client.unary(
        ACTIONS, "UpdateActionResult", re.UpdateActionResultRequest(
            instance_name=INSTANCE, action_digest=digest(b"action")),
        re.ActionResult))


def check_vanishing_writers(client):
    """Cancelled after each message; the blob never becomes visible."""
    blob = os.urandom(5_000_000)
    for messages in range(1, 6):
        resource = upload_name(blob)
        gone = []

        def requests():
            for i in range(messages):
                yield bs.WriteRequest(resource_name=resource,
                                      write_offset=i << 20,
                                      data=blob[i << 20:(i + 1) << 20])
            gone.append(True)
            while not call.done():
                time.sleep(0.01)

        call = client.channel.stream_unary(
            f"/{STREAM}/Write",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=bs.WriteResponse.FromString
        ).future(requests(), timeout=20)
        while not gone:
            time.sleep(0.01)
        call.cancel()
    assert code_of(lambda: read(client, name("blobs", blob))
                   ) == grpc.StatusCode.NOT_FOUND


def counts(pid, folder):
    """Descriptors, threads, temporary files."""
    temporary = sum(len(files) for _, _, files in
                    os.walk(os.path.join(folder, "tmp")))
    return (len(os.listdir(f"/proc/{pid}/fd")),
            len(os.listdir(f"/proc/{pid}/task")), temporary)


def settled(pid, folder, before):
    """Waits until nothing more is held than before."""
    for _ in range(100):
        now = counts(pid, folder)
        if now[0] <= before[0] + 5 and now[2] <= before[2] + 5:
            return now
        time.sleep(0.1)
    return now


def main():
    address, pid, folder = sys.argv[1:]
    client = Client(address)
    put(client, b"warm")
    check_names(client)
    before = counts(pid, folder)
    for check in [check_endless_writer, check_giant_size, check_zstd,
                  check_batch_items, check_large_batches, check_names,
                  check_exponential_tree, check_no_result,
                  check_vanishing_writers]:
        check(client)
        print(check.__name__, "passed")
    after = settled(pid, folder, before)
    assert after[1] <= before[1] + 2, (before, after)
    # Uploads that may be continued: an open file for each of the five.
    assert after[0] <= before[0] + 5 and after[2] <= before[2] + 5, (before, after)


main()
