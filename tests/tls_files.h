// A self-signed certificate and its key, as PEM files.

#pragma once

#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "store/assert.h"
#include "tests/temp_dir.h"

namespace larder::test {

/// Files `cert` and `key` (mode 600) in a directory; the certificate is of `name`, for a day.
class TlsFiles {
 public:
  explicit TlsFiles(const TempDir& dir, const std::string& prefix = "",
                    const std::string& name = "DNS:localhost,IP:127.0.0.1")
      : cert(dir.path() + "/" + prefix + "cert.pem"), key(dir.path() + "/" + prefix + "key.pem") {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> pair(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const std::unique_ptr<X509, void (*)(X509*)> made(X509_new(), &X509_free);
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 24L * 3600);
    X509_set_pubkey(made.get(), pair.get());
    X509_NAME* const subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("larder test"), -1, -1, 0);
    X509_set_issuer_name(made.get(), subject);
    add(made.get(), NID_basic_constraints, "critical,CA:TRUE");
    add(made.get(), NID_subject_alt_name, name);
    LARDER_ASSERT(X509_sign(made.get(), pair.get(), EVP_sha256()) > 0);
    write(cert, [&](std::FILE* out) { return PEM_write_X509(out, made.get()); });
    write(key, [&](std::FILE* out) {
      return PEM_write_PrivateKey(out, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    ::chmod(key.c_str(), 0600);
  }

  const std::string cert, key;

 private:
  static void add(X509* to, int what, const std::string& value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str());
    LARDER_ASSERT(extension != nullptr);
    X509_add_ext(to, extension, -1);
    X509_EXTENSION_free(extension);
  }
  template <class Write>
  static void write(const std::string& path, Write write_pem) {
    std::FILE* const out = std::fopen(path.c_str(), "w");
    LARDER_ASSERT(out != nullptr && write_pem(out) == 1);
    std::fclose(out);
  }
};

}  // namespace larder::test
