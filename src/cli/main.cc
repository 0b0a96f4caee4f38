#include <malloc.h>

#include <cstdio>
#include <ctime>
#include <string>

#include "base/log.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/program.h"

namespace casemate::cli {
namespace {

constexpr char kAbout[] =
    "Moves directory trees between disks and content stores, and serves stores\n"
    "to build tools.\n"
    "A tree is named by its digest, HASH/SIZE: push prints it, pull takes it.";

constexpr char kFooter[] =
    "Examples:\n"
    "  casemate push out/            store a tree, print its digest\n"
    "  casemate pull DIGEST copy/    bring it back\n"
    "  casemate ls DIGEST/lib        look inside\n\n"
    "Exit codes: 0 done, 1 done in part, 2 usage, 3 not found, 4 damaged,\n"
    "5 unreachable, 6 refused, 130 interrupted.\n"
    "casemate COMMAND --help tells more. Every --flag-name with a value is "
    "also\n"
    "CASEMATE_FLAG_NAME in the environment.";

// Large buffers come and go all the time; without these two (together: the
// second alone harms) each goes back to the kernel and is faulted in anew.
void TuneAllocator() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

// CLI11 throws; nothing else does.
int Usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version.
  std::fprintf(stderr, "casemate: %s\n", error.what());
  for (const CLI::App* command : app.get_subcommands()) {
    std::fprintf(stderr, "  casemate %s --help tells more\n",
                 command->get_name().c_str());
    return kUsage;
  }
  std::fprintf(stderr, "  casemate --help tells more\n");
  return kUsage;
}

int Main(int argc, char** argv) {
  TuneAllocator();
  const Interrupt interrupt;
  CLI::App app(kAbout, "casemate");
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "casemate " CASEMATE_VERSION);
  Program program{app, {}, {}};
  AddPush(program);
  AddPull(program);
  AddLs(program);
  AddCat(program);
  AddStat(program);
  AddGc(program);
  AddVerify(program);
  AddServe(program);
  AddCompletion(program);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Usage(app, error);
  }

  Console console(program.common.console);
  base::SetLogSink([&console](base::LogLevel level, std::string_view message) {
    if (level == base::LogLevel::kWarning) {
      console.Warning(message);
    } else {
      console.Detail(message);
    }
  });
  Session session{interrupt.context(), console, program.common,
                  std::time(nullptr)};
  const Exit code = program.body(session);
  base::SetLogSink(nullptr);
  if (std::fflush(stdout) != 0) {
    return console.Fail(
        "write the result",
        {Code::kResourceExhausted, "standard output is full or gone"});
  }
  return code;
}

}  // namespace
}  // namespace casemate::cli

int main(int argc, char** argv) { return casemate::cli::Main(argc, argv); }
