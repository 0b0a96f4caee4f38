#include "base/log.h"

#include <utility>

namespace casemate::base {
namespace {

LogSink& Sink() {
  static LogSink sink;
  return sink;
}

}  // namespace

void SetLogSink(LogSink sink) { Sink() = std::move(sink); }

void Log(LogLevel level, std::string_view message) {
  if (Sink()) Sink()(level, message);
}

}  // namespace casemate::base
