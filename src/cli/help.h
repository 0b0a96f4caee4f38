// What --help prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace casemate::cli {

// Flags on the left, their meaning wrapped on the right, defaults in brackets,
// nothing wider than 80 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option(const CLI::Option* option,
                          bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

// "SIZE": what a flag's value is called, without what CLI11 adds of its checks.
std::string ValueName(const CLI::Option& option);

}  // namespace casemate::cli
