// The fake server's lookups, gets and puts.

#include <algorithm>

#include "store/chain.h"
#include "store/usable_tokens.h"
#include "tests/client/fake_connection.h"
#include "tests/client/fake_server.h"
#include "transport/frame_head.h"

namespace larder::sim {
namespace {

std::vector<wire::KeyRecord> keys_in(std::span<const std::byte> array) {
  std::vector<wire::KeyRecord> keys;
  LARDER_ASSERT(wire::parse(array, keys));
  return keys;
}

wire::PutResult result_of(wire::KeyStatus status) {
  return {.status = static_cast<std::uint16_t>(status)};
}

template <class Record>
std::span<const std::byte> bytes_of(const std::vector<Record>& records) {
  return std::as_bytes(std::span<const Record>(records));
}

}  // namespace

wire::KeyStatus FakeServer::store_block(std::uint64_t ns, const wire::KeyRecord& key,
                                        std::vector<std::byte> bytes) {
  const std::lock_guard lock(blocks_mutex_);
  const FakeBlocks::Name name = FakeBlocks::name_of(ns, key);
  if (const auto block = blocks_.find(name)) {
    return block->length == bytes.size() ? wire::KeyStatus::kPresent
                                         : wire::KeyStatus::kSizeMismatch;
  }
  blocks_.add(name, bytes);
  return wire::KeyStatus::kOk;
}

void FakeServer::on_match(Connection& connection, FrameReader::Frame& frame) {
  wire::MatchRequest body;
  LARDER_ASSERT(parse_body(frame.body, body));
  std::vector<BlockHash> hashes;
  LARDER_ASSERT(wire::parse(frame.array, hashes));
  const NamespaceSpec& spec = namespaces_[body.ns()];
  wire::MatchReply out;
  const std::lock_guard lock(blocks_mutex_);
  const auto present = [&](const BlockHash& hash, std::uint16_t group, std::uint16_t rank) {
    return blocks_.find({body.ns(), hash, group, rank}) != nullptr;
  };
  if (spec.fingerprint.flat) {
    for (const BlockHash& hash : hashes)
      out.mutable_flat()->push_back(present(hash, 0, 0) ? 1 : 0);
    return reply(connection, FrameType::kMatch, frame.header.id, out);
  }
  std::vector<wire::MatchRecord> records;
  std::size_t first = 0;
  for (const std::uint32_t units : body.chain_units()) {
    const std::span<const BlockHash> chain = std::span(hashes).subspan(first, units);
    first += units;
    wire::ChainMatch* match = out.add_chains();
    std::vector<GroupPresence> groups;
    for (std::uint16_t g = 0; g < spec.groups.size(); ++g) {
      const std::uint32_t blocks = blocks_in_chain(spec.groups[g], spec.unit_tokens, units);
      GroupPresence& group = groups.emplace_back();
      for (std::uint32_t n = 0; n < blocks; ++n) {
        bool whole = true;
        for (std::uint16_t rank = 0; rank < spec.ranks; ++rank) {
          whole = whole &&
                  present(chain[last_unit_of_block(spec.groups[g], spec.unit_tokens, n)], g, rank);
        }
        group.push_back(whole ? 1 : 0);
        records.push_back({.state = static_cast<std::uint8_t>(whole ? 1 : 0)});
      }
      if (body.details()) match->add_group_blocks(blocks);
    }
    match->set_usable_tokens(usable_tokens(spec, groups));
    match->set_usable_units(match->usable_tokens() / spec.unit_tokens);
  }
  reply(connection, FrameType::kMatch, frame.header.id, out,
        body.details() ? bytes_of(records) : std::span<const std::byte>());
}

void FakeServer::on_get(Connection& connection, FrameReader::Frame& frame) {
  wire::GetRequest body;
  LARDER_ASSERT(parse_body(frame.body, body));
  const std::uint64_t id = frame.header.id;
  std::vector<wire::GetResult> results;
  std::vector<std::shared_ptr<const FakeBlock>> hits;
  {
    const std::lock_guard lock(blocks_mutex_);
    for (const wire::KeyRecord& key : keys_in(frame.array)) {
      wire::GetResult& result = results.emplace_back();
      auto block = blocks_.find(FakeBlocks::name_of(body.ns(), key));
      auto status = block == nullptr ? wire::KeyStatus::kMiss : wire::KeyStatus::kOk;
      if (block != nullptr && key.length != 0 && key.length != block->length) {
        status = wire::KeyStatus::kSizeMismatch;
        block = nullptr;
      }
      result.status = static_cast<std::uint16_t>(status);
      hits.push_back(block);
      if (block == nullptr) continue;
      result.offset = block->offset;
      result.length = block->length;
      result.generation = blocks_.generation(block->slot);
      result.checksum = block->checksum + (faults.wrong_checksum ? 1 : 0);
      result.slot = block->slot;
      if (connection.page) connection.leases[id] += 1;
      if (connection.page) leases_.fetch_add(1);
      if (faults.stale) blocks_.raise_generation(block->slot);
    }
  }
  if (connection.page && !connection.slab_announced) {
    connection.slab_announced = true;
    wire::SlabNotice notice;
    notice.set_bytes(FakeBlocks::kBytes);
    notice.set_slots(FakeBlocks::kSlots);
    notice.set_slot_bytes(4096);
    notice.set_header_bytes(FakeBlocks::kHeaderBytes);
    OutFrame out{
        .head = make_head({.type = FrameType::kSlabNotice, .id = 0, .fds = 2, .body = &notice})};
    out.fds = {blocks_.data_fd.get(), blocks_.header_fd.get()};
    push(connection, std::move(out));
  }
  reply(connection, FrameType::kGet, id, wire::GetReply(), bytes_of(results));
  if (!connection.page && faults.error_code == 0) send_chunks(connection, id, hits);
}

void FakeServer::send_chunks(Connection& connection, std::uint64_t id,
                             const std::vector<std::shared_ptr<const FakeBlock>>& hits) {
  constexpr std::uint64_t kChunk = 256 << 10;
  for (std::uint32_t n = 0; n < hits.size(); ++n) {
    if (hits[n] == nullptr) continue;
    for (std::uint64_t at = 0; at < hits[n]->length; at += kChunk) {
      if (faults.chunks == 0) return;
      if (faults.chunks > 0) faults.chunks.fetch_sub(1);
      const std::uint64_t bytes = std::min(kChunk, hits[n]->length - at);
      const wire::ChunkRecord chunk{
          .key = n, .last = at + bytes == hits[n]->length ? 1U : 0U, .offset = at};
      OutFrame out{.head = make_head({.type = FrameType::kGetData,
                                      .id = id,
                                      .reply = true,
                                      .array = std::as_bytes(std::span(&chunk, 1)),
                                      .payload = static_cast<std::uint32_t>(bytes)})};
      out.payload.push_back({const_cast<std::byte*>(hits[n]->data) + at, bytes});
      push(connection, std::move(out));
    }
  }
}

void FakeServer::on_put(Connection& connection, FrameReader::Frame& frame) {
  wire::PutRequest body;
  LARDER_ASSERT(parse_body(frame.body, body));
  told_ms_ = body.deadline_ms();
  if (connection.page) return on_put_shm(connection, frame, body);
  std::vector<wire::KeyRecord> keys = keys_in(frame.array);
  if (frame.header.payload > 0) {
    connection.put_body = body;
    connection.put_keys = std::move(keys);
    connection.payload.resize(frame.header.payload);
    const iovec piece{connection.payload.data(), connection.payload.size()};
    return connection.reader.receive_payload({&piece, 1});
  }
  StreamPut put;
  put.ns = body.ns();
  put.bytes.resize(keys.size());
  for (const wire::KeyRecord& key : keys) {
    const std::lock_guard lock(blocks_mutex_);
    const bool known = blocks_.find(FakeBlocks::name_of(put.ns, key)) != nullptr;
    put.results.push_back(result_of(known ? wire::KeyStatus::kPresent : wire::KeyStatus::kWanted));
    if (!known) ++put.left;
  }
  put.keys = std::move(keys);
  reply(connection, FrameType::kPutData, frame.header.id, wire::SimpleReply(),
        bytes_of(put.results));
  const bool nothing = put.left == 0;
  connection.streams[frame.header.id] = std::move(put);
  if (nothing) finish_stream(connection, frame.header.id);
}

void FakeServer::take_inline(Connection& connection) {
  std::size_t at = 0;
  std::vector<wire::PutResult> results;
  for (std::size_t n = 0; n < connection.put_keys.size(); ++n) {
    const wire::KeyRecord& key = connection.put_keys[n];
    const auto begin = connection.payload.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<std::byte> bytes(begin, begin + key.length);
    at += key.length;
    auto status = wire::KeyStatus::kCorrupt;
    if (checksum_of(bytes.data(), bytes.size()) ==
        connection.put_body.inline_checksums(static_cast<int>(n))) {
      status = store_block(connection.put_body.ns(), key, std::move(bytes));
    }
    results.push_back(result_of(status));
  }
  reply(connection, FrameType::kPut, connection.payload_of.id, wire::PutReply(), bytes_of(results));
}

void FakeServer::on_put_data(Connection& connection, FrameReader::Frame& frame) {
  const auto put = connection.streams.find(frame.header.id);
  if (put == connection.streams.end()) return;  // cancelled: drained
  LARDER_ASSERT(frame.array.size() == sizeof connection.chunk);
  std::memcpy(&connection.chunk, frame.array.data(), sizeof connection.chunk);
  std::vector<std::byte>& bytes = put->second.bytes.at(connection.chunk.key);
  LARDER_ASSERT(connection.chunk.offset == bytes.size());
  bytes.resize(bytes.size() + frame.header.payload);
  const iovec piece{bytes.data() + connection.chunk.offset, frame.header.payload};
  connection.reader.receive_payload({&piece, 1});
}

void FakeServer::take_chunk(Connection& connection) {
  const std::uint64_t id = connection.payload_of.id;
  const auto at = connection.streams.find(id);
  if (at == connection.streams.end()) return;
  StreamPut& put = at->second;
  put.taken += connection.payload_of.payload;
  LARDER_ASSERT(put.taken - put.acknowledged <= 1 << 20);  // the credits of Hello
  if (!faults.no_acks && put.taken - put.acknowledged >= 512 << 10) {
    put.acknowledged = put.taken;
    wire::SimpleReply ack;
    ack.set_count(put.taken);
    reply(connection, FrameType::kPutData, id, ack);
  }
  if (connection.chunk.last == 0) return;
  const std::uint32_t key = connection.chunk.key;
  std::vector<std::byte>& bytes = put.bytes[key];
  auto status = wire::KeyStatus::kCorrupt;
  if (checksum_of(bytes.data(), bytes.size()) == connection.chunk.checksum) {
    status = store_block(put.ns, put.keys[key], std::move(bytes));
  }
  put.results[key] = result_of(status);
  if (--put.left == 0 && !faults.no_acks) finish_stream(connection, id);
}

void FakeServer::finish_stream(Connection& connection, std::uint64_t id) {
  reply(connection, FrameType::kPut, id, wire::PutReply(),
        bytes_of(connection.streams[id].results));
  connection.streams.erase(id);
}

bool FakeServer::read_source(Connection& connection, const wire::PutSource& source, std::byte* to) {
  if (source.region == wire::PutSource::kAttach) {
    if (!connection.peer) return false;
    for (std::uint64_t at = 0; at < source.length; at += 1 << 20) {
      const std::uint64_t n = std::min<std::uint64_t>(1 << 20, source.length - at);
      if (connection.peer->read(source.address + at, {to + at, n}, nullptr) !=
          AttachedProcess::Outcome::kOk) {
        return false;
      }
    }
    return true;
  }
  const auto region = connection.regions.find(source.region);
  if (region == connection.regions.end()) return false;
  const std::byte* from = region->second.at(source.address, source.length);
  return from != nullptr && copy_guarded(to, from, source.length);
}

void FakeServer::on_put_shm(Connection& connection, FrameReader::Frame& frame,
                            const wire::PutRequest& body) {
  const std::size_t sources_bytes = body.sources() * sizeof(wire::PutSource);
  LARDER_ASSERT(frame.array.size() >= sources_bytes);
  Connection::HeldPut put;
  put.id = frame.header.id;
  put.word = body.control_word();
  put.ns = body.ns();
  put.keys = keys_in(frame.array.first(frame.array.size() - sources_bytes));
  std::vector<wire::PutSource> sources;
  LARDER_ASSERT(wire::parse(frame.array.last(sources_bytes), sources));
  put.bytes.resize(put.keys.size());
  put.results.resize(put.keys.size());
  for (const wire::PutSource& source : sources) {
    std::vector<std::byte>& bytes = put.bytes.at(source.key);
    const std::size_t at = bytes.size();
    bytes.resize(at + source.length);
    if (!read_source(connection, source, bytes.data() + at)) {
      put.results[source.key] = result_of(wire::KeyStatus::kFault);
    }
  }
  connection.held.push_back(std::move(put));
  finish_held(connection);
}

void FakeServer::finish_held(Connection& connection) {
  if (faults.hold_puts || faults.silent) return;
  for (Connection::HeldPut& put : std::exchange(connection.held, {})) {
    const bool committed = connection.page->commit(put.word, put.id);
    if (committed && faults.die_committed) {
      connection.over = true;
      return;
    }
    for (std::size_t n = 0; n < put.keys.size(); ++n) {
      if (!committed) {
        put.results[n] = result_of(wire::KeyStatus::kCancelled);
      } else if (put.results[n].status == 0) {
        put.results[n] = result_of(store_block(put.ns, put.keys[n], std::move(put.bytes[n])));
      }
    }
    if (committed && faults.lose_put_reply) continue;
    reply(connection, FrameType::kPut, put.id, wire::PutReply(), bytes_of(put.results));
  }
}

void FakeServer::on_layer(Connection& connection, FrameReader::Frame& frame) {
  wire::PutStartRequest body;
  LARDER_ASSERT(parse_body(frame.body, body));
  told_ms_ = body.deadline_ms();
  LayerPut put;
  put.ns = body.ns();
  put.keys = keys_in(frame.array);
  for (const wire::KeyRecord& key : put.keys) {
    const std::lock_guard lock(blocks_mutex_);
    const bool known = blocks_.find(FakeBlocks::name_of(put.ns, key)) != nullptr;
    put.results.push_back(result_of(known ? wire::KeyStatus::kPresent : wire::KeyStatus::kWanted));
    put.bytes.emplace_back(key.length);
  }
  reply(connection, FrameType::kPutStart, frame.header.id, wire::PutReply(), bytes_of(put.results));
  connection.layers[frame.header.id] = std::move(put);
}

void FakeServer::on_layer_part(Connection& connection, FrameReader::Frame& frame) {
  LARDER_ASSERT(parse_body(frame.body, connection.part_body));
  const std::size_t sources = connection.part_body.sources();
  LARDER_ASSERT(frame.array.size() == sources * (sizeof(wire::PutSource) + 8));
  LARDER_ASSERT(
      wire::parse(frame.array.first(sources * sizeof(wire::PutSource)), connection.part_sources));
  LARDER_ASSERT(wire::parse(frame.array.last(sources * 8), connection.part_offsets));
  if (frame.header.payload == 0) return take_part(connection);
  connection.payload.resize(frame.header.payload);
  const iovec piece{connection.payload.data(), connection.payload.size()};
  connection.reader.receive_payload({&piece, 1});
}

void FakeServer::take_part(Connection& connection) {
  const std::uint64_t id = connection.payload_of.id;
  LayerPut& put = connection.layers.at(connection.part_body.put());
  std::size_t at = 0;
  wire::SimpleReply out;
  for (std::size_t n = 0; n < connection.part_sources.size(); ++n) {
    const wire::PutSource& source = connection.part_sources[n];
    std::vector<std::byte>& bytes = put.bytes.at(source.key);
    const std::uint64_t offset = connection.part_offsets[n];
    LARDER_ASSERT(offset + source.length <= bytes.size());
    bool good = true;
    if (source.region == wire::PutSource::kStream) {
      std::memcpy(bytes.data() + offset, connection.payload.data() + at, source.length);
      at += source.length;
      good = checksum_of(bytes.data() + offset, source.length) ==
             connection.part_body.checksums(static_cast<int>(n));
    } else {
      good = read_source(connection, source, bytes.data() + offset);
    }
    if (!good) out.mutable_status()->set_code(static_cast<int>(absl::StatusCode::kDataLoss));
  }
  if (connection.page) connection.page->commit(connection.part_body.control_word(), id);
  reply(connection, FrameType::kPutPart, id, out);
}

void FakeServer::on_layer_end(Connection& connection, FrameReader::Frame& frame) {
  wire::PutEndRequest body;
  LARDER_ASSERT(parse_body(frame.body, body));
  const auto at = connection.layers.find(body.put());
  LARDER_ASSERT(at != connection.layers.end());
  LayerPut put = std::move(at->second);
  connection.layers.erase(at);
  const bool publish =
      !body.abort() &&
      (!connection.page || connection.page->commit(body.control_word(), frame.header.id));
  if (publish && faults.die_committed) {
    connection.over = true;
    return;
  }
  for (std::size_t n = 0; publish && n < put.keys.size(); ++n) {
    put.results[n] = result_of(store_block(put.ns, put.keys[n], std::move(put.bytes[n])));
  }
  reply(connection, FrameType::kPutEnd, frame.header.id, wire::PutReply(), bytes_of(put.results));
}

void FakeServer::on_keys(Connection& connection, FrameReader::Frame& frame) {
  wire::RemoveRequest body;  // `ns` is field 1 of all of them
  LARDER_ASSERT(parse_body(frame.body, body));
  if (frame.header.type == FrameType::kWait || frame.header.type == FrameType::kPin) {
    wire::PinRequest timed;  // the time is field 2 of both
    LARDER_ASSERT(parse_body(frame.body, timed));
    told_ms_ = timed.ttl_ms();
  }
  std::vector<wire::PutResult> results;
  for (const wire::KeyRecord& key : keys_in(frame.array)) {
    const std::lock_guard lock(blocks_mutex_);
    const FakeBlocks::Name name = FakeBlocks::name_of(body.ns(), key);
    const bool known = frame.header.type == FrameType::kRemove ? blocks_.erase(name)
                                                               : blocks_.find(name) != nullptr;
    results.push_back(result_of(known ? wire::KeyStatus::kOk : wire::KeyStatus::kMiss));
  }
  reply(connection, frame.header.type, frame.header.id, wire::SimpleReply(), bytes_of(results));
}

void FakeServer::on_release(FrameReader::Frame& frame, Connection& connection) {
  wire::ReleaseRequest body;
  LARDER_ASSERT(parse_body(frame.body, body));
  for (const std::uint64_t get : body.gets()) {
    const auto at = connection.leases.find(get);
    if (at == connection.leases.end()) continue;
    leases_.fetch_sub(at->second);
    connection.leases.erase(at);
  }
}

void FakeServer::on_cancel(Connection& connection, FrameReader::Frame& frame) {
  wire::CancelRequest body;
  LARDER_ASSERT(parse_body(frame.body, body));
  const auto put = connection.streams.find(body.id());
  if (put != connection.streams.end()) finish_stream(connection, body.id());
  const auto get = connection.leases.find(body.id());
  if (get != connection.leases.end()) {
    leases_.fetch_sub(get->second);
    connection.leases.erase(get);
  }
}

}  // namespace larder::sim
