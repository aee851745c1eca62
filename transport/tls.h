#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "transport/byte_stream.h"

struct ssl_ctx_st;
struct ssl_st;

namespace larder {

/// Certificates and rules of TLS 1.3 (RFC 8446), nothing older; OpenSSL does the work. Immutable;
/// any thread.
class TlsContext {
 public:
  /// Serves with the certificate chain and the key of these PEM files. PERMISSION_DENIED when
  /// others may read the key; INVALID_ARGUMENT naming the file.
  static absl::StatusOr<std::shared_ptr<const TlsContext>> server(const std::string& cert_file,
                                                                  const std::string& key_file);
  /// Trusts what `ca_file` (PEM) signed, itself included; "system": what this machine trusts.
  static absl::StatusOr<std::shared_ptr<const TlsContext>> client(const std::string& ca_file);
  ssl_ctx_st* get() const { return context_.get(); }

 private:
  explicit TlsContext(ssl_ctx_st* context);
  std::shared_ptr<ssl_ctx_st> context_;
};

/// An encrypted stream over a non-blocking socket. What send() takes is encrypted at once, at most
/// kUnsentMax before the kernel takes it.
///
/// A server's handshake happens inside receive(). A client that speaks without TLS is told so in
/// plain text: receive() fails, and send() encrypts nothing from then on.
class TlsStream : public ByteStream {
 public:
  static constexpr std::size_t kUnsentMax = 128 << 10;

  static std::unique_ptr<TlsStream> accept(const TlsContext& context, int fd);
  /// The server must prove `name`, a host name or an address. Then shake_hands().
  static std::unique_ptr<TlsStream> connect(const TlsContext& context, int fd,
                                            const std::string& name);
  /// A client's handshake as far as it goes without waiting: true when it is done, false when the
  /// descriptor must become readable (or writable, when unsent()). UNAUTHENTICATED when the server
  /// cannot prove its name, UNAVAILABLE when it speaks no TLS 1.3.
  absl::StatusOr<bool> shake_hands();

  IoResult receive(std::span<const iovec> pieces, Fds& fds) override;
  IoResult send(std::span<const iovec> pieces, std::span<const int> fds) override;
  IoResult flush() override;
  bool pending() const override;
  bool unsent() const override { return sent_ < out_.size(); }
  std::string trouble() const override { return trouble_; }

 private:
  TlsStream(const TlsContext& context, int fd, bool is_server);
  IoResult failed(int result);
  bool speaks_plain();
  bool encrypt(const std::byte* data, std::size_t length);

  int fd_;
  std::vector<std::byte> out_;  ///< encrypted, from sent_ on not in the kernel yet
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;  ///< writes into out_
  std::size_t sent_ = 0;
  bool begun_ = false;
  bool plain_ = false;  ///< the other end knows no TLS
  std::string trouble_;
};

}  // namespace larder
