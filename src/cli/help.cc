#include "cli/help.h"

#include <sstream>

namespace casemate::cli {
namespace {

constexpr size_t kLeft = 26;
constexpr size_t kColumns = 80;

// `text` from column `kLeft` on, broken at spaces.
std::string Wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string lines;
  size_t column = kLeft;
  for (std::string word; words >> word;) {
    if (column > kLeft && column + 1 + word.size() > kColumns) {
      lines += "\n" + std::string(kLeft, ' ');
      column = kLeft;
    }
    if (column > kLeft) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string Row(const std::string& left, const std::string& right) {
  const std::string indented = "  " + left;
  // A long flag has its line to itself.
  const std::string gap = indented.size() < kLeft - 1
                              ? std::string(kLeft - indented.size(), ' ')
                              : "\n" + std::string(kLeft, ' ');
  return indented + gap + Wrapped(right) + "\n";
}

std::string FlagText(const CLI::Option& option) {
  std::string text;
  for (const std::string& name : option.get_snames()) text += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) text += "--" + name;
  if (option.get_items_expected_max() > 0) text += " " + ValueName(option);
  return text;
}

}  // namespace

std::string ValueName(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return name.substr(0, name.find(':'));
}

std::string HelpFormatter::make_usage(const CLI::App* app,
                                      std::string name) const {
  std::string usage = "\nUsage: " + name;
  if (!app->get_subcommands({}).empty()) usage += " COMMAND";
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_positional()) usage += " " + option->get_name(true);
  }
  if (app->get_options().size() > 1) usage += " [FLAGS]";
  return usage + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option,
                                       bool is_positional) const {
  if (is_positional) {
    return Row(option->get_name(true), option->get_description());
  }
  std::string meaning = option->get_description();
  if (!option->get_default_str().empty()) {
    meaning += " [" + option->get_default_str() + "]";
  }
  return Row(FlagText(*option), meaning);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return Row(command->get_name(), command->get_description());
}

}  // namespace casemate::cli
