#include "transport/tls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "store/assert.h"

namespace larder {

namespace {

constexpr std::size_t kRecord = 16 << 10;  ///< plain bytes of one TLS record, at most
constexpr std::size_t kReadAhead = 64 << 10;
constexpr char kPlainFirst = 'L';  ///< of every frame's magic; a TLS handshake begins with 0x16

/// The oldest error of this thread's queue, which is emptied.
std::string tls_error() {
  const unsigned long code = ERR_get_error();  // NOLINT(google-runtime-int)
  ERR_clear_error();
  // Of errno's the library keeps the number alone.
  if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

/// A BIO that appends what is written to a vector.
std::vector<std::byte>& sink_of(BIO* bio) {
  return *static_cast<std::vector<std::byte>*>(BIO_get_data(bio));
}
int append(BIO* bio, const char* data, std::size_t length, std::size_t* written) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  sink_of(bio).insert(sink_of(bio).end(), bytes, bytes + length);
  *written = length;
  return 1;
}
long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {  // NOLINT
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}
BIO* make_sink(std::vector<std::byte>& out) {
  static BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "append");
    BIO_meth_set_write_ex(method, append);
    BIO_meth_set_ctrl(method, control);
    return method;
  }();
  BIO* bio = BIO_new(kMethod);
  LARDER_ASSERT(bio != nullptr);
  BIO_set_data(bio, &out);
  BIO_set_init(bio, 1);
  return bio;
}

absl::StatusOr<SSL_CTX*> new_context(const SSL_METHOD* method) {
  SSL_CTX* context = SSL_CTX_new(method);
  if (context == nullptr) return absl::InternalError("tls: " + tls_error());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  // AES-128 first: the fastest of the three where the CPU has AES.
  SSL_CTX_set_ciphersuites(
      context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAhead);
  SSL_CTX_set_num_tickets(context, 0);  // sessions last; none is resumed
  return context;
}

bool is_ip(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> out{};
  return inet_pton(AF_INET, name.c_str(), out.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), out.data()) == 1;
}

}  // namespace

TlsContext::TlsContext(ssl_ctx_st* context) : context_(context, &SSL_CTX_free) {}

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::server(const std::string& cert_file,
                                                                     const std::string& key_file) {
  auto context = new_context(TLS_server_method());
  if (!context.ok()) return context.status();
  const std::shared_ptr<const TlsContext> made(new TlsContext(*context));
  struct stat info {};
  if (::stat(key_file.c_str(), &info) == 0 && (info.st_mode & (S_IRGRP | S_IROTH)) != 0) {
    return absl::PermissionDeniedError(
        fmt::format("tls_key {}: others may read it; chmod 600", key_file));
  }
  if (SSL_CTX_use_certificate_chain_file(*context, cert_file.c_str()) != 1) {
    return absl::InvalidArgumentError(fmt::format("tls_cert {}: {}", cert_file, tls_error()));
  }
  if (SSL_CTX_use_PrivateKey_file(*context, key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(*context) != 1) {
    return absl::InvalidArgumentError(fmt::format("tls_key {}: {}", key_file, tls_error()));
  }
  return made;
}

absl::StatusOr<std::shared_ptr<const TlsContext>> TlsContext::client(const std::string& ca_file) {
  auto context = new_context(TLS_client_method());
  if (!context.ok()) return context.status();
  const std::shared_ptr<const TlsContext> made(new TlsContext(*context));
  SSL_CTX_set_verify(*context, SSL_VERIFY_PEER, nullptr);
  // What the file names is trusted, be it a root or not.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(*context), X509_V_FLAG_PARTIAL_CHAIN);
  const int loaded = ca_file == "system" ? SSL_CTX_set_default_verify_paths(*context)
                                         : SSL_CTX_load_verify_file(*context, ca_file.c_str());
  if (loaded != 1) {
    return absl::InvalidArgumentError(fmt::format("tls_ca {}: {}", ca_file, tls_error()));
  }
  return made;
}

TlsStream::TlsStream(const TlsContext& context, int fd, bool is_server)
    : fd_(fd), ssl_(SSL_new(context.get()), &SSL_free) {
  LARDER_ASSERT(ssl_ != nullptr);
  SSL_set_bio(ssl_.get(), BIO_new_socket(fd, BIO_NOCLOSE), make_sink(out_));
  is_server ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
}

std::unique_ptr<TlsStream> TlsStream::accept(const TlsContext& context, int fd) {
  return std::unique_ptr<TlsStream>(new TlsStream(context, fd, true));
}

std::unique_ptr<TlsStream> TlsStream::connect(const TlsContext& context, int fd,
                                              const std::string& name) {
  std::unique_ptr<TlsStream> stream(new TlsStream(context, fd, false));
  SSL* const ssl = stream->ssl_.get();
  if (is_ip(name)) {
    LARDER_ASSERT(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1);
  } else {
    LARDER_ASSERT(SSL_set1_host(ssl, name.c_str()) == 1);
    LARDER_ASSERT(SSL_set_tlsext_host_name(ssl, name.c_str()) == 1);
  }
  return stream;
}

absl::StatusOr<bool> TlsStream::shake_hands() {
  if (!begun_ && speaks_plain()) {
    return absl::UnavailableError(
        "tls handshake: larderd answers without TLS: it has no tls_cert, or had no room for "
        "another "
        "session");
  }
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  const int what = SSL_get_error(ssl_.get(), result);
  const std::string why = result == 1 ? "" : tls_error();
  if (const IoResult sent = flush(); sent.state == IoState::kFailed) {
    return errno_status(absl::StatusCode::kUnavailable, "tls handshake", sent.error);
  }
  if (result == 1) return !unsent();
  if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE) return false;
  const long verified = SSL_get_verify_result(ssl_.get());  // NOLINT(google-runtime-int)
  if (verified == X509_V_OK) return absl::UnavailableError("tls handshake: " + why);
  return absl::UnauthenticatedError(
      fmt::format("tls certificate: {}", X509_verify_cert_error_string(verified)));
}

