// One connection of the fake server.

#pragma once

#include "tests/client/fake_server.h"

namespace larder::sim {

struct FakeServer::StreamPut {
  std::uint64_t ns = 0;
  std::vector<wire::KeyRecord> keys;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<wire::PutResult> results;
  std::size_t left = 0;  ///< keys that are still wanted
  std::uint64_t taken = 0;
  std::uint64_t acknowledged = 0;
};

struct FakeServer::LayerPut {
  std::uint64_t ns = 0;
  std::vector<wire::KeyRecord> keys;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<wire::PutResult> results;
};

struct FakeServer::Connection {
  explicit Connection(Fd socket) : fd(std::move(socket)) {}

  /// An shm put that was copied and waits for faults.hold_puts to end.
  struct HeldPut {
    std::uint64_t id = 0;
    std::uint32_t word = 0;
    std::uint64_t ns = 0;
    std::vector<wire::KeyRecord> keys;
    std::vector<std::vector<std::byte>> bytes;
    std::vector<wire::PutResult> results;
  };

  Fd fd;
  FrameReader reader;
  FrameWriter writer;
  std::optional<ControlPage> page;
  std::optional<AttachedProcess> peer;
  std::map<std::uint32_t, RegionMap> regions;
  std::map<std::uint64_t, StreamPut> streams;
  std::map<std::uint64_t, LayerPut> layers;
  std::map<std::uint64_t, int> leases;
  std::vector<HeldPut> held;
  std::vector<std::pair<Time, OutFrame>> delayed;
  bool slab_announced = false;
  bool muted = false;  ///< the frame under way came in silence: it is read, and nothing is done
  bool over = false;

  // The payload under way.
  FrameHeader payload_of;
  std::vector<std::byte> payload;
  wire::ChunkRecord chunk;
  std::vector<wire::PutSource> part_sources;
  std::vector<std::uint64_t> part_offsets;
  wire::PutPartRequest part_body;
  wire::PutRequest put_body;
  std::vector<wire::KeyRecord> put_keys;
};

}  // namespace larder::sim
