// What the session fuzzer puts into frames: mostly from a small world, so that calls meet; anything
// at times.

#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "store/namespace_spec.h"
#include "store/types.h"
#include "transport/records.h"

namespace larder {

inline constexpr std::uint32_t kLengths[] = {256, 1000, 4096, 5000, 30'000, 90'000};

inline NamespaceSpec chain_spec() {
  NamespaceSpec spec;
  spec.fingerprint.model = "m";
  spec.unit_tokens = 16;
  spec.ranks = 2;
  spec.groups.push_back({GroupKind::kFull, 16, 0, {}});
  spec.groups.push_back({GroupKind::kState, 32, 0, Bytes{1000}});
  return spec;
}
inline NamespaceSpec flat_spec() {
  NamespaceSpec spec = chain_spec();
  spec.fingerprint.flat = true;
  spec.unit_tokens = 0;
  return spec;
}

/// Draws fields from the fuzzer's input.
class SessionFields {
 protected:
  SessionFields(const std::uint8_t* data, std::size_t size) : in_(data, size) {}

  std::uint32_t small() { return in_.ConsumeIntegralInRange<std::uint32_t>(0, 9); }
  /// Small mostly; anything at times.
  std::uint64_t number() { return small() != 0 ? small() : in_.ConsumeIntegral<std::uint64_t>(); }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number()); }
  std::uint64_t ns() {
    switch (in_.ConsumeIntegralInRange(0, 7)) {
      case 0:
        return number();
      case 1:
      case 2:
        return namespace_id("default", flat_spec().fingerprint).value();
      default:
        return namespace_id("default", chain_spec().fingerprint).value();
    }
  }
  BlockHash hash() { return {1, in_.ConsumeIntegralInRange<std::uint64_t>(0, 7) << 60}; }
  wire::KeyRecord record() {
    if (in_.ConsumeIntegralInRange(0, 15) == 0) {
      wire::KeyRecord any;
      const auto bytes = in_.ConsumeBytes<std::uint8_t>(sizeof any);
      if (!bytes.empty()) std::memcpy(&any, bytes.data(), bytes.size());
      return any;
    }
    wire::KeyRecord key;
    key.hash = hash();
    key.parent = in_.ConsumeBool() ? hash() : BlockHash{};
    key.anchor = hash();
    key.position = small();
    key.group = in_.ConsumeIntegralInRange<std::uint16_t>(0, 2);
    key.rank = in_.ConsumeIntegralInRange<std::uint16_t>(0, 2);
    key.length = in_.PickValueInArray(kLengths);
    key.flags = in_.ConsumeIntegralInRange<std::uint32_t>(0, 4) == 0 ? wire::kKeyFlat : 0;
    return key;
  }
  std::vector<wire::KeyRecord> records() {
    std::vector<wire::KeyRecord> keys(in_.ConsumeIntegralInRange<std::size_t>(0, 5));
    for (wire::KeyRecord& key : keys)
      key = record();
    return keys;
  }
  wire::PutSource source(std::uint32_t key) {
    wire::PutSource out;
    out.key = small() != 0 ? key : number32();
    constexpr std::uint32_t kRegions[] = {
        1, 1, 1, 2, wire::PutSource::kAttach, wire::PutSource::kStream};
    out.region = in_.PickValueInArray(kRegions);
    out.address = number();
    out.length = in_.ConsumeBool() ? in_.PickValueInArray(kLengths) : number();
    return out;
  }
  static std::vector<std::byte> payload(std::size_t length) {
    return std::vector<std::byte>(length, std::byte{0x5a});
  }
  std::vector<std::uint64_t> ids() {
    std::vector<std::uint64_t> out(in_.ConsumeIntegralInRange<std::size_t>(0, 3));
    for (std::uint64_t& id : out)
      id = small();
    return out;
  }

  bool honest() { return in_.ConsumeIntegralInRange(0, 7) != 0; }

  FuzzedDataProvider in_;
};

}  // namespace larder