/// Looks at the first byte without taking it.
bool TlsStream::speaks_plain() {
  char first = 0;
  if (::recv(fd_, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1) return false;
  begun_ = true;
  plain_ = first == kPlainFirst;
  return plain_;
}

/// Of the SSL call that just ended with `result`.
IoResult TlsStream::failed(int result) {
  const int error = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return {.state = IoState::kBlocked};
    case SSL_ERROR_ZERO_RETURN:
      return {.state = IoState::kClosed};
    case SSL_ERROR_SYSCALL:
      if (error == 0 || error == ECONNRESET || error == EPIPE) return {.state = IoState::kClosed};
      return {.state = IoState::kFailed, .bytes = 0, .error = error};
    default:
      break;
  }
  // A stream cut without a farewell: frames know their lengths, so it is an end like any other.
  if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    return {.state = IoState::kClosed};
  }
  trouble_ = "tls: " + tls_error();
  return {.state = IoState::kFailed, .bytes = 0, .error = EPROTO};
}

IoResult TlsStream::receive(std::span<const iovec> pieces, Fds& /*fds*/) {
  if (!begun_ && speaks_plain()) trouble_ = "tls: this address speaks TLS 1.3 only";
  if (plain_) return {.state = IoState::kFailed, .bytes = 0, .error = EPROTO};
  std::size_t total = 0;
  IoResult last{.state = IoState::kDone};
  for (const iovec& piece : pieces) {
    std::size_t done = 0;
    while (done < piece.iov_len && last.state == IoState::kDone) {
      std::size_t got = 0;
      ERR_clear_error();
      errno = 0;
      const int result = SSL_read_ex(ssl_.get(), static_cast<std::byte*>(piece.iov_base) + done,
                                     piece.iov_len - done, &got);
      if (result != 1) last = failed(result);
      done += got;
    }
    total += done;
    if (last.state != IoState::kDone) break;
  }
  if (unsent()) (void)flush();  // of a handshake; what the kernel does not take waits
  if (total > 0) return {.state = IoState::kDone, .bytes = total};
  return last;
}

/// False when the stream is broken.
bool TlsStream::encrypt(const std::byte* data, std::size_t length) {
  while (length > 0) {
    std::size_t taken = 0;
    ERR_clear_error();
    if (SSL_write_ex(ssl_.get(), data, std::min(length, kRecord), &taken) != 1) {
      trouble_ = "tls: " + tls_error();
      return false;
    }
    data += taken;
    length -= taken;
  }
  return true;
}

IoResult TlsStream::send(std::span<const iovec> pieces, std::span<const int> fds) {
  if (plain_) return send_message(fd_, pieces, fds);
  if (const IoResult before = flush(); before.state != IoState::kDone) return before;
  std::size_t total = 0;
  for (const iovec& piece : pieces) {
    const std::size_t room = kUnsentMax - std::min(kUnsentMax, out_.size());
    const std::size_t length = std::min(piece.iov_len, room);
    if (!encrypt(static_cast<const std::byte*>(piece.iov_base), length)) {
      return {.state = IoState::kFailed, .bytes = 0, .error = EPROTO};
    }
    total += length;
    if (length < piece.iov_len) break;
  }
  const IoResult after = flush();
  if (after.state == IoState::kClosed || after.state == IoState::kFailed) return after;
  return {.state = IoState::kDone, .bytes = total};
}

bool TlsStream::pending() const {
  return SSL_has_pending(ssl_.get()) == 1;
}

IoResult TlsStream::flush() {
  while (unsent()) {
    const iovec piece{out_.data() + sent_, out_.size() - sent_};
    const IoResult sent = send_message(fd_, {&piece, 1});
    if (sent.state != IoState::kDone) return sent;
    sent_ += sent.bytes;
  }
  out_.clear();
  sent_ = 0;
  return {};
}

}  // namespace larder
