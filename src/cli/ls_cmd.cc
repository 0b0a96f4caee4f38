#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "base/try.h"
#include "cli/program.h"
#include "cli/tree_path.h"
#include "files/error.h"
#include "files/root.h"
#include "tree/lookup.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  casemate ls HASH/SIZE             names in the root\n"
    "  casemate ls HASH/SIZE/lib -l      with type, size and digest\n"
    "  casemate ls HASH/SIZE -r          all below it";

struct Settings {
  std::string what;
  bool details = false;
  bool recursive = false;
};

// One line of a listing, or one object of it.
struct Line {
  std::string path;
  tree::Node node;
};

struct Shape {
  const char* type;
  const Digest* digest;  // Null for links.
  std::string target;    // Of links.
};

Shape ShapeOf(const tree::Node& node) {
  if (const auto* file = std::get_if<tree::FileNode>(&node)) {
    return {file->executable ? "executable" : "file", &file->digest, ""};
  }
  if (const auto* directory = std::get_if<tree::DirectoryNode>(&node)) {
    return {"directory", &directory->digest, ""};
  }
  return {"symlink", nullptr, std::get<tree::SymlinkNode>(node).target};
}

// "name", "name/" or "name -> target"; with details, the rest before it.
std::string Text(const Line& line, bool details) {
  const Shape shape = ShapeOf(line.node);
  std::string text = files::Escaped(line.path);
  if (std::holds_alternative<tree::DirectoryNode>(line.node)) text += '/';
  if (!shape.digest) text += " -> " + files::Escaped(shape.target);
  if (!details) return text;
  const bool file = std::holds_alternative<tree::FileNode>(line.node);
  char before[32];
  std::snprintf(before, sizeof before, "%-10s %12s  ", shape.type,
                file ? std::to_string(shape.digest->size()).c_str() : "-");
  return before + (shape.digest ? shape.digest->ToString() + "  " : "") + text;
}

nlohmann::json ToJson(const Line& line) {
  const Shape shape = ShapeOf(line.node);
  nlohmann::json json = {{"path", line.path}, {"type", shape.type}};
  if (shape.digest) {
    json["digest"] = shape.digest->ToString();
  } else {
    json["target"] = shape.target;
  }
  return json;
}

// Lists directories depth first, without recursion: a stored tree may be as
// deep as it likes.
class Lister {
 public:
  Lister(Session& session, BlobStore& store, bool recursive)
      : session_(session), store_(store), recursive_(recursive) {}

  template <typename Emit>
  Result<void> List(const Digest& digest, Emit emit) {
    std::vector<std::pair<std::string, Digest>> pending = {{"", digest}};
    while (!pending.empty()) {
      RETURN_IF_ERROR(session_.ctx.Check());
      const auto [path, next] = std::move(pending.back());
      pending.pop_back();
      ASSIGN_OR_RETURN(const tree::Directory directory,
                       tree::FetchDirectory(session_.ctx, store_, next));
      for (const auto& each : directory.directories) {
        emit(Line{files::Join(path, each.name), each});
      }
      for (const auto& each : directory.files) {
        emit(Line{files::Join(path, each.name), each});
      }
      for (const auto& each : directory.symlinks) {
        emit(Line{files::Join(path, each.name), each});
      }
      if (!recursive_) continue;
      const auto& below = directory.directories;
      for (auto it = below.rbegin(); it != below.rend(); ++it) {
        pending.emplace_back(files::Join(path, it->name), it->digest);
      }
    }
    return {};
  }

 private:
  Session& session_;
  BlobStore& store_;
  const bool recursive_;
};

Exit Run(Session& session, const Settings& settings) {
  Console& console = session.console;
  const auto what = ParseTreePath(settings.what);
  if (!what) return console.Fail("ls", what.error());
  auto stack = OpenStore(session);
  if (!stack) return console.Fail("open the store", stack.error());
  const auto node =
      tree::Lookup(session.ctx, stack->store(), what->root, what->path);
  if (!node) return console.Fail("ls " + settings.what, node.error());

  auto entries = nlohmann::json::array();
  const bool json = console.options().json;
  const auto emit = [&](const Line& line) {
    if (json) {
      entries.push_back(ToJson(line));
    } else {
      console.Result(Text(line, settings.details));
    }
  };
  if (const auto* directory = std::get_if<tree::DirectoryNode>(&*node)) {
    Lister lister(session, stack->store(), settings.recursive);
    const auto listed = lister.List(directory->digest, emit);
    if (!listed) return console.Fail("ls " + settings.what, listed.error());
  } else {
    emit(Line{what->path, *node});
  }
  console.Json({{"entries", std::move(entries)}});
  return kDone;
}

}  // namespace

void AddLs(Program& program) {
  auto settings = std::make_shared<Settings>();
  const Command command = AddCommand(
      program, "ls", "List a stored directory", kExamples,
      [settings](Session& session) { return Run(session, *settings); });
  command.app
      .add_option("DIGEST[/PATH]", settings->what,
                  "a tree's digest, HASH/SIZE, and a path in it")
      ->required();
  command.app.add_flag("-l,--long", settings->details,
                       "type, size and digest before each name");
  command.app.add_flag("-r,--recursive", settings->recursive,
                       "everything below it");
  AddStoreFlags(command);
}

}  // namespace casemate::cli
