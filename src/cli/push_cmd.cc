#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "casemate/push.h"
#include "cli/collect.h"
#include "cli/program.h"
#include "config/units.h"
#include "files/error.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  casemate push out/                       prints HASH/SIZE of the tree\n"
    "  casemate push . --exclude .git --exclude '*.o'\n"
    "  casemate push src --store dir:/srv/cas   into another store\n"
    "  digest=$(casemate push out/) && casemate pull \"$digest\" copy/";

constexpr char kSelectionGroup[] = "What to take";

struct Settings {
  std::string directory;
  std::string function = "sha256";
  PushOptions options;
  int64_t max_size = 0;  // 0: as DefaultMaxSize says.
};

nlohmann::json ToJson(const PushResult& result, const PushOptions& options,
                      double seconds) {
  return {{"digest", result.root.ToString()},
          {"digest_function", DigestFunctionName(result.root.function())},
          {"files", result.files},
          {"directories", result.directories},
          {"symlinks", result.symlinks},
          {"bytes", result.bytes},
          {"stored",
           {{"blobs", result.blobs_stored}, {"bytes", result.bytes_stored}}},
          {"dry_run", options.dry_run},
          {"failed", FailedJson(result.failed)},
          {"skipped", SkippedJson(result.skipped)},
          {"seconds", seconds}};
}

std::string Summary(const PushResult& result, const PushOptions& options,
                    double seconds) {
  char time[32];
  std::snprintf(time, sizeof time, "%.2f s", seconds);
  return std::string(options.dry_run ? "would push " : "pushed ") +
         Count(result.files, "file", "files") + ", " +
         Count(result.directories, "directory", "directories") + ", " +
         config::FormatSize(result.bytes) + " in " + time + "; " +
         Count(result.blobs_stored, "new blob", "new blobs") + ", " +
         config::FormatSize(result.bytes_stored);
}

Exit Run(Session& session, const Settings& settings) {
  Console& console = session.console;
  auto stack = OpenStore(session);
  if (!stack) return console.Fail("open the store", stack.error());
  Resources resources(session.common.resources);

  PushOptions options = settings.options;
  options.function = *ParseDigestFunction(settings.function);
  options.listener = console.StartProgress("pushing");
  const auto start = std::chrono::steady_clock::now();
  const auto result =
      Push(session.ctx, resources, stack->store(), settings.directory, options);
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  console.EndProgress();
  if (!result) {
    return console.Fail("push " + files::Escaped(settings.directory),
                        result.error());
  }

  console.Skipped(result->skipped);
  console.Failed(result->failed);
  console.Note(Summary(*result, options, passed.count()));
  console.Result(result->root.ToString());
  console.Json(ToJson(*result, options, passed.count()));
  if (!options.dry_run) {
    CollectAbove(session, stack->disk(), settings.max_size);
  }
  return result->failed.empty() ? kDone : kDonePartly;
}

// Includes and excludes make one list, in the order of the command line.
void AddRuleFlags(CLI::App& app, const std::shared_ptr<Settings>& settings) {
  const auto add_rule = [settings](bool include) {
    return [settings, include](const std::string& pattern) {
      settings->options.rules.push_back({include, pattern});
    };
  };
  for (const bool include : {true, false}) {
    app.add_option_function<std::string>(
           include ? "--include" : "--exclude", add_rule(include),
           include ? "take part, whatever earlier rules said (docs/filters.md)"
                   : "leave out; repeatable, the last match wins")
        ->type_name("GLOB")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->trigger_on_parse()
        ->group(kSelectionGroup);
  }
}

void AddSelectionFlags(CLI::App& app,
                       const std::shared_ptr<Settings>& settings) {
  AddRuleFlags(app, settings);
  app.add_flag("--follow-symlinks", settings->options.follow_symlinks,
               "store what links lead to, not the links")
      ->group(kSelectionGroup);
  app.add_flag("--one-file-system", settings->options.one_file_system,
               "skip mount points")
      ->group(kSelectionGroup);
  WithEnvironment(app.add_option("--max-depth", settings->options.max_depth,
                                 "directories deeper than this fail"))
      ->check(CLI::Range(0, 1 << 20))
      ->type_name("N")
      ->capture_default_str()
      ->group(kSelectionGroup);
  app.add_flag("--preserve", settings->options.preserve,
               "record modes and times in the tree; changes its digest")
      ->group(kSelectionGroup);
}

}  // namespace

void AddPush(Program& program) {
  auto settings = std::make_shared<Settings>();
  const Command command = AddCommand(
      program, "push", "Store a directory tree, print its digest", kExamples,
      [settings](Session& session) { return Run(session, *settings); });
  command.app.add_option("DIR", settings->directory, "the directory to store")
      ->required();
  AddSelectionFlags(command.app, settings);
  command.app
      .add_flag("-n,--dry-run", settings->options.dry_run,
                "store nothing; say what would be")
      ->group(kTransferGroup);
  WithEnvironment(command.app.add_option("--digest-function",
                                         settings->function,
                                         "how blobs are named"))
      ->check(CLI::IsMember({"sha256", "sha384", "sha512", "sha1"}))
      ->type_name("sha256|sha384|sha512|sha1")
      ->capture_default_str()
      ->group(kTransferGroup);
  AddStoreFlags(command);
  AddSize(command.app, "--max-size", settings->max_size,
          "above this, a local store drops what was not used for longest; "
          "default: 20GiB or a tenth of the disk, whichever is less")
      ->group(kStoreGroup);
  AddTransferFlags(command);
}

}  // namespace casemate::cli
