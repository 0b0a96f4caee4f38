// What all commands share: the common flags, and how a command is run.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "assemble/store_stack.h"
#include "casemate/context.h"
#include "casemate/resources.h"
#include "cli/console.h"

namespace casemate::cli {

struct CommonSettings {
  assemble::StoreSettings store{.address = "dir:"};
  ConsoleOptions console;
  ResourceOptions resources;
};

// What a command's body gets once the flags are read.
struct Session {
  Context ctx;
  Console& console;
  const CommonSettings& common;
  int64_t started;  // Seconds since the epoch.
};

using Body = std::function<Exit(Session&)>;

// The program being put together: each command adds itself; the one that the
// command line names leaves its settings and its body here.
struct Program {
  CLI::App& app;
  CommonSettings common;
  Body body;
};

// A subcommand and its own copy of the common settings. (CLI11 reads the
// environment for commands that were not named, too, so they must not share.)
struct Command {
  CLI::App& app;
  CommonSettings& common;
};

// `examples` is shown below the flags.
Command AddCommand(Program& program, const std::string& name,
                   const std::string& summary, const std::string& examples,
                   Body body);

// Under these, --help lists them.
inline constexpr char kStoreGroup[] = "Store";
inline constexpr char kTransferGroup[] = "Transfer";

// Flags that several commands have. Each with a value is also an environment
// variable: --max-size is CASEMATE_MAX_SIZE.
void AddStoreFlags(const Command& command);
void AddTransferFlags(const Command& command);
CLI::Option* AddSize(CLI::App& command, const std::string& flag, int64_t& bytes,
                     const std::string& help);
CLI::Option* AddDuration(CLI::App& command, const std::string& flag,
                         int64_t& seconds, const std::string& help);
CLI::Option* WithEnvironment(CLI::Option* option);

// Opens the session's store, or says why not.
Result<assemble::StoreStack> OpenStore(const Session& session);

// One for each command.
void AddPush(Program& program);
void AddPull(Program& program);
void AddLs(Program& program);
void AddCat(Program& program);
void AddStat(Program& program);
void AddGc(Program& program);
void AddVerify(Program& program);
void AddServe(Program& program);
void AddCompletion(Program& program);

}  // namespace casemate::cli
