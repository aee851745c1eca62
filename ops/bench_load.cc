#include "ops/bench_load.h"

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <thread>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ops/bench_set.h"
#include "ops/bench_store.h"
#include "ops/clock.h"
#include "store/status_macros.h"
#include "transport/socket.h"

namespace larder {
namespace {

constexpr std::uint64_t kBlockBytes = 64 << 10;
constexpr std::uint32_t kBatch = 32;
constexpr Duration kPeriod = std::chrono::milliseconds(5);  // of a dummy's duty
constexpr char kFill = 'f';
constexpr char kPut = 'p';
constexpr char kBurn = 'b';
constexpr char kStop = 's';

struct Order {
  char what;
  double cores;
};
struct Answer {
  bool good;
  BenchLoad::Done done;
};

bool send_record(int fd, const auto& record) {
  return send(fd, &record, sizeof record, MSG_NOSIGNAL) == sizeof record;
}
bool receive_record(int fd, auto& record) {
  return recv(fd, &record, sizeof record, MSG_WAITALL) == sizeof record;
}
bool order_waits(int fd) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) != 0;
}

/// The child's side: what it does on each order.
class Loader {
 public:
  Loader(const BenchOptions& options, int fd) : options_(options), fd_(fd) {
    options_.operation = BenchOptions::Operation::kPut;
    options_.batch = kBatch;
    options_.depth = 1;
    options_.cold_bytes /= options_.load_clients;
    if (!options_.load_token.empty()) options_.connection.token = options_.load_token;
  }
  void serve();

 private:
  struct Putter {
    std::unique_ptr<Client> client;
    std::unique_ptr<BenchSet> set;
  };

  absl::Status connect_and_fill();
  absl::StatusOr<std::uint64_t> put_until_order();
  absl::StatusOr<std::uint64_t> put_on(Putter& putter) const;
  void burn_until_order(double cores);

  BenchOptions options_;
  int fd_;
  std::vector<Putter> putters_;
};

absl::Status Loader::connect_and_fill() {
  for (std::uint32_t n = 0; n < options_.load_clients; ++n) {
    Putter putter;
    LARDER_ASSIGN_OR_RETURN(putter.client, connect(options_.connection, options_.spin_us));
    LARDER_ASSIGN_OR_RETURN(putter.set, BenchSet::make(options_, *putter.client, kBlockBytes));
    putters_.push_back(std::move(putter));
  }
  return fill_store(*putters_[0].client, *putters_[0].set);
}

/// The order stays in the socket: every putter sees it there.
absl::StatusOr<std::uint64_t> Loader::put_on(Putter& putter) const {
  std::uint64_t bytes = 0;
  while (!order_waits(fd_)) {
    if (putter.set->at_start()) putter.set->rename();
    const BenchSet::Call call = putter.set->next_call();
    LARDER_RETURN_IF_ERROR(
        putter.set->check(putter.client->put(putter.set->ns(), call.keys, call.from, {})));
    bytes += putter.set->call_bytes();
  }
  return bytes;
}

absl::StatusOr<std::uint64_t> Loader::put_until_order() {
  std::vector<absl::StatusOr<std::uint64_t>> put(putters_.size(), std::uint64_t{0});
  {
    std::vector<std::jthread> threads;
    for (std::size_t n = 0; n < putters_.size(); ++n)
      threads.emplace_back([&, n] { put[n] = put_on(putters_[n]); });
  }
  std::uint64_t bytes = 0;
  for (const auto& one : put) {
    LARDER_RETURN_IF_ERROR(one.status());
    bytes += *one;
  }
  return bytes;
}

/// Threads that are busy for a part of each period.
void Loader::burn_until_order(double cores) {
  const int threads = std::max(1, static_cast<int>(std::ceil(cores)));
  const auto busy = std::chrono::duration_cast<Duration>(kPeriod * (cores / threads));
  std::atomic<bool> stop{false};
  std::vector<std::jthread> burners;
  for (int n = 0; n < threads; ++n) {
    burners.emplace_back([&stop, busy] {
      for (Time period = clock_now(); !stop; period += kPeriod) {
        while (clock_now() < period + busy) {
        }
        std::this_thread::sleep_until(period + kPeriod);
      }
    });
  }
  pollfd entry{.fd = fd_, .events = POLLIN, .revents = 0};
  poll(&entry, 1, -1);
  stop = true;
}

