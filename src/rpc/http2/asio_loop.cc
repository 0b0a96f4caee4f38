#include "rpc/http2/asio_loop.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/check.h"
#include "rpc/http2/link.h"

namespace casemate::rpc::http2 {

AsioLoop::AsioLoop(const base::Clock& clock)
    : Loop(clock),
      io_(BOOST_ASIO_CONCURRENCY_HINT_1),
      guard_(io_.get_executor()),
      alarm_(io_),
      buffer_(std::make_unique_for_overwrite<char[]>(kRead)) {}

AsioLoop::~AsioLoop() { CASEMATE_CHECK(!thread_.joinable()); }

void AsioLoop::Start() {
  thread_ = std::thread([this] {
    sigset_t all;  // Signals are the program's; SIGPIPE is nobody's.
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "http2");
    Enter();
    io_.run();
  });
}

void AsioLoop::Stop() {
  if (!thread_.joinable()) return;
  AwaitPosters();
  Run([this] {
    CloseLinks();
    alarm_.cancel();
    guard_.reset();
  });
  thread_.join();
}

void AsioLoop::CloseLinks() {
  while (!links_.empty()) (*links_.begin())->Close();
}

void AsioLoop::Run(std::function<void()> function) {
  boost::asio::post(io_, [this, function = std::move(function)] {
    Turn([&] { function(); });
  });
}

void AsioLoop::Wake() {
  boost::asio::post(io_, [this] { Turn([] {}); });
}

// Rounded up, so that it does not ring too early again and again.
void AsioLoop::SetAlarm() {
  const Time next = timers().next();
  if (next >= alarm_at_) return;
  alarm_at_ = next;
  alarm_.expires_at(next + std::chrono::microseconds(500));
  alarm_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // Replaced by an earlier one, or the end.
    alarm_at_ = Time::max();
    Turn([] {});
  });
}

}  // namespace casemate::rpc::http2
