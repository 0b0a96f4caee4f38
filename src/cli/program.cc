#include "cli/program.h"

#include <cctype>
#include <map>
#include <memory>
#include <utility>

#include "base/try.h"
#include "config/units.h"

namespace casemate::cli {
namespace {

constexpr char kOutputGroup[] = "Output";

// A flag whose text goes through `parse` into `value`.
template <typename Parse, typename Value>
CLI::Option* AddParsed(CLI::App& command, const std::string& flag, Parse parse,
                       Value& value, const std::string& kind,
                       const std::string& help) {
  auto* option = command.add_option_function<std::string>(
      flag,
      [&value, parse, flag](const std::string& text) {
        const auto parsed = parse(text);
        if (!parsed) {
          throw CLI::ValidationError(flag, parsed.error().message);
        }
        value = *parsed;
      },
      help);
  return WithEnvironment(option->type_name(kind));
}

}  // namespace

Command AddCommand(Program& program, const std::string& name,
                   const std::string& summary, const std::string& examples,
                   Body body) {
  CLI::App& command = *program.app.add_subcommand(name, summary);
  command.footer("Examples:\n" + examples);
  auto common = std::make_shared<CommonSettings>();
  command.callback([&program, common, body = std::move(body)] {
    program.common = *common;
    program.body = body;
  });
  return {command, *common};
}

CLI::Option* WithEnvironment(CLI::Option* option) {
  std::string name = "CASEMATE_";
  for (const char each : option->get_lnames().front()) {
    name +=
        each == '-'
            ? '_'
            : static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
  }
  return option->envname(name);
}

void AddStoreFlags(const Command& to) {
  auto& [command, common] = to;
  WithEnvironment(
      command.add_option("--store", common.store.address,
                         "dir:PATH, a folder on this disk; dir:, the default "
                         "one; mem:, memory"))
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group(kStoreGroup);
  WithEnvironment(command.add_option_function<std::string>(
                      "--sync",
                      [&common = common](const std::string& text) {
                        common.store.sync = text == "always";
                      },
                      "whether what was stored survives power loss: always, "
                      "or off for a cache that may be lost"))
      ->check(CLI::IsMember({"always", "off"}))
      ->type_name("always|off")
      ->default_str("always")
      ->group(kStoreGroup);

  command
      .add_flag("--json", common.console.json,
                "print one JSON object (docs/json.md)")
      ->group(kOutputGroup);
  command
      .add_flag("-q,--quiet", common.console.quiet,
                "say nothing but results and errors")
      ->group(kOutputGroup);
  command.add_flag("-v,--verbose", common.console.verbose, "say more")
      ->group(kOutputGroup);
}

void AddTransferFlags(const Command& to) {
  auto& [command, common] = to;
  static const std::map<std::string, ProgressStyle> kStyles = {
      {"auto", ProgressStyle::kAuto},
      {"bar", ProgressStyle::kBar},
      {"plain", ProgressStyle::kPlain},
      {"none", ProgressStyle::kNone}};
  WithEnvironment(
      command.add_option_function<std::string>(
          "--progress",
          [&common = common](const std::string& text) {
            common.console.progress = kStyles.at(text);
          },
          "a bar on a terminal, a line every few seconds elsewhere"))
      ->check(CLI::IsMember({"auto", "bar", "plain", "none"}))
      ->type_name("auto|bar|plain|none")
      ->default_str("auto")
      ->group(kOutputGroup);
  const auto memory = [](const std::string& text) -> Result<int64_t> {
    ASSIGN_OR_RETURN(const int64_t bytes, config::ParseSize(text));
    if (bytes >= ResourceOptions::kLeastMemory) return bytes;
    return Error{Code::kInvalidArgument, "at least 4MiB are needed"};
  };
  AddParsed(command, "--memory", memory, common.resources.memory_bytes, "SIZE",
            "bytes for buffers and content in flight; at least 4MiB")
      ->default_str("64MiB")
      ->group(kTransferGroup);
  WithEnvironment(command.add_option("--jobs", common.resources.jobs,
                                     "store operations at once; 0 chooses"))
      ->check(CLI::Range(0, 1024))
      ->type_name("N")
      ->default_str("0")
      ->group(kTransferGroup);
}

CLI::Option* AddSize(CLI::App& command, const std::string& flag, int64_t& bytes,
                     const std::string& help) {
  return AddParsed(command, flag, config::ParseSize, bytes, "SIZE", help);
}

CLI::Option* AddDuration(CLI::App& command, const std::string& flag,
                         int64_t& seconds, const std::string& help) {
  const auto parse = [](const std::string& text) -> Result<int64_t> {
    ASSIGN_OR_RETURN(const auto parsed, config::ParseDuration(text));
    return parsed.count();
  };
  return AddParsed(command, flag, parse, seconds, "TIME", help);
}

Result<assemble::StoreStack> OpenStore(const Session& session) {
  return assemble::StoreStack::Open(session.common.store);
}

}  // namespace casemate::cli
