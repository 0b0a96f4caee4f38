#include "rpc/http2/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <string_view>

#include "base/try.h"

namespace casemate::rpc::http2 {
namespace {

struct Deleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Deleter>;
using Certificate = std::unique_ptr<X509, Deleter>;
using Key = std::unique_ptr<EVP_PKEY, Deleter>;

Error Refusal(std::string what) {
  if (const unsigned long code = ERR_get_error(); code != 0) {
    char reason[256];
    ERR_error_string_n(code, reason, sizeof reason);
    what += std::string(": ") + reason;
  }
  ERR_clear_error();
  return {Code::kInvalidArgument, "TLS: " + what};
}

Bio Over(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody types a passphrase.
int NoPassphrase(char*, int, int, void*) { return 0; }

Certificate NextCertificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, NoPassphrase, nullptr));
}

Result<void> UseCertificates(SSL_CTX* context, const std::string& pem) {
  const Bio bio = Over(pem);
  const Certificate own = NextCertificate(bio.get());
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return Refusal("the certificate is none");
  }
  while (const Certificate signer = NextCertificate(bio.get())) {
    if (SSL_CTX_add1_chain_cert(context, signer.get()) != 1) {
      return Refusal("a certificate of the chain is none");
    }
  }
  ERR_clear_error();  // That there was no other.
  return {};
}

Result<void> UseKey(SSL_CTX* context, const std::string& pem) {
  const Bio bio = Over(pem);
  const Key key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return Refusal("the key is none");
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return Refusal("the key is another certificate's");
  }
  return {};
}

Result<void> AskClients(SSL_CTX* context, const TlsOptions& options) {
  if (options.clients == TlsOptions::Clients::kAnybody) return {};
  const Bio bio = Over(options.client_authorities);
  int count = 0;
  while (const Certificate authority = NextCertificate(bio.get())) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    SSL_CTX_add_client_CA(context, authority.get());
    ++count;
  }
  if (count == 0) return Refusal("no authority for the clients' certificates");
  ERR_clear_error();
  const bool required = options.clients == TlsOptions::Clients::kRequired;
  SSL_CTX_set_verify(
      context,
      SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      nullptr);
  return {};
}

// "h2" is all we speak.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size,
                   const unsigned char* offered, unsigned offered_size, void*) {
  static constexpr unsigned char kH2[] = {2, 'h', '2'};
  unsigned char* found;
  if (SSL_select_next_proto(&found, size, kH2, sizeof kH2, offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void TlsContextDeleter::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

Result<TlsContext> MakeTlsContext(const TlsOptions& options) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (!context) return Refusal("no context");
  SSL_CTX* const raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  // HTTP/2 forbids what is older under TLS 1.2 (RFC 9113, 9.2.2).
  if (SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
    return Refusal("no cipher");
  }
  const unsigned char id[] = "casemate";
  SSL_CTX_set_session_id_context(raw, id, sizeof id);
  SSL_CTX_set_alpn_select_cb(raw, ChooseProtocol, nullptr);
  RETURN_IF_ERROR(UseCertificates(raw, options.certificates));
  RETURN_IF_ERROR(UseKey(raw, options.key));
  RETURN_IF_ERROR(AskClients(raw, options));
  return context;
}

}  // namespace casemate::rpc::http2
