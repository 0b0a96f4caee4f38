// Output: what a connection has to send, in order, as pieces for writev.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "casemate/bytes.h"

namespace casemate::rpc::http2 {

// Heads and small bodies are copied into blocks, next to each other; blobs are
// referred to. A loop has one, which its connections fill and empty in turn;
// only what a socket did not take stays with its connection.
class Output {
 public:
  // Bytes up to this size are copied: cheaper than a piece of their own.
  static constexpr size_t kCopied = 1024;

  void Add(std::string_view bytes);  // Copies.
  void Add(Bytes bytes);             // Refers to what is large.

  size_t size() const { return size_; }  // Not sent yet.
  bool empty() const { return size_ == 0; }

  // What comes next, as much as one writev takes.
  std::span<const iovec> pieces() const;

  // The first `count` bytes were sent.
  void Drop(size_t count);
  void Clear();

 private:
  static constexpr size_t kBlock = size_t{32} << 10;
  static constexpr size_t kMostPieces = 512;  // Below IOV_MAX.

  char* Reserve(size_t count);
  void AddPiece(const void* data, size_t count);

  std::vector<iovec> pieces_;
  size_t first_ = 0;  // Of the pieces: those before were sent.
  size_t size_ = 0;
  std::vector<Bytes> owners_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t in_block_ = kBlock;  // Used of the last block.
};

}  // namespace casemate::rpc::http2
