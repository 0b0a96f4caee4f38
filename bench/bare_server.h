// The floor that the server's wire is measured against: gRPC's raw callback
// API, and next to nothing above it.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <map>
#include <string>

namespace casemate::bench {

// The messages of one answer, one after the other; says which is the last.
struct Piece {
  grpc::ByteBuffer message;
  bool last = true;
};
using Source = std::function<Piece()>;

// Takes the messages of one upload.
using Sink = std::function<void(const grpc::ByteBuffer&)>;

// What a method does: answers its one request with a stream, or takes a stream
// and answers with an empty message at its end. One of the two is set.
struct BareMethod {
  std::function<Source(const grpc::ByteBuffer& request)> read = {};
  std::function<Sink()> write = {};
};

// Prints its address and serves until stdin ends. Methods by their paths.
int ServeBare(const std::map<std::string, BareMethod>& methods);

// "/bare/Read": the request is "SIZE COUNT" as text: so many messages of such a
// size, from memory. "/bare/Batch": all in one message, each after a head of
// kBatchHead bytes. "/bare/Hash": SHA-256 of all that comes.
inline constexpr size_t kBatchHead = 90;
std::map<std::string, BareMethod> BareMethods();

// What "SIZE COUNT" says.
struct ReadRequest {
  size_t size = 0;
  int count = 0;
};
ReadRequest ParseRead(const std::string& text);

// All bytes of a message.
std::string ToText(const grpc::ByteBuffer& buffer);

inline constexpr char kServeBareFlag[] = "--serve-bare";

}  // namespace casemate::bench
