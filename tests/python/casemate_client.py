"""A client of a casemate server that shares no code with it.

It has no generated stubs: a method is its path and its two messages. Import it
before anything else that is generated.
"""

import hashlib
import os
import uuid

import google
import grpc

# The generated packages share names with those of the libraries.
GENERATED = os.path.join(os.getcwd(), "generated")
google.__path__.append(os.path.join(GENERATED, "google"))
grpc.__path__.append(os.path.join(GENERATED, "grpc"))

from build.bazel.remote.execution.v2 import remote_execution_pb2 as re
from google.bytestream import bytestream_pb2 as bs

API = "build.bazel.remote.execution.v2."
CAS = API + "ContentAddressableStorage"
ACTIONS = API + "ActionCache"
STREAM = "google.bytestream.ByteStream"
INSTANCE = "some/instance"


class Client:
    def __init__(self, address):
        # Its answer to a FindMissingBlobs of 80,000 is above the default.
        self.channel = grpc.insecure_channel(
            address, [("grpc.max_receive_message_length", 64 << 20)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def unary(self, service, method, request, response):
        return self._call("unary_unary", service, method, response)(
            request, timeout=20)

    def down(self, service, method, request, response):
        return list(self._call("unary_stream", service, method, response)(
            request, timeout=20))

    def up(self, service, method, requests, response):
        return self._call("stream_unary", service, method, response)(
            iter(requests), timeout=20)

    def both(self, service, method, requests, response):
        return list(self._call("stream_stream", service, method, response)(
            iter(requests), timeout=20))

    def _call(self, kind, service, method, response):
        return getattr(self.channel, kind)(
            f"/{service}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString)


def digest(data):
    return re.Digest(hash=hashlib.sha256(data).hexdigest(),
                     size_bytes=len(data))


def name(of, data):
    return f"{INSTANCE}/{of}/{digest(data).hash}/{len(data)}"


def upload_name(data):
    return name(f"uploads/{uuid.uuid4()}/blobs", data)


def put(client, blob):
    answer = client.unary(CAS, "BatchUpdateBlobs", re.BatchUpdateBlobsRequest(
        instance_name=INSTANCE,
        requests=[dict(digest=digest(blob), data=blob)]),
        re.BatchUpdateBlobsResponse)
    assert answer.responses[0].status.code == 0, answer
    return digest(blob)


def read(client, resource, offset=0, limit=0):
    parts = client.down(STREAM, "Read", bs.ReadRequest(
        resource_name=resource, read_offset=offset, read_limit=limit),
        bs.ReadResponse)
    return b"".join(part.data for part in parts)


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK
