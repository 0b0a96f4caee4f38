#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <variant>
#include <vector>

#include "base/try.h"
#include "cli/program.h"
#include "cli/tree_path.h"
#include "files/error.h"
#include "tree/lookup.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  casemate cat HASH/SIZE               a blob, by its own digest\n"
    "  casemate cat HASH/SIZE/etc/passwd    a file in a tree";

constexpr size_t kBuffer = 256 << 10;

// The digest of what `what` names: itself, or a file's in its tree.
Result<Digest> Find(const Session& session, BlobStore& store,
                    const TreePath& what) {
  if (what.path.empty()) return what.root;
  ASSIGN_OR_RETURN(const tree::Node node,
                   tree::Lookup(session.ctx, store, what.root, what.path));
  if (const auto* file = std::get_if<tree::FileNode>(&node)) {
    return file->digest;
  }
  if (const auto* link = std::get_if<tree::SymlinkNode>(&node)) {
    return Error{Code::kFailedPrecondition,
                 "it is a symbolic link to " + files::Escaped(link->target)};
  }
  return Error{Code::kFailedPrecondition,
               "it is a directory; casemate ls lists it"};
}

Result<void> WriteOut(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t count = write(STDOUT_FILENO, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Error{
          Code::kResourceExhausted,
          std::string("write to standard output: ") + std::strerror(errno)};
    }
    data = data.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<void> Copy(const Session& session, BlobStore& store,
                  const TreePath& what) {
  ASSIGN_OR_RETURN(const Digest digest, Find(session, store, what));
  ASSIGN_OR_RETURN(auto reader, store.Get(session.ctx, digest, 0));
  std::vector<std::byte> buffer(kBuffer);
  for (;;) {
    ASSIGN_OR_RETURN(const size_t count, reader->Read(session.ctx, buffer));
    if (count == 0) return {};
    RETURN_IF_ERROR(WriteOut(std::span(buffer).first(count)));
  }
}

Exit Run(Session& session, const std::string& text) {
  Console& console = session.console;
  const auto what = ParseTreePath(text);
  if (!what) return console.Fail("cat", what.error());
  auto stack = OpenStore(session);
  if (!stack) return console.Fail("open the store", stack.error());
  const auto copied = Copy(session, stack->store(), *what);
  if (copied) return kDone;
  return console.Fail("cat " + text, copied.error(),
                      copied.error().code == Code::kDataLoss
                          ? "What was printed is not what was stored."
                          : "");
}

}  // namespace

void AddCat(Program& program) {
  auto what = std::make_shared<std::string>();
  const Command command =
      AddCommand(program, "cat", "Print a stored file or blob", kExamples,
                 [what](Session& session) { return Run(session, *what); });
  command.app
      .add_option("DIGEST[/PATH]", *what,
                  "a blob's digest, or a tree's and the path of a file in it")
      ->required();
  AddStoreFlags(command);
}

}  // namespace casemate::cli
