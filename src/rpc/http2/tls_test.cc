#include "rpc/http2/tls.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "rpc/http2/for_test.h"
#include "rpc/http2/server.h"
#include "rpc/http2/socket_client.h"

namespace casemate::rpc::http2 {
namespace {

// A certificate and its key, made for the test.
struct Identity {
  std::string certificate, key;
};

std::string Text(BIO* bio) {
  char* data;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

// Signed by itself, and so its own authority.
Identity MakeIdentity(const char* name) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const auto add = [&](const char* field, const char* value) {
    X509_NAME_add_entry_by_txt(subject, field, MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(value),
                               -1, -1, 0);
  };
  add("O", "Test");
  add("CN", name);
  X509_set_issuer_name(certificate, subject);
  X509_sign(certificate, key, EVP_sha256());
  BIO* const certificate_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate);
  BIO* const key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr,
                           nullptr);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {Text(certificate_text), Text(key_text)};
}

// A blocking client over TLS.
class TlsClient {
 public:
  struct Options {
    std::string protocol = "h2";
    int version = 0;  // The highest; 0: any.
    const Identity* identity = nullptr;
  };

  TlsClient(const std::string& address, const Options& options)
      : socket_(DialSocket(address)),
        context_(SSL_CTX_new(TLS_client_method())),
        ssl_(nullptr) {
    if (options.version != 0) {
      SSL_CTX_set_min_proto_version(context_, options.version);
      SSL_CTX_set_max_proto_version(context_, options.version);
      SSL_CTX_set_security_level(context_, 0);
    }
    if (options.identity != nullptr) Use(*options.identity);
    ssl_ = SSL_new(context_);
    const std::string offer =
        static_cast<char>(options.protocol.size()) + options.protocol;
    if (!options.protocol.empty()) {
      SSL_set_alpn_protos(ssl_,
                          reinterpret_cast<const unsigned char*>(offer.data()),
                          static_cast<unsigned>(offer.size()));
    }
    SSL_set_fd(ssl_, socket_);
    connected_ = SSL_connect(ssl_) == 1;
  }
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    close(socket_);
    ERR_clear_error();
  }

  bool connected() const { return connected_; }
  int version() const { return SSL_version(ssl_); }

  // The outcome of a call; none if the server ends the connection.
  Outcome Call(const std::string& path, std::string_view message) {
    const int32_t stream = client_.Call(path, message);
    std::array<char, 65536> buffer;
    while (!client_.outcome(stream).closed) {
      const std::string bytes = client_.Take();
      size_t count = 0;
      if (!bytes.empty() &&
          SSL_write_ex(ssl_, bytes.data(), bytes.size(), &count) != 1) {
        break;
      }
      if (SSL_read_ex(ssl_, buffer.data(), buffer.size(), &count) != 1) break;
      client_.Receive({buffer.data(), count});
    }
    return client_.outcome(stream);
  }

 private:
  void Use(const Identity& identity) {
    BIO* bio = BIO_new_mem_buf(identity.certificate.data(), -1);
    X509* const certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context_, certificate);
    X509_free(certificate);
    BIO_free(bio);
    bio = BIO_new_mem_buf(identity.key.data(), -1);
    EVP_PKEY* const key =
        PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
    SSL_CTX_use_PrivateKey(context_, key);
    EVP_PKEY_free(key);
    BIO_free(bio);
  }

  const int socket_;
  SSL_CTX* const context_;
  SSL* ssl_;
  bool connected_ = false;
  Client client_;
};

class TlsTest : public ::testing::Test {
 protected:
  // Of the client's own, whom the server hangs up on.
  static void SetUpTestSuite() { signal(SIGPIPE, SIG_IGN); }

  void Start(TlsOptions::Clients clients = TlsOptions::Clients::kAnybody) {
    options_.listeners = {"127.0.0.1:0"};
    Http2Options http2;
    http2.tls = {server_identity_.certificate, server_identity_.key, clients,
                 client_identity_.certificate};
    http2.hello_timeout = std::chrono::milliseconds(500);
    Service* const services[] = {&service_};
    auto made = MakeHttp2Server(options_, services, pool_, http2);
    ASSERT_TRUE(made) << made.error().message;
    server_ = std::move(*made);
  }
  const std::string& address() const { return server_->addresses()[0]; }

