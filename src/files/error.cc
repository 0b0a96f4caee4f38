#include "files/error.h"

#include <cctype>
#include <cerrno>
#include <cstring>

#include "files/utf8.h"

namespace casemate::files {
namespace {

constexpr size_t kLongest = 512;

void Escape(std::string& out, char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

void AppendPrintable(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool control = first < 0x20 || first == 0x7f ||
                         (first == 0xc2 && length == 2 &&
                          static_cast<unsigned char>(text[1]) < 0xa0);
    if (length == 0) {
      Escape(out, text[0]);
    } else if (control) {
      for (const char c : text.substr(0, length)) Escape(out, c);
    } else if (first == '\\') {
      out += "\\\\";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

}  // namespace

Code CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case EEXIST:
    case ENOTEMPTY: return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
    case ENOMEM: return Code::kResourceExhausted;
    case ELOOP:
    case EISDIR:
    case ENXIO:  // A socket, or a device without a driver.
      return Code::kFailedPrecondition;
    case ENAMETOOLONG:
    case EINVAL:
    case EILSEQ: return Code::kInvalidArgument;
    case EAGAIN: return Code::kUnavailable;
    default: return Code::kInternal;
  }
}

std::string Words(int error) {
  if (error == ELOOP) return "is a symbolic link";
  if (error == ENXIO) return "is not a regular file";
  const char* const text = strerrordesc_np(error);
  if (text == nullptr) return "an unknown error";
  std::string words = text;
  words[0] = static_cast<char>(std::tolower(words[0]));
  return words;
}

Error SystemError(int error, std::string_view doing, std::string_view entry) {
  std::string message(doing);
  message += ' ';
  message += Printable(entry);
  message += ": ";
  message += Words(error);
  return {CodeOf(error), std::move(message)};
}

std::string Escaped(std::string_view path) {
  std::string out;
  AppendPrintable(out, path);
  return out;
}

std::string Printable(std::string_view path) {
  if (path.size() <= kLongest) return Escaped(path);
  std::string out;
  AppendPrintable(out, path.substr(0, kLongest / 2));
  out += "…";
  AppendPrintable(out, path.substr(path.size() - kLongest / 2));
  return out;
}

}  // namespace casemate::files
