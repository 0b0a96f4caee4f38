// Errors as values: Code, Error and Result<T>.
//
// Nothing in this library throws. A call that can fail returns Result<T>, and
// the code alone decides what a caller does next; the message is for people.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace casemate {

// gRPC's canonical status codes, by name and number.
enum class Code {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,  // Absent; an ordinary answer of a store.
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,   // A limit was reached: size, count, disk space.
  kFailedPrecondition = 9,  // The state forbids it, as when a file changed.
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,  // May be retried.
  kDataLoss = 15,     // Bytes and digest disagree.
  kUnauthenticated = 16,
};

// "NOT_FOUND" for kNotFound, and so on.
std::string_view CodeName(Code code);

// What went wrong: never kOk. The message says what was being done, to what,
// and what happened, outermost first.
struct Error {
  Code code = Code::kUnknown;
  std::string message;
};

// Puts `doing` before the message and keeps the code: Wrap(e, "pull lib/a.so")
// reads "pull lib/a.so: no such blob".
Error Wrap(Error error, std::string_view doing);

// A value or an Error. Converts from both, so that a function may
// `return value;` or `return Error{…};`.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error)  // NOLINT: implicit by design.
      : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};

template <>
class [[nodiscard]] Result<void> : public tl::expected<void, Error> {
 public:
  using tl::expected<void, Error>::expected;
  Result() = default;
  Result(Error error)  // NOLINT: implicit by design.
      : tl::expected<void, Error>(tl::unexpect, std::move(error)) {}
};

}  // namespace casemate
