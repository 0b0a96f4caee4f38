#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "rpc/http2/transport.h"

namespace casemate::rpc::http2 {
namespace {

constexpr size_t kRecord = size_t{16} << 10;

// OpenSSL reads and writes the socket itself.
class TlsTransport final : public Transport {
 public:
  TlsTransport(int socket, SSL_CTX& context) : ssl_(SSL_new(&context)) {
    CASEMATE_CHECK(ssl_ != nullptr);
    SSL_set_fd(ssl_, socket);
    SSL_set_accept_state(ssl_);
  }
  ~TlsTransport() override { SSL_free(ssl_); }

  ssize_t Read(std::span<char> place) override {
    if (!ready_ && !Handshake()) return broken_ ? -1 : 0;
    size_t size = 0;
    pending_ = false;
    while (!broken_) {
      if (size == place.size()) {
        pending_ = true;
        break;
      }
      size_t part = 0;
      const int done =
          SSL_read_ex(ssl_, place.data() + size, place.size() - size, &part);
      if (!Succeeded(done)) break;
      size += part;
    }
    if (size > 0) pending_ |= broken_;  // The end is for the next time.
    return size > 0 ? static_cast<ssize_t>(size) : broken_ ? -1 : 0;
  }

  bool Write(Output& output) override {
    while (!output.empty()) {
      size_t taken = 0;
      const std::string_view record = Record(output);
      const int done = SSL_write_ex(ssl_, record.data(), record.size(), &taken);
      if (!Succeeded(done)) return !broken_;
      output.Drop(taken);
    }
    return true;
  }

  void Shutdown() override {
    if (ready_ && !broken_) SSL_shutdown(ssl_);
    ERR_clear_error();
    shutdown(SSL_get_fd(ssl_), SHUT_WR);
  }

  bool ready() const override { return ready_; }
  bool pending() const override { return pending_; }
  bool wants_to_write() const override { return wants_to_write_; }

  std::string subject() const override {
    X509* const certificate = SSL_get0_peer_certificate(ssl_);
    if (certificate == nullptr) return {};
    BIO* const bio = BIO_new(BIO_s_mem());
    X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0,
                       XN_FLAG_RFC2253);
    char* text;
    const long size = BIO_get_mem_data(bio, &text);
    std::string subject(text, static_cast<size_t>(size));
    BIO_free(bio);
    return subject;
  }

 private:
  bool Handshake() {
    if (!Succeeded(SSL_do_handshake(ssl_))) return false;
    const unsigned char* protocol;
    unsigned size;
    SSL_get0_alpn_selected(ssl_, &protocol, &size);
    broken_ = size != 2 || std::memcmp(protocol, "h2", 2) != 0;
    ready_ = !broken_;
    return ready_;
  }

  // Notes what it waits for, or that all is over.
  bool Succeeded(int result) {
    wants_to_write_ = false;
    if (result == 1) return true;
    const int why = SSL_get_error(ssl_, result);
    ERR_clear_error();
    wants_to_write_ = why == SSL_ERROR_WANT_WRITE;
    if (why != SSL_ERROR_WANT_READ && !wants_to_write_) broken_ = true;
    return false;
  }

  // Up to a record of what comes next, in one piece.
  std::string_view Record(const Output& output) {
    const auto pieces = output.pieces();
    const auto* first = static_cast<const char*>(pieces[0].iov_base);
    if (pieces.size() == 1 || pieces[0].iov_len >= kRecord) {
      return {first, std::min(pieces[0].iov_len, kRecord)};
    }
    // Of one use: OpenSSL encrypts it before it returns.
    thread_local std::array<char, kRecord> record;
    size_t size = 0;
    for (const iovec& piece : pieces) {
      const size_t part = std::min(piece.iov_len, kRecord - size);
      std::memcpy(record.data() + size, piece.iov_base, part);
      size += part;
      if (size == kRecord) break;
    }
    return {record.data(), size};
  }

  SSL* const ssl_;
  bool ready_ = false;
  bool broken_ = false;
  bool pending_ = false;
  bool wants_to_write_ = false;
};

}  // namespace

std::unique_ptr<Transport> MakeTlsTransport(int socket, SSL_CTX& context) {
  return std::make_unique<TlsTransport>(socket, context);
}

}  // namespace casemate::rpc::http2
