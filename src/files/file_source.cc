#include "files/file_source.h"

#include <utility>

#include "base/try.h"
#include "files/error.h"

namespace casemate::files {
namespace {

Error Changed(std::string_view path) {
  return {Code::kFailedPrecondition,
          "read " + Printable(path) + ": changed while it was read"};
}

// Hands out the last bytes only after it has looked whether the file changed.
class FileReader : public Reader {
 public:
  FileReader(File file, const std::string& path, const Stat& expected,
             int64_t offset)
      : file_(std::move(file)),
        path_(path),
        expected_(expected),
        offset_(offset) {}

  Result<size_t> Read(const Context& ctx,
                      std::span<std::byte> buffer) override {
    RETURN_IF_ERROR(ctx.Check());
    if (done_) return size_t{0};
    auto got = file_.ReadAt(offset_, buffer);
    if (!got) return Wrap(std::move(got).error(), Printable(path_));
    offset_ += static_cast<int64_t>(*got);
    if (AtEnd(*got < buffer.size())) {
      ASSIGN_OR_RETURN(const Stat now, file_.Restat());
      if (!AsLongAsExpected() || !Unchanged(now, expected_)) {
        return Changed(path_);
      }
      done_ = true;
    }
    return got;
  }

 private:
  // Files of /proc and the like say that their size is 0, and go on to where
  // they end.
  bool says_no_size() const { return expected_.size == 0; }

  bool AtEnd(bool ended) const {
    return ended || (!says_no_size() && offset_ >= expected_.size);
  }
  bool AsLongAsExpected() const {
    return says_no_size() || offset_ == expected_.size;
  }

  const File file_;
  const std::string& path_;  // The source's.
  const Stat& expected_;     // The source's.
  int64_t offset_;
  bool done_ = false;
};

class FileSource : public Source {
 public:
  FileSource(const Root& root, std::string path, const Stat& expected)
      : root_(root), path_(std::move(path)), expected_(expected) {}

  int64_t size() const override { return expected_.size; }

  Result<std::unique_ptr<Reader>> Open(const Context& ctx,
                                       int64_t offset) const override {
    RETURN_IF_ERROR(ctx.Check());
    if (offset < 0 || offset > expected_.size) {
      return Error{Code::kOutOfRange,
                   "read " + Printable(path_) + ": starts past its end"};
    }
    ASSIGN_OR_RETURN(File file, root_.OpenFile(path_, expected_));
    if (!Unchanged(file.stat(), expected_)) return Changed(path_);
    return std::make_unique<FileReader>(std::move(file), path_, expected_,
                                        offset);
  }

 private:
  const Root& root_;
  const std::string path_;
  const Stat expected_;
};

}  // namespace

std::unique_ptr<Source> MakeFileSource(const Root& root, std::string path,
                                       const Stat& expected) {
  return std::make_unique<FileSource>(root, std::move(path), expected);
}

}  // namespace casemate::files
