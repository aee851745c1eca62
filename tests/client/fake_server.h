// A small larderd for tests of the client: the protocol from a std::map, in a thread of the test,
// with fault knobs. What it cannot do: evict, account, be fast.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "store/namespace_spec.h"
#include "store/slot_header.h"
#include "tests/client/fake_blocks.h"
#include "transport/attach.h"
#include "transport/control_page.h"
#include "transport/frame_reader.h"
#include "transport/frame_writer.h"
#include "transport/region_map.h"
#include "transport/wire.pb.h"

namespace larder::sim {

/// What goes wrong; settable at any time from the test's thread.
struct Faults {
  std::atomic<bool> silent{false};    ///< reads, but does nothing with what it reads
  std::atomic<bool> frozen{false};    ///< neither reads nor writes
  std::atomic<int> delay_ms{0};       ///< before each reply
  std::atomic<int> delay_on{0};       ///< FrameType whose replies are delayed; 0: all
  std::atomic<bool> progress{false};  ///< Progress frames until a delayed reply comes
  std::atomic<int> error_code{0};     ///< of every reply but Hello's
  std::atomic<bool> refuse_regions{false};
  std::atomic<int> drop_on{0};        ///< FrameType at which the connection is closed
  std::atomic<bool> truncate{false};  ///< the next reply is cut and the connection closed
  std::atomic<bool> wrong_checksum{false};
  std::atomic<bool> stale{false};      ///< generations are raised behind each get reply
  std::atomic<bool> hold_puts{false};  ///< shm puts are copied, then neither committed nor answered
  std::atomic<bool> lose_put_reply{false};  ///< shm puts are committed and not answered
  std::atomic<bool> die_committed{false};   ///< dies behind the word of an shm put: nothing stored
  std::atomic<int> chunks{-1};              ///< GetData frames until it stops sending; -1: all
  std::atomic<bool> no_acks{false};         ///< streamed puts are wanted, taken, never acknowledged
  std::atomic<bool> garbage{false};         ///< the next reply is no frame
};

class FakeServer {
 public:
  struct Options {
    bool tcp = false;
    bool shm = true;
    bool attach = false;
    std::string token = {};
    std::uint32_t heartbeat_ms = 3000;
    std::uint32_t lease_ms = 10'000;
  };

  explicit FakeServer(Options options);
  FakeServer() : FakeServer(Options{}) {}
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::string address() const { return address_; }
  /// Closes the listener and every connection / listens again at the same address, blocks kept.
  void stop();
  void start();

  /// Frames of a type seen so far, over all connections.
  int seen(FrameType type) const { return seen_[static_cast<std::size_t>(type)].load(); }
  int connections() const { return accepted_.load(); }
  /// The time that the last wait, pin, put or layer-by-layer put asked for.
  std::uint32_t told_ms() const { return told_ms_.load(); }
  int leases() const { return leases_.load(); }
  bool has(const wire::KeyRecord& key);
  std::size_t blocks();

  Faults faults;

 private:
  struct Connection;
  struct StreamPut;
  struct LayerPut;

  void loop();
  void serve(Connection& connection);
  void on_frame(Connection& connection);
  void dispatch(Connection& connection, FrameReader::Frame& frame);
  void on_hello(Connection& connection, FrameReader::Frame& frame);
  void on_open(Connection& connection, FrameReader::Frame& frame);
  void on_region(Connection& connection, FrameReader::Frame& frame);
  void on_match(Connection& connection, FrameReader::Frame& frame);
  void on_get(Connection& connection, FrameReader::Frame& frame);
  void on_put(Connection& connection, FrameReader::Frame& frame);
  void on_put_shm(Connection& connection, FrameReader::Frame& frame, const wire::PutRequest& body);
  void take_inline(Connection& connection);
  void on_put_data(Connection& connection, FrameReader::Frame& frame);
  void take_chunk(Connection& connection);
  void finish_stream(Connection& connection, std::uint64_t id);
  void on_layer(Connection& connection, FrameReader::Frame& frame);
  void on_layer_part(Connection& connection, FrameReader::Frame& frame);
  void take_part(Connection& connection);
  void on_layer_end(Connection& connection, FrameReader::Frame& frame);
  void on_keys(Connection& connection, FrameReader::Frame& frame);
  void on_release(FrameReader::Frame& frame, Connection& connection);
  void on_cancel(Connection& connection, FrameReader::Frame& frame);
  void finish_held(Connection& connection);
  wire::KeyStatus store_block(std::uint64_t ns, const wire::KeyRecord& key,
                              std::vector<std::byte> bytes);
  bool read_source(Connection& connection, const wire::PutSource& source, std::byte* to);
  void send_chunks(Connection& connection, std::uint64_t id,
                   const std::vector<std::shared_ptr<const FakeBlock>>& hits);
  void reply(Connection& connection, FrameType type, std::uint64_t id,
             const google::protobuf::MessageLite& body, std::span<const std::byte> array = {});
  void push(Connection& connection, OutFrame frame, int delay_ms);
  void push(Connection& connection, OutFrame frame) {
    push(connection, std::move(frame), faults.delay_on == 0 ? faults.delay_ms.load() : 0);
  }

  Options options_;
  std::string address_;
  Fd listener_;
  Fd wake_;
  std::atomic<bool> running_{false};
  std::thread thread_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::mutex blocks_mutex_;
  FakeBlocks blocks_;
  std::map<std::uint64_t, NamespaceSpec> namespaces_;
  std::atomic<int> seen_[256] = {};
  std::atomic<int> accepted_{0};
  std::atomic<int> leases_{0};
  std::atomic<std::uint32_t> told_ms_{0};
  std::uint64_t next_namespace_ = 100;
};

}  // namespace larder::sim