void Loader::serve() {
  Order order{};
  while (receive_record(fd_, order)) {
    const Duration before = cpu_time_of(getpid()).value_or(Duration(0));
    Answer answer{.good = true, .done = {}};
    if (order.what == kFill) {
      const absl::Status status = connect_and_fill();
      answer.good = status.ok();
      if (!status.ok()) fmt::print(stderr, "load: {}\n", std::string(status.message()));
    } else if (order.what == kPut) {
      const auto bytes = put_until_order();
      answer.good = bytes.ok();
      if (!bytes.ok()) fmt::print(stderr, "load: {}\n", std::string(bytes.status().message()));
      answer.done.bytes = bytes.value_or(0);
    } else {
      burn_until_order(order.cores);
    }
    const bool loads = order.what != kFill;
    if (loads && (!receive_record(fd_, order) || order.what != kStop)) break;
    const Duration after = cpu_time_of(getpid()).value_or(Duration(0));
    answer.done.cpu_ns = static_cast<std::uint64_t>((after - before).count());
    if (!send_record(fd_, answer)) break;
  }
  for (Putter& putter : putters_)
    (void)putter.set->remove_all();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BenchLoad>> BenchLoad::fork(const BenchOptions& options) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return errno_status(absl::StatusCode::kUnavailable, "socketpair", errno);
  }
  const pid_t pid = ::fork();
  if (pid < 0) return errno_status(absl::StatusCode::kUnavailable, "fork", errno);
  if (pid == 0) {
    close(fds[0]);
    Loader(options, fds[1]).serve();  // until this process closes its end
    _exit(0);
  }
  close(fds[1]);
  return std::unique_ptr<BenchLoad>(new BenchLoad(pid, fds[0]));
}

BenchLoad::~BenchLoad() {
  close(fd_);
  waitpid(pid_, nullptr, 0);
}

absl::Status BenchLoad::order(char what, double cores) {
  if (send_record(fd_, Order{.what = what, .cores = cores})) return absl::OkStatus();
  return absl::UnavailableError("the load's process has gone");
}

absl::StatusOr<BenchLoad::Done> BenchLoad::answer() {
  Answer answer{};
  if (receive_record(fd_, answer) && answer.good) return answer.done;
  return absl::UnavailableError("the load's process failed");
}

absl::Status BenchLoad::fill() {
  LARDER_RETURN_IF_ERROR(order(kFill));
  return answer().status();
}
absl::Status BenchLoad::start_puts() {
  return order(kPut);
}
absl::Status BenchLoad::start_dummy(double cores) {
  return order(kBurn, cores);
}
absl::StatusOr<BenchLoad::Done> BenchLoad::stop() {
  LARDER_RETURN_IF_ERROR(order(kStop));
  return answer();
}

absl::StatusOr<Duration> cpu_time_of(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return absl::UnavailableError(fmt::format("the CPU time of process {} cannot be read", pid));
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

absl::StatusOr<pid_t> server_pid(const ConnectionOptions& options) {
  std::string server = options.server;
  const char* const set = std::getenv("LARDER_SERVER");
  if (server.empty()) server = set != nullptr ? set : default_server();
  LARDER_ASSIGN_OR_RETURN(const Address address, parse_address(server));
  if (!address.is_unix()) {
    return absl::InvalidArgumentError("--under-load needs larderd's unix socket");
  }
  LARDER_ASSIGN_OR_RETURN(const Fd fd, connect_to(address, std::chrono::seconds(2)));
  LARDER_ASSIGN_OR_RETURN(const PeerCredentials peer, peer_credentials(fd.get()));
  return peer.pid;
}

}  // namespace larder
