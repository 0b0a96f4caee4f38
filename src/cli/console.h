// What the program says: results on stdout, everything else on stderr.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "casemate/push.h"
#include "casemate/result.h"
#include "cli/exit_code.h"

namespace casemate::cli {

enum class ProgressStyle { kAuto, kBar, kPlain, kNone };

struct ConsoleOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  ProgressStyle progress = ProgressStyle::kAuto;
};

// May be used from any thread. A progress bar on the last line of the terminal
// gives way to what is printed.
class Console {
 public:
  explicit Console(const ConsoleOptions& options);
  ~Console();

  // One line of the result. Nothing under --json.
  void Result(std::string_view line);

  // The result under --json, whole; nothing otherwise.
  void Json(const nlohmann::json& object);

  // On stderr: notes unless --quiet, details under --verbose, warnings always.
  void Note(std::string_view line);
  void Detail(std::string_view line);
  void Warning(std::string_view line);

  // Says what failed and what to try, on stderr and under --json as an object
  // with "error"; returns the exit code.
  Exit Fail(std::string_view doing, const Error& error,
            std::string_view advice = "");

  // Names each entry on stderr.
  void Failed(const std::vector<EntryError>& entries);
  void Skipped(const std::vector<SkippedPath>& entries);

  // Shows progress with `verb` ("pushed") until it is closed. Null where none
  // is wanted.
  std::shared_ptr<ProgressListener> StartProgress(std::string verb)
      EXCLUDES(mutex_);
  void EndProgress() EXCLUDES(mutex_);

  const ConsoleOptions& options() const { return options_; }

 private:
  class Progress;
  void ErrorLine(std::string_view line) EXCLUDES(mutex_);

  const ConsoleOptions options_;
  base::Mutex mutex_;
  std::shared_ptr<Progress> progress_ GUARDED_BY(mutex_);
};

// Lists for --json. Bytes that are not UTF-8 become U+FFFD there.
nlohmann::json FailedJson(const std::vector<EntryError>& entries);
nlohmann::json SkippedJson(const std::vector<SkippedPath>& entries);

// "1 file", "4,400 files".
std::string Count(int64_t number, std::string_view singular,
                  std::string_view plural);
std::string Grouped(int64_t number);  // "4,400"

}  // namespace casemate::cli
