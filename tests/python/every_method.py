"""Calls every method of a casemate server and checks what comes back.

    every_method.py ADDRESS
"""

import os
import sys
import uuid

from casemate_client import (ACTIONS, API, CAS, INSTANCE, STREAM, Client, bs,
                             code_of, digest, grpc, name, put, re, read,
                             upload_name)
from grpc.health.v1 import health_pb2 as health
from grpc.reflection.v1 import reflection_pb2 as reflection
from grpc.reflection.v1alpha import reflection_pb2 as reflection_alpha


def check_capabilities(client):
    answer = client.unary(API + "Capabilities", "GetCapabilities",
                          re.GetCapabilitiesRequest(instance_name=INSTANCE),
                          re.ServerCapabilities)
    cache = answer.cache_capabilities
    assert re.DigestFunction.SHA256 in cache.digest_functions
    assert re.Compressor.ZSTD in cache.supported_compressors
    assert cache.max_batch_total_size_bytes == 4_000_000
    assert not answer.HasField("execution_capabilities")


def check_batches(client):
    blobs = [b"one", b"two" * 1000, b""]
    update = re.BatchUpdateBlobsRequest(instance_name=INSTANCE)
    for blob in blobs:
        update.requests.add(digest=digest(blob), data=blob)
    answer = client.unary(CAS, "BatchUpdateBlobs", update,
                          re.BatchUpdateBlobsResponse)
    assert [each.status.code for each in answer.responses] == [0, 0, 0]

    absent = digest(b"absent")
    missing = client.unary(
        CAS, "FindMissingBlobs",
        re.FindMissingBlobsRequest(
            instance_name=INSTANCE,
            blob_digests=[absent, *map(digest, blobs)]),
        re.FindMissingBlobsResponse)
    assert list(missing.missing_blob_digests) == [absent]

    read = client.unary(
        CAS, "BatchReadBlobs",
        re.BatchReadBlobsRequest(instance_name=INSTANCE,
                                 digests=[*map(digest, blobs), absent]),
        re.BatchReadBlobsResponse)
    assert [each.data for each in read.responses] == [*blobs, b""]
    assert read.responses[3].status.code == grpc.StatusCode.NOT_FOUND.value[0]


def check_streams(client):
    blob = os.urandom(3_000_000) + bytes(2_000_000)
    upload = upload_name(blob)
    status = bs.QueryWriteStatusRequest(resource_name=upload)
    assert code_of(lambda: client.unary(
        STREAM, "QueryWriteStatus", status, bs.QueryWriteStatusResponse)
                   ) == grpc.StatusCode.NOT_FOUND
    pieces = range(0, len(blob), 1 << 20)
    written = client.up(STREAM, "Write", [
        bs.WriteRequest(resource_name=upload if at == 0 else "",
                        write_offset=at, data=blob[at:at + (1 << 20)],
                        finish_write=at + (1 << 20) >= len(blob))
        for at in pieces], bs.WriteResponse)
    assert written.committed_size == len(blob)
    answer = client.unary(STREAM, "QueryWriteStatus", status,
                          bs.QueryWriteStatusResponse)
    assert answer.complete and answer.committed_size == len(blob)
    for offset, limit in [(0, 0), (1234567, 0), (1234567, 100), (len(blob), 0)]:
        data = read(client, name("blobs", blob), offset, limit)
        assert data == blob[offset:offset + limit if limit else None]
    assert code_of(lambda: read(client, name("blobs", b"absent"))
                   ) == grpc.StatusCode.NOT_FOUND


def check_tree(client):
    leaf = re.Directory(files=[dict(name="f", digest=put(client, b"one"))])
    leaf_digest = put(client, leaf.SerializeToString())
    root = re.Directory(directories=[dict(name="a", digest=leaf_digest),
                                     dict(name="b", digest=leaf_digest)])
    pages = client.down(CAS, "GetTree", re.GetTreeRequest(
        instance_name=INSTANCE, page_size=1,
        root_digest=put(client, root.SerializeToString())), re.GetTreeResponse)
    found = [each for page in pages for each in page.directories]
    assert found == [root, leaf], found
    assert pages[0].next_page_token and not pages[-1].next_page_token


def check_chunking(client):
    for method, request, response in [
            ("SplitBlob", re.SplitBlobRequest(), re.SplitBlobResponse),
            ("SpliceBlob", re.SpliceBlobRequest(), re.SpliceBlobResponse)]:
        assert code_of(lambda: client.unary(CAS, method, request, response)
                       ) == grpc.StatusCode.UNIMPLEMENTED


def check_actions(client):
    action = digest(uuid.uuid4().bytes)
    get = re.GetActionResultRequest(instance_name=INSTANCE,
                                    action_digest=action)
    assert code_of(lambda: client.unary(
        ACTIONS, "GetActionResult", get, re.ActionResult)
                   ) == grpc.StatusCode.NOT_FOUND
    result = re.ActionResult(
        exit_code=7, stdout_digest=put(client, b"said"),
        output_files=[dict(path="out/x", digest=put(client, b"one"))])
    client.unary(ACTIONS, "UpdateActionResult", re.UpdateActionResultRequest(
        instance_name=INSTANCE, action_digest=action, action_result=result),
        re.ActionResult)
    assert client.unary(ACTIONS, "GetActionResult", get,
                        re.ActionResult) == result


def check_health(client):
    service = "grpc.health.v1.Health"
    request = health.HealthCheckRequest(service=CAS)
    answer = client.unary(service, "Check", request, health.HealthCheckResponse)
    assert answer.status == health.HealthCheckResponse.SERVING
    listed = client.unary(service, "List", health.HealthListRequest(),
                          health.HealthListResponse)
    assert STREAM in listed.statuses
    watch = client._call("unary_stream", service, "Watch",
                         health.HealthCheckResponse)(request, timeout=20)
    assert next(watch).status == health.HealthCheckResponse.SERVING
    watch.cancel()


def check_reflection(client):
    for package, messages in [("v1", reflection), ("v1alpha", reflection_alpha)]:
        answers = client.both(
            f"grpc.reflection.{package}.ServerReflection",
            "ServerReflectionInfo",
            [messages.ServerReflectionRequest(list_services=""),
             messages.ServerReflectionRequest(file_containing_symbol=CAS)],
            messages.ServerReflectionResponse)
        names = {each.name for each in answers[0].list_services_response.service}
        assert {CAS, ACTIONS, STREAM} <= names, names
        assert answers[1].file_descriptor_response.file_descriptor_proto


def main():
    client = Client(sys.argv[1])
    for check in [check_capabilities, check_batches, check_streams, check_tree,
                  check_chunking, check_actions, check_health,
                  check_reflection]:
        check(client)
        print(check.__name__, "passed")
    assert code_of(lambda: client.unary(
        API + "Execution", "WaitExecution", re.GetTreeRequest(),
        re.GetTreeResponse)) == grpc.StatusCode.UNIMPLEMENTED


main()
