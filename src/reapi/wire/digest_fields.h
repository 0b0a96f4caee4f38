// Digests on the wire: the message Digest by hand, and which function a
// request's digest_function field means.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "casemate/digest.h"
#include "casemate/result.h"
#include "reapi/wire/fields.h"

namespace casemate::reapi {

// What DigestFunction.Value calls that number, in lowercase as in resource
// names; "" for numbers that the protocol does not know.
std::string_view FunctionName(int64_t number);

// Whether `segment` of a resource name names a digest function, whether this
// server has it or not.
bool IsFunctionName(std::string_view segment);

// One Digest message. Occurrences of one singular field are merged, as in
// protobuf: so Merge may be called again.
class DigestField {
 public:
  // False if `message` is malformed.
  bool Merge(FieldReader message);

  // kMalformed says what is wrong with it; a digest that never came, too
  //
  Result<Digest> Get() const;

 private:
  std::array<char, Digest::kMaxHashSize * 2> hex_;
  size_t hex_size_ = 0;  // As sent; more than fits is no hash.
  int64_t size_ = 0;
  bool present_ = false;
};

// Holds the digests of one request to its one function.
// The functions of this server differ in the length of their hashes, so the
// first digest tells which one is meant where none is stated.
class FunctionCheck {
 public:
  // `number` is the request's digest_function; 0: not stated. The error is
  // that of a function that this server does not have.
  static Result<FunctionCheck> Start(int64_t number);

  Result<void> Check(const Digest& digest);

 private:
  std::optional<DigestFunction> function_;
  bool stated_ = false;
};

// Bytes of a Digest message, without the field's head.
size_t DigestSize(const Digest& digest);

// Appends field `number` with that Digest.
void AppendDigestField(std::string& out, uint32_t number, const Digest& digest);

}  // namespace casemate::reapi
