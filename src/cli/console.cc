#include "cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/progress_line.h"
#include "files/error.h"

namespace casemate::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kBarInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(3);
constexpr double kRateWindow = 3.0;  // Seconds over which a rate is smoothed.

void Print(FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

int Columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 80;
  }
  return size.ws_col;
}

ProgressStyle Choose(const ConsoleOptions& options) {
  if (options.quiet) return ProgressStyle::kNone;
  if (options.progress != ProgressStyle::kAuto) return options.progress;
  return isatty(STDERR_FILENO) ? ProgressStyle::kBar : ProgressStyle::kPlain;
}

}  // namespace

// Draws on stderr. Closed, it stays silent: the last snapshot may come late.
class Console::Progress : public ProgressListener {
 public:
  Progress(std::string verb, ProgressStyle style)
      : verb_(std::move(verb)), bar_(style == ProgressStyle::kBar) {}

  void OnProgress(const casemate::Progress& progress) override {
    base::MutexLock lock(mutex_);
    const auto now = SteadyClock::now();
    if (closed_ || progress.finished ||
        now - drawn_ < (bar_ ? SteadyClock::duration(kBarInterval)
                             : SteadyClock::duration(kPlainInterval))) {
      return;
    }
    const std::chrono::duration<double> passed = now - drawn_;
    Smooth(static_cast<double>(progress.bytes_done - bytes_) / passed.count(),
           passed.count());
    bytes_ = progress.bytes_done;
    drawn_ = now;
    const std::chrono::duration<double> since_start = now - start_;
    const ProgressView view{progress, since_start.count(), rate_};
    if (bar_) {
      Print(stderr, "\r" + BarLine(verb_, view, Columns()) + "\033[K");
      std::fflush(stderr);
      on_screen_ = true;
    } else {
      Print(stderr, PlainLine(verb_, view) + "\n");
    }
  }

  // Takes the bar off the screen; the next snapshot draws it again.
  void Hide() {
    base::MutexLock lock(mutex_);
    if (!on_screen_) return;
    Print(stderr, "\r\033[K");
    std::fflush(stderr);
    on_screen_ = false;
  }

  void Close() {
    Hide();
    base::MutexLock lock(mutex_);
    closed_ = true;
  }

 private:
  void Smooth(double rate, double passed) REQUIRES(mutex_) {
    const double weight = std::min(1.0, passed / kRateWindow);
    rate_ = rate_ == 0 ? rate : rate_ + (rate - rate_) * weight;
  }

  const std::string verb_;
  const bool bar_;
  base::Mutex mutex_;
  const SteadyClock::time_point start_ = SteadyClock::now();
  SteadyClock::time_point drawn_ GUARDED_BY(mutex_) = start_;
  int64_t bytes_ GUARDED_BY(mutex_) = 0;
  double rate_ GUARDED_BY(mutex_) = 0;
  bool on_screen_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
};

Console::Console(const ConsoleOptions& options) : options_(options) {}

Console::~Console() { EndProgress(); }

void Console::Result(std::string_view line) {
  if (options_.json) return;
  Print(stdout, line);
  Print(stdout, "\n");
}

void Console::Json(const nlohmann::json& object) {
  if (!options_.json) return;
  Print(stdout,
        object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  Print(stdout, "\n");
}

void Console::ErrorLine(std::string_view line) {
  base::MutexLock lock(mutex_);
  if (progress_) progress_->Hide();
  Print(stderr, line);
  Print(stderr, "\n");
}

void Console::Note(std::string_view line) {
  if (!options_.quiet) ErrorLine(line);
}

void Console::Detail(std::string_view line) {
  if (options_.verbose) ErrorLine(line);
}

void Console::Warning(std::string_view line) {
  ErrorLine("casemate: warning: " + std::string(line));
}

Exit Console::Fail(std::string_view doing, const Error& error,
                   std::string_view advice) {
  const Exit code = ExitCode(error.code);
  if (code == kInterrupted) {
    ErrorLine("casemate: interrupted");
  } else {
    ErrorLine("casemate: " + std::string(doing) + ": " + error.message);
    if (!advice.empty()) ErrorLine("  " + std::string(advice));
  }
  Json({{"error",
         {{"code", CodeName(error.code)},
          {"message", std::string(doing) + ": " + error.message}}}});
  return code;
}

void Console::Failed(const std::vector<EntryError>& entries) {
  for (const EntryError& each : entries) {
    ErrorLine("casemate: failed: " + files::Escaped(each.path) + ": " +
              each.error.message);
  }
}

void Console::Skipped(const std::vector<SkippedPath>& entries) {
  for (const SkippedPath& each : entries) {
    Note("casemate: skipped: " + files::Escaped(each.path) + ": " +
         each.reason);
  }
}

std::shared_ptr<ProgressListener> Console::StartProgress(std::string verb) {
  const ProgressStyle style = Choose(options_);
  if (style == ProgressStyle::kNone) return nullptr;
  base::MutexLock lock(mutex_);
  progress_ = std::make_shared<Progress>(std::move(verb), style);
  return progress_;
}

void Console::EndProgress() {
  base::MutexLock lock(mutex_);
  if (progress_) progress_->Close();
  progress_ = nullptr;
}

}  // namespace casemate::cli
