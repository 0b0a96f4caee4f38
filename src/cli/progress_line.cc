#include "cli/progress_line.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/console.h"
#include "config/units.h"

namespace casemate::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr int kBarFromColumns = 72;  // Narrower terminals get the text alone.

// Of the bytes where there are any, else of the files. Nothing to do is done.
double Fraction(const Progress& progress) {
  const bool by_bytes = progress.bytes_found > 0;
  const auto done =
      static_cast<double>(by_bytes ? progress.bytes_done : progress.files_done);
  const auto found = static_cast<double>(by_bytes ? progress.bytes_found
                                                  : progress.files_found);
  return found <= 0 ? 1.0 : std::min(1.0, done / found);
}

// Files of files; with a "+" while more are being found.
std::string Amounts(const Progress& progress) {
  const char* const more = progress.totals_known ? "" : "+";
  return Grouped(progress.files_done) + "/" + Grouped(progress.files_found) +
         more + " files  " + config::FormatSize(progress.bytes_done) + "/" +
         config::FormatSize(progress.bytes_found) + more;
}

std::string Left(const ProgressView& view) {
  const int64_t bytes = view.progress.bytes_found - view.progress.bytes_done;
  if (!view.progress.totals_known || view.rate <= 0 || bytes <= 0) return "";
  return "  " + FormatTime(static_cast<double>(bytes) / view.rate) + " left";
}

std::string Details(const ProgressView& view) {
  return Amounts(view.progress) + "  " +
         config::FormatSize(std::llround(view.rate)) + "/s" + Left(view);
}

std::string Percent(const Progress& progress) {
  if (!progress.totals_known) return "";
  char text[16];
  std::snprintf(text, sizeof text, "%3.0f%%  ", Fraction(progress) * 100);
  return text;
}

}  // namespace

std::string FormatTime(double seconds) {
  const int64_t whole = std::llround(std::clamp(seconds, 0.0, 359999.0));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(
        text, sizeof text, "%d:%02d:%02d", static_cast<int>(whole / 3600),
        static_cast<int>(whole / 60 % 60), static_cast<int>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  }
  return text;
}

std::string PlainLine(std::string_view verb, const ProgressView& view) {
  return std::string(verb) + "  " + Percent(view.progress) + Details(view);
}

std::string BarLine(std::string_view verb, const ProgressView& view,
                    int columns) {
  std::string line(verb);
  line += "  ";
  if (view.progress.totals_known && columns >= kBarFromColumns) {
    const auto filled =
        static_cast<size_t>(Fraction(view.progress) * kBarWidth);
    line += "[" + std::string(filled, '#') +
            std::string(kBarWidth - filled, '.') + "] ";
  }
  line += Percent(view.progress) + Details(view);
  // One column is left free: a full last column wraps on some terminals.
  if (columns > 1 && line.size() >= static_cast<size_t>(columns)) {
    line.resize(static_cast<size_t>(columns) - 1);
  }
  return line;
}

}  // namespace casemate::cli
