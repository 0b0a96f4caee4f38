#include <memory>

#include "cli/help.h"
#include "cli/program.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  source <(casemate completion bash)     now, or from ~/.bashrc\n"
    "  source <(casemate completion zsh)      now, or from ~/.zshrc";

// The long flags of a command, separated by spaces.
std::string Flags(const CLI::App& command) {
  std::string flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags += (flags.empty() ? "--" : " --") + name;
    }
  }
  return flags;
}

// Both are made from the program's own flags, so that they never fall behind.

std::string Bash(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    cases += "    " + command->get_name() + ") flags=\"" + Flags(*command) +
             "\" ;;\n";
  }
  return "# bash completion for casemate\n"
         "_casemate() {\n"
         "  local word=\"${COMP_WORDS[COMP_CWORD]}\" flags=\"\"\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         commands + " " + Flags(app) +
         "\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"${COMP_WORDS[1]}\" in\n" +
         cases +
         "  esac\n"
         "  if [[ \"$word\" == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o default -F _casemate casemate\n";
}

// A text between single quotes in a zsh specification.
std::string ZshText(const std::string& text) {
  std::string quoted;
  for (const char each : text) {
    if (each == '\'') {
      quoted += "'\\''";
    } else {
      if (each == '[' || each == ']' || each == ':') quoted += '\\';
      quoted += each;
    }
  }
  return quoted;
}

std::string Zsh(const CLI::App& app) {
  std::string commands;
  std::string cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += "    '" + command->get_name() + ":" +
                ZshText(command->get_description()) + "'\n";
    cases += "    " + command->get_name() + ")\n      _arguments";
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        const bool value = option->get_items_expected_max() > 0;
        cases += " \\\n        '--" + name + "[" +
                 ZshText(option->get_description()) + "]" +
                 (value ? ":" + ZshText(ValueName(*option)) + ":_files" : "") +
                 "'";
      }
    }
    cases += " \\\n        '*:file:_files' ;;\n";
  }
  return "#compdef casemate\n"
         "_casemate() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         commands +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "compdef _casemate casemate\n";
}

}  // namespace

void AddCompletion(Program& program) {
  auto shell = std::make_shared<std::string>();
  const Command command = AddCommand(
      program, "completion", "Print completions for a shell", kExamples,
      [&app = program.app, shell](Session&) {
        const std::string text = *shell == "bash" ? Bash(app) : Zsh(app);
        std::fwrite(text.data(), 1, text.size(), stdout);
        return kDone;
      });
  command.app.add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
}

}  // namespace casemate::cli
