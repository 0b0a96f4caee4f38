#include <memory>

#include "cli/collect.h"
#include "cli/program.h"
#include "config/units.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  casemate gc                      down to 20GiB, or a tenth of the disk\n"
    "  casemate gc --max-size 5GiB      down to a size\n"
    "  casemate gc --older-than 30d     drop what nobody used for a month\n"
    "  casemate gc --older-than 7d --dry-run";

struct Settings {
  int64_t max_size = 0;
  GcOptions options;
};

nlohmann::json ToJson(const GcReport& report, bool dry_run) {
  return {{"before",
           {{"blobs", report.blobs_before}, {"bytes", report.bytes_before}}},
          {"removed",
           {{"blobs", report.blobs_removed}, {"bytes", report.bytes_removed}}},
          {"dry_run", dry_run}};
}

Exit Run(Session& session, Settings settings) {
  Console& console = session.console;
  auto stack = OpenStore(session);
  if (!stack) return console.Fail("open the store", stack.error());
  if (stack->disk() == nullptr) {
    return console.Fail("gc", {Code::kInvalidArgument,
                               "only a store on this disk (dir:) has something "
                               "to collect"});
  }
  GcOptions options = settings.options;
  if (settings.max_size > 0) {
    options.max_bytes = settings.max_size;
  } else if (options.older_than_seconds == 0) {
    options.max_bytes = DefaultMaxSize(stack->disk()->folder());
  }
  const auto report = stack->disk()->Gc(session.ctx, options);
  if (!report) {
    return console.Fail("gc", report.error(),
                        report.error().code == Code::kFailedPrecondition
                            ? "Try again when no other casemate uses the store."
                            : "");
  }
  console.Note(std::string(options.dry_run ? "would remove " : "removed ") +
               Count(report->blobs_removed, "blob", "blobs") + ", " +
               config::FormatSize(report->bytes_removed) + ", of " +
               Count(report->blobs_before, "blob", "blobs") + ", " +
               config::FormatSize(report->bytes_before));
  console.Json(ToJson(*report, options.dry_run));
  return kDone;
}

}  // namespace

void AddGc(Program& program) {
  auto settings = std::make_shared<Settings>();
  const Command command = AddCommand(
      program, "gc", "Remove what a local store has not used for longest",
      kExamples,
      [settings](Session& session) { return Run(session, *settings); });
  AddSize(command.app, "--max-size", settings->max_size,
          "keep at most this much; default, without --older-than: 20GiB or a "
          "tenth of the disk, whichever is less");
  AddDuration(command.app, "--older-than", settings->options.older_than_seconds,
              "remove what was not used for longer");
  command.app.add_flag("-n,--dry-run", settings->options.dry_run,
                       "remove nothing; say what would be");
  AddStoreFlags(command);
}

}  // namespace casemate::cli
