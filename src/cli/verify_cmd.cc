#include "cli/program.h"
#include "config/units.h"
#include "files/error.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  casemate verify            hash every blob; damaged ones are moved "
    "aside";

Exit Run(Session& session) {
  Console& console = session.console;
  auto stack = OpenStore(session);
  if (!stack) return console.Fail("open the store", stack.error());
  if (stack->disk() == nullptr) {
    return console.Fail("verify", {Code::kInvalidArgument,
                                   "only a store on this disk (dir:) can be "
                                   "verified"});
  }
  const auto report = stack->disk()->VerifyAll(session.ctx);
  if (!report) {
    return console.Fail("verify", report.error(),
                        report.error().code == Code::kFailedPrecondition
                            ? "Try again when no other casemate uses the store."
                            : "");
  }
  for (const std::string& each : report->damaged) {
    console.Warning("damaged, moved aside: " + each);
  }
  for (const std::string& each : report->foreign) {
    console.Note("not ours, left alone: " + files::Escaped(each));
  }
  console.Note("verified " + Count(report->blobs, "blob", "blobs") + ", " +
               config::FormatSize(report->bytes) + "; " +
               Count(static_cast<int64_t>(report->damaged.size()), "is damaged",
                     "are damaged"));
  console.Json({{"blobs", report->blobs},
                {"bytes", report->bytes},
                {"damaged", report->damaged},
                {"foreign", report->foreign}});
  return report->damaged.empty() ? kDone : kIntegrity;
}

}  // namespace

void AddVerify(Program& program) {
  const Command command = AddCommand(
      program, "verify", "Check every blob of a local store against its digest",
      kExamples, Run);
  AddStoreFlags(command);
}

}  // namespace casemate::cli
