#include <chrono>
#include <memory>
#include <utility>

#include "casemate/pull.h"
#include "cli/program.h"
#include "config/units.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  casemate pull HASH/SIZE copy/           into a new directory\n"
    "  casemate pull HASH/SIZE copy/ --force   replace it, in one step\n"
    "  casemate pull HASH/SIZE copy/ --into    merge, file by file";

struct Settings {
  std::string digest;
  std::string directory;
  bool force = false;
  bool into = false;
  PullOptions options;
};

nlohmann::json ToJson(const PullResult& result, const Digest& root,
                      double seconds) {
  return {{"digest", root.ToString()},
          {"files", result.files},
          {"directories", result.directories},
          {"symlinks", result.symlinks},
          {"bytes", result.bytes},
          {"fetched", {{"bytes", result.bytes_fetched}}},
          {"failed", FailedJson(result.failed)},
          {"seconds", seconds}};
}

std::string Summary(const PullResult& result, double seconds) {
  char time[32];
  std::snprintf(time, sizeof time, "%.2f s", seconds);
  return "pulled " + Count(result.files, "file", "files") + ", " +
         Count(result.directories, "directory", "directories") + ", " +
         config::FormatSize(result.bytes) + " in " + time;
}

std::string Advice(const Session& session, const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return "Is it in this store (" + session.common.store.address +
             ")? It may have been pushed to another one, or collected.";
    case Code::kDataLoss:
      return "The damaged blob was moved aside; pushing the tree again heals "
             "the store.";
    default: return "";
  }
}

Exit Run(Session& session, const Settings& settings) {
  Console& console = session.console;
  const auto root = Digest::Parse(settings.digest);
  if (!root) return console.Fail("pull", root.error());
  auto stack = OpenStore(session);
  if (!stack) return console.Fail("open the store", stack.error());
  Resources resources(session.common.resources);

  PullOptions options = settings.options;
  if (settings.force) options.existing = PullOptions::Existing::kReplace;
  if (settings.into) options.existing = PullOptions::Existing::kMerge;
  options.listener = console.StartProgress("pulling");
  const auto start = std::chrono::steady_clock::now();
  const auto result = Pull(session.ctx, resources, stack->store(), *root,
                           settings.directory, options);
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  console.EndProgress();
  if (!result) {
    return console.Fail("pull " + settings.digest, result.error(),
                        Advice(session, result.error()));
  }

  console.Failed(result->failed);
  console.Note(Summary(*result, passed.count()));
  console.Json(ToJson(*result, *root, passed.count()));
  return result->failed.empty() ? kDone : kDonePartly;
}

}  // namespace

void AddPull(Program& program) {
  auto settings = std::make_shared<Settings>();
  const Command command = AddCommand(
      program, "pull", "Bring a stored tree back to disk", kExamples,
      [settings](Session& session) { return Run(session, *settings); });
  command.app
      .add_option("DIGEST", settings->digest, "HASH/SIZE, as push prints it")
      ->required();
  command.app
      .add_option("DIR", settings->directory,
                  "where to; absent or empty, unless --force or --into")
      ->required();
  CLI::Option* const force =
      command.app
          .add_flag("--force", settings->force,
                    "replace an existing directory in one step")
          ->group("Destination");
  command.app
      .add_flag("--into", settings->into,
                "merge into an existing directory; files are replaced, "
                "nothing is removed")
      ->excludes(force)
      ->group("Destination");
  command.app
      .add_flag("--safe-links", settings->options.safe_links,
                "links that are absolute or leave DIR fail")
      ->group("Destination");
  command.app
      .add_flag("--preserve", settings->options.preserve,
                "restore modes and times, if the tree records them")
      ->group("Destination");
  command.app
      .add_flag("--fsync", settings->options.fsync,
                "return only once the tree would survive power loss")
      ->group("Destination");
  WithEnvironment(command.app.add_option("--max-depth",
                                         settings->options.max_depth,
                                         "refuse deeper trees"))
      ->check(CLI::Range(0, 1 << 20))
      ->type_name("N")
      ->capture_default_str()
      ->group("Limits");
  WithEnvironment(command.app.add_option("--max-entries",
                                         settings->options.max_entries,
                                         "refuse trees of more entries"))
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->capture_default_str()
      ->group("Limits");
  AddSize(command.app, "--max-bytes", settings->options.max_bytes,
          "refuse trees of more bytes")
      ->group("Limits");
  AddStoreFlags(command);
  AddTransferFlags(command);
}

}  // namespace casemate::cli
