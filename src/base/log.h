// Warnings for the operator. A library has nowhere of its own to print them,
// so the program installs a sink; without one they are dropped.
#pragma once

#include <functional>
#include <string_view>

namespace casemate::base {

enum class LogLevel { kDebug, kInfo, kWarning };

using LogSink = std::function<void(LogLevel, std::string_view)>;

// Called at the start of main, before other threads; the sink may be called
// from any thread.
void SetLogSink(LogSink sink);

void Log(LogLevel level, std::string_view message);

}  // namespace casemate::base
