#include "rpc/http2/link.h"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <utility>

namespace casemate::rpc::http2 {
namespace {

// What is sent in one turn, so that others get theirs.
constexpr size_t kTurn = size_t{256} << 10;

using Wait = boost::asio::posix::stream_descriptor;

}  // namespace

Link::Link(AsioLoop& loop, Shared& shared, const LinkOptions& options,
           int socket, SSL_CTX* tls, std::string address)
    : loop_(loop),
      shared_(shared),
      options_(options),
      socket_(loop.io()),
      transport_(tls == nullptr ? MakePlainTransport(socket)
                                : MakeTlsTransport(socket, *tls)),
      address_(std::move(address)) {
  loop_.Add(*this);
  boost::system::error_code error;
  socket_.assign(socket, error);
  if (error) {
    close(socket);
    Close();
    return;
  }
  if (transport_->ready()) {
    Greet();
  } else {
    loop_.timers().Set(*this, loop_.now() + options_.handshake_timeout);
  }
  AwaitRead();
}

Link::~Link() = default;

void Link::Greet() {
  loop_.timers().Clear(*this);
  connection_.emplace(
      shared_, loop_, static_cast<Carrier&>(*this),
      Connection::Peer{std::move(address_), transport_->subject()});
  if (draining_) connection_->Drain();
  WantsToSend();
}

void Link::Drain() {
  draining_ = true;
  if (connection_) connection_->Drain();
}

// ---- Waiting. Each handler that is still to come holds the link.

template <typename Function>
void Link::Event(Function function) {
  loop_.Turn([&] {
    --events_;
    if (!closed_) function();
  });
  if (closed_ && events_ == 0) delete this;
}

void Link::AwaitRead() {
  if (awaits_read_ || closed_) return;
  awaits_read_ = true;
  ++events_;
  socket_.async_wait(Wait::wait_read, [this](boost::system::error_code) {
    Event([this] { OnReadable(); });
  });
}

void Link::AwaitWrite() {
  if (awaits_write_ || closed_) return;
  awaits_write_ = true;
  ++events_;
  socket_.async_wait(Wait::wait_write, [this](boost::system::error_code) {
    Event([this] { OnWritable(); });
  });
}

// Another turn, after those of others.
void Link::Again() {
  ++events_;
  boost::asio::post(loop_.io(),
                    [this] { Event([this] { loop_.Touch(*this); }); });
}

// ---- Reading.

void Link::OnReadable() {
  awaits_read_ = false;
  ReadOnce();
  if (closed_ || hopeless_) return;
  if (transport_->wants_to_write()) return AwaitWrite();
  if (connection_ && connection_->backlogged()) return;  // SendSome goes on.
  if (!transport_->pending()) return AwaitRead();
  awaits_read_ = true;
  ++events_;
  boost::asio::post(loop_.io(), [this] { Event([this] { OnReadable(); }); });
}

void Link::ReadOnce() {
  const std::span<char> buffer = loop_.buffer();
  const ssize_t size = transport_->Read(buffer);
  if (size < 0) return GiveUp();
  if (!connection_ && !lingering_ && transport_->ready()) Greet();
  if (size == 0 || lingering_) return;
  connection_->Receive({buffer.data(), static_cast<size_t>(size)});
}

// ---- Sending.

void Link::WantsToSend() { loop_.Touch(*this); }

void Link::GiveUp() {
  hopeless_ = true;
  loop_.Touch(*this);
}

void Link::Flush() {
  if (closed_) return;
  if (hopeless_) return Close();
  if (connection_ && !awaits_write_ && !lingering_) SendSome();
}

void Link::SendSome() {
  Output& output = rest_ ? *rest_ : loop_.output();
  if (output.empty()) connection_->Gather(output, kTurn);
  const size_t size = output.size();
  if (hopeless_ || (size > 0 && !transport_->Write(output))) {
    output.Clear();
    return Close();
  }
  loop_.counters().bytes_out.Add(static_cast<int64_t>(size - output.size()));
  if (!output.empty()) return KeepRest(output);
  if (rest_) {
    rest_.reset();
    loop_.timers().Clear(*this);
    if (!connection_->backlogged()) AwaitRead();
    return Again();  // There may be more by now.
  }
  if (size >= kTurn) return Again();
  if (connection_->finished()) Linger();
}

// Each time that the socket takes something, the peer gets time anew.
void Link::KeepRest(Output& output) {
  if (!rest_) {
    rest_ = std::make_unique<Output>();
    std::swap(*rest_, output);
  }
  loop_.timers().Set(*this, loop_.now() + options_.write_stall);
  AwaitWrite();
}

void Link::OnWritable() {
  awaits_write_ = false;
  loop_.Touch(*this);
  const bool full = connection_ && connection_->backlogged();
  if (!awaits_read_ && !full) OnReadable();
}

// ---- The end.

// Closing at once could throw away, at the peer, what we said last.
void Link::Linger() {
  lingering_ = true;
  connection_.reset();
  transport_->Shutdown();
  loop_.timers().Set(*this, loop_.now() + options_.linger);
  AwaitRead();
}

void Link::OnTime() { GiveUp(); }

void Link::Close() {
  if (std::exchange(closed_, true)) return;
  connection_.reset();
  rest_.reset();
  loop_.timers().Clear(*this);
  loop_.Forget(*this);
  loop_.Remove(*this);
  boost::system::error_code ignored;
  socket_.close(ignored);
  Again();  // If only to be deleted.
}

}  // namespace casemate::rpc::http2
