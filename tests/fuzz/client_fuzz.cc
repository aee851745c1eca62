// The client library against a server that means no good. The input's first bytes choose calls, the
// rest plays the server (hostile_server.h). Whatever comes: no crash, no call without its end, one
// completion for each submitted call, one answer for each key, no byte outside the caller's
// buffers.

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "client/client.h"
#include "store/assert.h"
#include "tests/fuzz/hostile_server.h"
#include "tests/fuzz/reached.h"
#include "tests/temp_dir.h"
#include "transport/socket.h"
#include "transport/wire_log.h"

namespace larder {
namespace {

constexpr std::size_t kCallsMax = 6;
constexpr NamespaceId kNamespace{7};
constexpr std::size_t kLarge = 300'000;  ///< beyond what is put inline, and one chunk
fuzz::Reached reached;

/// Of calls that are not waited for; they outlive the client.
using Buffers = std::vector<std::vector<std::vector<std::byte>>>;

class Run {
 public:
  Run(Client& client, Buffers& later) : client_(client), later_(later) {
    for (std::uint64_t n = 0; n < 2; ++n)
      keys_.push_back(flat_key("key-" + std::to_string(n), 0));
  }
  ~Run() {
    const auto done = client_.drain_completions();
    for (const Completion& one : done)
      LARDER_ASSERT(submitted_.erase(one.id) == 1);
  }

