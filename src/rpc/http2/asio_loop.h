// AsioLoop: a loop that waits on sockets, with a thread of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <unordered_set>

#include "rpc/http2/loop.h"

namespace casemate::rpc::http2 {

class Link;

// Owns the connections' sockets. All but Run and Stop belongs to its thread.
class AsioLoop final : public Loop {
 public:
  // What is read at once from a socket.
  static constexpr size_t kRead = size_t{256} << 10;

  explicit AsioLoop(const base::Clock& clock);
  ~AsioLoop() override;  // After Stop, if it was started.

  void Start();

  // Ends what it owns; the thread has ended afterwards. All calls have ended.
  void Stop();

  // On the loop's thread, soon, in the order given; from any thread.
  void Run(std::function<void()> function);

  boost::asio::io_context& io() { return io_; }

  // One turn around an event.
  template <typename Function>
  void Turn(Function function) {
    BeginTurn();
    function();
    EndTurn();
    SetAlarm();
  }

  // For one event: what is in it is gone with the next.
  std::span<char> buffer() { return {buffer_.get(), kRead}; }

  // Links end themselves; each says so.
  void Add(Link& link) { links_.insert(&link); }
  void Remove(Link& link) { links_.erase(&link); }
  void CloseLinks();
  const std::unordered_set<Link*>& links() const { return links_; }

 private:
  void Wake() override;
  void SetAlarm();

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      guard_;
  boost::asio::steady_timer alarm_;
  Time alarm_at_ = Time::max();
  std::unique_ptr<char[]> buffer_;
  std::unordered_set<Link*> links_;
  std::thread thread_;
};

}  // namespace casemate::rpc::http2
