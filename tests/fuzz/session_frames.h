// Frames of the session fuzzer that need nothing but their fields.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/checksum.h"
#include "store/limits.h"
#include "tests/fuzz/session_fields.h"
#include "tests/session/lone_session.h"
#include "transport/namespace_wire.h"
#include "transport/wire.pb.h"

namespace larder {

/// Adds frames to what its client sends.
class SessionFrames : protected SessionFields {
 protected:
  using SessionFields::SessionFields;

  template <class Record>
  void array(std::span<const Record> records) {
    wire::append(array_, records);
  }

  void send(FrameType type, const google::protobuf::MessageLite& body,
            std::span<const std::byte> bytes = {}) {
    send_as(type, small(), body, bytes);
  }

  void send_as(FrameType type, std::uint64_t id, const google::protobuf::MessageLite& body,
               std::span<const std::byte> bytes) {
    if (in_.ConsumeIntegralInRange(0, 31) == 0) array_.resize(array_.size() / 2 + small());
    client_->add({.type = type, .id = id, .body = &body, .array = array_}, bytes);
    array_.clear();
  }

  void open_namespace() {
    wire::OpenNamespaceRequest body = to_wire(in_.ConsumeBool() ? chain_spec() : flat_spec());
    if (small() < 3) body.set_model(in_.ConsumeRandomLengthString(8));
    if (small() < 3) body.set_unit_tokens(number32());
    if (small() < 3) body.set_segment_tokens(number32());
    if (small() < 3) body.set_ranks(number32());
    if (small() < 3) body.set_ttl_ms(number());
    if (small() < 3) {
      wire::Group* group = body.add_groups();
      group->set_kind(number32());
      group->set_block_tokens(number32());
      group->set_window_tokens(number32());
      group->set_block_bytes(number());
    }
    send(FrameType::kOpenNamespace, body);
  }

  void send_keys(FrameType type, const google::protobuf::MessageLite& body) {
    array(std::span<const wire::KeyRecord>(records()));
    send(type, body);
  }

  void match() {
    wire::MatchRequest body;
    body.set_ns(ns());
    body.set_request(number());
    std::uint32_t units = 0;
    for (std::uint32_t chains = small() % 3 + 1; chains > 0; --chains) {
      body.add_chain_units(small());
      units += body.chain_units(body.chain_units_size() - 1);
    }
    body.set_claim(in_.ConsumeBool());
    body.set_claim_ms(number32());
    body.set_details(in_.ConsumeBool());
    for (std::uint32_t i = 0; i < units; ++i) {
      const BlockHash one = hash();
      array(std::span(&one, 1));
    }
    send(FrameType::kMatch, body);
  }

  void remove_prefix_or_touch() {
    if (in_.ConsumeBool()) {
      wire::TouchRequest body;
      body.set_ns(ns());
      body.set_request(number());
      return send_keys(FrameType::kTouch, body);
    }
    wire::RemovePrefixRequest body;
    body.set_ns(ns());
    for (std::uint32_t units = small(); units > 0; --units) {
      const BlockHash one = hash();
      array(std::span(&one, 1));
    }
    send(FrameType::kRemovePrefix, body);
  }

  void put_inline() {
    wire::PutRequest body;
    body.set_ns(ns());
    body.set_request(number());
    body.set_deadline_ms(number32());
    std::vector<wire::KeyRecord> keys = records();
    std::size_t total = 0;
    for (wire::KeyRecord& key : keys) {
      if (total + key.length > limits::kInlinePutMax.count) key.length = 256;
      total += key.length;
      const std::uint64_t sum = checksum(payload(key.length));
      body.add_inline_checksums(honest() ? sum : number());
    }
    if (!honest()) total += small();
    array(std::span<const wire::KeyRecord>(keys));
    send(FrameType::kPut, body, payload(total));
  }

  void chunk(std::uint64_t id) {
    const wire::ChunkRecord record{
        .key = small(), .last = small() % 2, .offset = number(), .checksum = number()};
    array(std::span<const wire::ChunkRecord>(&record, 1));
    send_as(FrameType::kPutData, id, wire::SimpleReply(), payload(number32() % 9'000));
  }

  /// More keys than a call looks at in one turn.
  void many_keys() {
    constexpr FrameType kCalls[] = {FrameType::kGet, FrameType::kWait, FrameType::kPin,
                                    FrameType::kTouch, FrameType::kRemove};
    const auto count = in_.ConsumeIntegralInRange<std::uint32_t>(900, 4'200);
    if (in_.ConsumeBool()) return many_units(count);
    std::vector<wire::KeyRecord> keys(count, record());
    for (std::uint32_t n = 0; n < count; ++n)
      keys[n].hash = {1, std::uint64_t{n} << 50};
    array(std::span<const wire::KeyRecord>(keys));
    wire::GetRequest body;  // the others begin alike
    body.set_ns(ns());
    send(in_.PickValueInArray(kCalls), body);
  }

  void many_units(std::uint32_t count) {
    wire::MatchRequest body;
    body.set_ns(ns());
    body.set_request(number());
    body.add_chain_units(count);
    body.set_claim(in_.ConsumeBool());
    std::vector<BlockHash> units(count);
    for (std::uint32_t n = 0; n < count; ++n)
      units[n] = {1, std::uint64_t{n} << 50};
    array(std::span<const BlockHash>(units));
    send(in_.ConsumeBool() ? FrameType::kMatch : FrameType::kRemovePrefix, body);
  }

  void requests() {
    switch (small() % 4) {
      case 0: {
        wire::BeginRequestRequest body;
        body.set_ns(ns());
        body.set_request(number());
        body.set_hint_positions(number32());
        body.set_has_hint(in_.ConsumeBool());
        body.set_priority(number32());
        body.set_deadline_ms(number32());
        body.set_now_ns(small() == 0 ? number() : 0);
        return send(FrameType::kBeginRequest, body);
      }
      case 1:
      case 2: {
        wire::EndRequestRequest body;
        body.set_request(number());
        body.set_output_tokens(number32());
        return send(FrameType::kEndRequest, body);
      }
      default:
        return open_namespace();
    }
  }

  sim::LoneSession* client_ = nullptr;
  std::vector<std::byte> array_;  ///< of the next frame
};

}  // namespace larder