  void call(std::uint8_t what) {
    switch (what % 24) {
      case 0:
        return get({100, 5'000});
      case 1:
        return get({kLarge, 64});
      case 2:
        return put({100, 900});
      case 3:
        return put({kLarge, 5'000});
      case 4:
        return view();
      case 5:
        return match();
      case 6:
        return match_flat();
      case 7:
        return check(client_.wait(kNamespace, keys_, std::chrono::milliseconds(5)));
      case 8:
        return open_namespace();
      case 9:
        return request();
      case 10:
        return check(client_.touch(kNamespace, keys_));
      case 11:
        return check(client_.pin(kNamespace, keys_, std::chrono::seconds(1)));
      case 12:
        check(client_.unpin(kNamespace, keys_));
        return check(client_.remove(kNamespace, keys_));
      case 13:
        (void)client_.remove_prefix(kNamespace, chain_);
        return;
      case 14:
        (void)client_.list(kNamespace, 0, 10);
        return;
      case 15:
        (void)client_.server_stats();
        (void)client_.stats();
        return;
      case 16:
      case 17:
        return layer_put(what % 2 == 0);
      case 18:
        return region();
      case 19:
        (void)client_.namespaces(what % 2 == 0);
        return;
      case 20:
        (void)client_.set_mode(kNamespace, NamespaceMode::kShadow);
        (void)client_.purge({.writer = what});
        return;
      case 21:
        return own_region();
      default:
        return submit();
    }
  }

 private:
  void check(const Completion& done) const { LARDER_ASSERT(done.keys.size() == keys_.size()); }

  static std::vector<std::vector<std::byte>> memory(const std::vector<std::size_t>& lengths) {
    std::vector<std::vector<std::byte>> out;
    for (const std::size_t length : lengths)
      out.emplace_back(length);
    return out;
  }

  std::vector<Key> sized(const std::vector<std::size_t>& lengths) const {
    std::vector<Key> out = keys_;
    for (std::size_t n = 0; n < out.size(); ++n)
      out[n].length = static_cast<std::uint32_t>(lengths[n]);
    return out;
  }

  void get(const std::vector<std::size_t>& lengths) {
    auto bytes = memory(lengths);
    const std::vector<MutableBuffer> buffers = {{bytes[0].data(), bytes[0].size()},
                                                {bytes[1].data(), bytes[1].size()}};
    check(client_.get(kNamespace, sized(lengths), buffers, {.verify = lengths[0] != 100}));
  }

  void put(const std::vector<std::size_t>& lengths) {
    const auto bytes = memory(lengths);
    const std::vector<ConstBuffer> buffers = {{bytes[0].data(), bytes[0].size()},
                                              {bytes[1].data(), bytes[1].size()}};
    check(client_.put(kNamespace, sized(lengths), buffers, {}));
  }

  /// Looks at where it stands, not at its bytes: a server that cuts its files takes them away.
  void view() {
    auto views = client_.view(kNamespace, sized({100, 5'000}), {});
    if (!views.ok()) return;
    LARDER_ASSERT(views->size() == keys_.size());
    for (View& one : *views) {
      LARDER_ASSERT(one.bytes().empty() || one.status() == KeyStatus::kOk);
      View moved = std::move(one);
      one = View();
      one = std::move(moved);
      (void)one.release();
      LARDER_ASSERT(one.bytes().empty() && !one.release());
    }
  }

  void match() {
    const std::vector<std::span<const BlockHash>> chains = {chain_, chain_};
    const auto found = client_.match(kNamespace, chains, {.details = true});
    if (found.ok()) LARDER_ASSERT(found->size() == chains.size());
  }

  void match_flat() {
    const auto found = client_.match_flat(kNamespace, chain_);
    if (found.ok()) LARDER_ASSERT(found->size() == chain_.size());
  }

  void open_namespace() {
    NamespaceSpec spec;
    spec.fingerprint = {.model = "fuzz", .flat = true};
    spec.groups = {{.kind = GroupKind::kFull}};
    (void)client_.open_namespace(spec);
  }

  void layer_put(bool abort) {
    const auto put = client_.put_start(kNamespace, sized({100, kLarge}), {});
    if (!put.ok()) return;
    const auto bytes = memory({kLarge});
    const std::vector<Client::Part> parts = {
        {.key = 0, .offset = 0, .buffer = {bytes[0].data(), 100}},
        {.key = 1, .offset = 0, .buffer = {bytes[0].data(), kLarge}}};
    (void)client_.put_part(put->id, parts);
    if (abort) return client_.put_abort(put->id);
    check(client_.put_end(put->id));
  }

  void region() {
    const auto memory = client_.allocate_region(16'384);
    if (!memory.ok()) return;
    const std::vector<ConstBuffer> buffers = {{memory->data(), 100}, {memory->data() + 100, 900}};
    check(client_.put(kNamespace, sized({100, 900}), buffers, {}));
    (void)client_.unregister_region(*memory);
  }

  void own_region() {
    constexpr std::size_t kBytes = 16'384;
    const auto memfd = make_sealed_memfd("fuzz", Bytes{kBytes});
    LARDER_ASSERT(memfd.ok());
    void* mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd->get(), 0);
    LARDER_ASSERT(mapped != MAP_FAILED);
    const std::span<std::byte> memory(static_cast<std::byte*>(mapped), kBytes);
    if (client_.register_region(memfd->get(), memory).ok()) {
      const std::vector<ConstBuffer> buffers = {{memory.data(), 100}, {memory.data() + 100, 900}};
      check(client_.put(kNamespace, sized({100, 900}), buffers, {}));
    }
    (void)client_.unregister_region(memory);
    ::munmap(mapped, kBytes);
  }

  void request() {
    const std::uint64_t request = client_.begin_request(kNamespace, {.priority = 2});
    (void)client_.match_flat(kNamespace, chain_, {.request = request, .claim = true});
    (void)client_.end_request(request, 5);
  }

  void submit() {
    // Kept until the client's end: it may still receive into them after the run's.
    later_.push_back(memory({100, 5'000}));
    auto& bytes = later_.back();
    const std::vector<std::vector<MutableBuffer>> into = {{{bytes[0].data(), 100}},
                                                          {{bytes[1].data(), 5'000}}};
    const std::vector<std::vector<ConstBuffer>> from = {{{bytes[0].data(), 100}},
                                                        {{bytes[1].data(), 5'000}}};
    const auto keys = sized({100, 5'000});
    submitted_.insert(client_.submit_get(kNamespace, keys, into, {}));
    const std::uint64_t put = client_.submit_put(kNamespace, keys, from, {});
    submitted_.insert(put);
    client_.cancel(put);
    for (const Completion& one : client_.drain_completions()) {
      check(one);
      LARDER_ASSERT(submitted_.erase(one.id) == 1);
    }
  }

  Client& client_;
  std::vector<Key> keys_;
  const std::vector<BlockHash> chain_ = {{1, 1}, {2, 2}, {3, 3}};
  Buffers& later_;
  std::set<std::uint64_t> submitted_;
};

const std::string& socket_path() {
  static const test::TempDir dir(test::kShm);
  static const std::string path = dir.path() + "/s";
  return path;
}

int listener() {
  static const Fd one = [] {
    auto made = listen_on({.path = socket_path()});
    LARDER_ASSERT(made.ok());
    return *std::move(made);
  }();
  return one.get();
}

void run(const std::vector<std::uint8_t>& calls, const std::vector<std::uint8_t>& server) {
  const std::uint8_t how = calls[0];
  // The client before may have connected again when its server had gone.
  while (accept_from(listener())->has_value()) {
  }
  fuzz::HostileServer hostile(listener(), server);
  Buffers later;
  auto client = Client::connect(
      {.server = socket_path(),
       .transport = how % 3 == 0 ? Client::Transport::kTcp : Client::Transport::kAuto,
       .deadline = std::chrono::milliseconds(200),
       .connect_deadline = std::chrono::milliseconds(200),
       .spin = Duration(0),
       .verify = how % 2 == 0,
       .allow_attach = how % 5 == 0});
  if (!client.ok()) return;
  reached.past();
  Run run(**client, later);
  for (std::size_t n = 1; n < calls.size() && !hostile.gone(); ++n)
    run.call(calls[n]);
}

}  // namespace
}  // namespace larder

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  larder::silence_wire_log();
  larder::reached.input();
  if (size < 2) return 0;
  const std::size_t calls = std::min(1 + larder::kCallsMax, size);
  larder::run({data, data + calls}, {data + calls, data + size});
  return 0;
}
