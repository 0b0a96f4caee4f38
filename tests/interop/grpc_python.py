"""Every kind of call of TestService, by grpcio over bytes coded by hand."""

import sys
import threading

import grpc

SERVICE = "/grpc.testing.TestService/"


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def payload(size):
    return text(1, text(2, bytes(size))) if size else text(1, b"")


def output_request(sizes, interval_us=0):
    return b"".join(text(2, number(1, size) + number(2, interval_us))
                    for size in sizes)


def status_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error
    raise AssertionError("the call should have failed")


def main():
    options = [("grpc.max_receive_message_length", -1),
               ("grpc.max_send_message_length", -1)]
    channel = grpc.insecure_channel(sys.argv[1], options=options)
    unary = channel.unary_unary(SERVICE + "UnaryCall")
    gather = channel.stream_unary(SERVICE + "StreamingInputCall")
    spread = channel.unary_stream(SERVICE + "StreamingOutputCall")
    duplex = channel.stream_stream(SERVICE + "FullDuplexCall")

    for size in (0, 1, 1000, 16_384, 100_000, 5_000_000):
        request = number(2, size) + text(3, text(2, bytes(size)))
        assert unary(request) == payload(size), size

    sizes = [27_182, 8, 1_828, 45_904, 3_000_000]
    requests = (text(1, text(2, bytes(size))) for size in sizes)
    assert gather(requests) == number(1, sum(sizes))
    assert list(spread(output_request(sizes))) == [payload(s) for s in sizes]
    answers = duplex(output_request([size]) for size in sizes)
    assert list(answers) == [payload(size) for size in sizes]

    # Metadata, there and back.
    _, call = unary.with_call(
        number(2, 1), metadata=[("x-grpc-test-echo-initial", "hello"),
                                ("x-grpc-test-echo-trailing-bin", b"\0\xff")])
    assert ("x-grpc-test-echo-initial", "hello") in call.initial_metadata()
    assert ("x-grpc-test-echo-trailing-bin", b"\0\xff") in \
        call.trailing_metadata()

    # Errors, deadlines, cancellation.
    message = "\t100% \u263a\n".encode()
    error = status_of(lambda: unary(text(7, number(1, 9) + text(2, message))))
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert error.details() == message.decode()
    error = status_of(
        lambda: channel.unary_unary(SERVICE + "UnimplementedCall")(b""))
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED
    slow = output_request([1], interval_us=60_000_000)
    error = status_of(lambda: list(spread(slow, timeout=0.2)))
    assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    answers = spread(output_request([1]) + slow)
    assert next(answers) == payload(1)
    answers.cancel()
    assert status_of(lambda: next(answers)).code() == grpc.StatusCode.CANCELLED

    # Many at once.
    def many():
        for _ in range(50):
            assert unary(number(2, 4096)) == payload(4096)
    threads = [threading.Thread(target=many) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print("every kind of call passed")


main()