  const Identity server_identity_ = MakeIdentity("server");
  const Identity client_identity_ = MakeIdentity("worker");
  work::Pool pool_{"test", 1};
  TestService service_;
  ServerOptions options_;
  std::unique_ptr<Http2Server> server_;
};

TEST_F(TlsTest, G01_SpeaksH2UnderBothVersions) {
  Start();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(address(), {.version = version});
    ASSERT_TRUE(client.connected());
    EXPECT_EQ(client.version(), version);
    EXPECT_EQ(client.Call("/test.Service/Echo", "hello").body, Framed("hello"));
    EXPECT_EQ(service_.last_info().subject, "");
  }
}

TEST_F(TlsTest, G01_RefusesOlderVersionsAndOtherProtocols) {
  Start();
  EXPECT_FALSE(TlsClient(address(), {.version = TLS1_1_VERSION}).connected());
  EXPECT_FALSE(TlsClient(address(), {.protocol = "http/1.1"}).connected());
  TlsClient none(address(), {.protocol = ""});
  EXPECT_FALSE(none.Call("/test.Service/Echo", "x").closed);
}

TEST_F(TlsTest, LargeMessagesBothWays) {
  Start();
  TlsClient client(address(), {});
  EXPECT_EQ(client.Call("/test.Service/Give", "2 3000000").body.size(),
            2u * 3'000'005);
  EXPECT_EQ(client.Call("/test.Service/One", "x").body, Framed("x"));
}

TEST_F(TlsTest, HandsTheVerifiedSubjectToTheCall) {
  Start(TlsOptions::Clients::kRequired);
  TlsClient client(address(), {.identity = &client_identity_});
  EXPECT_EQ(client.Call("/test.Service/Echo", "x").status(), 0);
  EXPECT_EQ(service_.last_info().subject, "CN=worker,O=Test");
}

TEST_F(TlsTest, ARequiredCertificateMustBeThereAndGood) {
  Start(TlsOptions::Clients::kRequired);
  const Identity stranger = MakeIdentity("stranger");
  for (const Identity* each :
       {static_cast<const Identity*>(nullptr), &stranger}) {
    TlsClient client(address(), {.identity = each});
    EXPECT_FALSE(client.Call("/test.Service/Echo", "x").closed);
  }
  EXPECT_EQ(service_.started, 0);
}

TEST_F(TlsTest, AnOptionalCertificateMayBeAbsentButNotBad) {
  Start(TlsOptions::Clients::kOptional);
  TlsClient none(address(), {});
  EXPECT_EQ(none.Call("/test.Service/Echo", "x").status(), 0);
  EXPECT_EQ(service_.last_info().subject, "");
  const Identity stranger = MakeIdentity("stranger");
  TlsClient bad(address(), {.identity = &stranger});
  EXPECT_FALSE(bad.Call("/test.Service/Echo", "x").closed);
}

TEST_F(TlsTest, G28_AStalledHandshakeIsCutOff) {
  Start();
  const int stalled = DialSocket(address());
  ASSERT_EQ(write(stalled, "\x16\x03\x01\x02", 4), 4);
  char byte;
  EXPECT_LE(read(stalled, &byte, 1), 0);
  close(stalled);
  TlsClient client(address(), {});
  EXPECT_EQ(client.Call("/test.Service/Echo", "x").status(), 0);
}

TEST_F(TlsTest, PlainBytesAreNoHandshake) {
  Start();
  const int plain = DialSocket(address());
  const std::string text = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  ASSERT_GT(write(plain, text.data(), text.size()), 0);
  char bytes[100];
  while (read(plain, bytes, sizeof bytes) > 0) {
  }
  close(plain);
  EXPECT_EQ(service_.started, 0);
}

TEST_F(TlsTest, BadPemsAreRefusedWithTheReason) {
  const Identity& own = server_identity_;
  const TlsOptions bad[] = {
      {.certificates = "", .key = own.key},
      {.certificates = own.certificate, .key = "x"},
      {.certificates = own.certificate, .key = client_identity_.key},
      {.certificates = own.certificate,
       .key = own.key,
       .clients = TlsOptions::Clients::kRequired}};
  for (const TlsOptions& each : bad) {
    const auto context = MakeTlsContext(each);
    ASSERT_FALSE(context);
    EXPECT_EQ(context.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(context.error().message.starts_with("TLS: "));
  }
}

}  // namespace
}  // namespace casemate::rpc::http2
