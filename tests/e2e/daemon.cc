#include "tests/e2e/daemon.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/eventually.h"

namespace larder::sim {

using std::chrono::milliseconds;

namespace {

/// A port that nobody listens on, below those that the kernel gives to connections: there one could
/// be taken before larderd listens on it.
std::uint16_t free_port() {
  // Tests run side by side, with process numbers in a row: each has a stretch of its own.
  constexpr std::uint32_t kStretch = 64;
  static std::uint32_t next = static_cast<std::uint32_t>(::getpid()) * kStretch;
  for (int tried = 0; tried < 1000; ++tried) {
    constexpr std::uint32_t kFirst = 20'000;
    constexpr std::uint32_t kPorts = 12'000;
    const auto port = static_cast<std::uint16_t>(kFirst + next++ % kPorts);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::close(fd);
    if (bound == 0) return port;
  }
  BOOST_FAIL("no free port");
  return 0;
}

/// Looked at before main(): in a mount namespace of its own the link may name no place.
const std::filesystem::path kBuilt = std::filesystem::read_symlink("/proc/self/exe").parent_path();

int decode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool wait_for(pid_t pid, Duration within, int& status) {
  const auto end = std::chrono::steady_clock::now() + within;
  int raw = 0;
  for (;;) {
    if (::waitpid(pid, &raw, WNOHANG) == pid) {
      status = decode(raw);
      return true;
    }
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

pid_t spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            const std::string& output_file, const std::vector<ResourceLimit>& limits) {
  std::vector<char*> argv;
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, 1);
  ::dup2(out, 2);
  for (const ResourceLimit& one : limits) {
    const rlimit limit{one.most, one.most};
    if (::setrlimit(static_cast<__rlimit_resource>(one.resource), &limit) != 0) ::_exit(126);
  }
  for (const std::string& one : environment)
    ::putenv(const_cast<char*>(one.c_str()));
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

std::string built(const std::string& program) {
  return kBuilt / program;
}

Daemon::Daemon(Options options) : options_(std::move(options)) {
  port_ = free_port();
  http_port_ = free_port();
  start();
}

Daemon::~Daemon() {
  if (pid_ > 0 && wait_exit(milliseconds(0))) {
    BOOST_ERROR("larderd ended by itself, status " << status_ << ": " << log());
  }
  if (pid_ > 0) kill();
}

void Daemon::start() {
  if (!try_start()) BOOST_FAIL("larderd does not answer: " << log());
}

bool Daemon::try_start() {
  launch();
  return answers();
}

void Daemon::launch() {
  std::vector<std::string> command = {
      built(options_.program.empty() ? "larderd" : options_.program),
      "--runtime-dir",
      runtime_dir(),
      "--socket",
      socket(),
      "--listen",
      tcp(),
      "--http",
      fmt::format("127.0.0.1:{}", http_port_),
      "--shards",
      std::to_string(options_.shards)};
  if (options_.host_bytes.count > 0) {
    command.insert(command.end(), {"--host-bytes", std::to_string(options_.host_bytes.count)});
  }
  command.insert(command.end(), options_.flags.begin(), options_.flags.end());
  std::filesystem::remove(dir_.path() + "/log");
  pid_ = spawn(command, options_.environment, dir_.path() + "/log", options_.limits);
  BOOST_REQUIRE(pid_ > 0);
}

void Daemon::await() {
  if (!answers()) BOOST_FAIL("larderd does not answer: " << log());
}

bool Daemon::answers() {
  Client::Options probe;
  probe.server = socket();
  probe.connect_deadline = milliseconds(500);
  for (int n = 0; n < 1000; ++n) {
    if (Client::connect(probe).ok()) return true;
    if (wait_exit(milliseconds(10))) return false;
  }
  return false;
}

void Daemon::kill() {
  ::kill(pid_, SIGKILL);
  BOOST_TEST(wait_exit(std::chrono::seconds(10)));
}

int Daemon::terminate() {
  ::kill(pid_, SIGTERM);
  BOOST_TEST(wait_exit(std::chrono::seconds(20)));
  return status_;
}

void Daemon::freeze() {
  ::kill(pid_, SIGSTOP);
  for (int n = 0; n < 1000; ++n) {
    const std::string stat = read_file(fmt::format("/proc/{}/stat", pid_));
    if (stat.find(") T ") != std::string::npos) return;
    std::this_thread::sleep_for(milliseconds(1));
  }
  BOOST_FAIL("the daemon does not stop");
}

void Daemon::reload(const std::string& awaited) {
  const std::size_t before = logged(awaited);
  ::kill(pid_, SIGHUP);
  BOOST_TEST(test::eventually([&] { return logged(awaited) > before; }), "not logged: " << awaited);
}

void Daemon::thaw() {
  ::kill(pid_, SIGCONT);
}

bool Daemon::wait_exit(Duration within) {
  if (pid_ <= 0) return true;
  if (!wait_for(pid_, within, status_)) return false;
  pid_ = 0;
  return true;
}

std::string Daemon::tcp() const {
  if (!options_.listen.empty()) return options_.listen;
  return fmt::format("127.0.0.1:{}", port_);
}
std::string Daemon::log() const {
  return read_file(dir_.path() + "/log");
}

std::size_t Daemon::logged(const std::string& what) const {
  const std::string text = log();
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    found += 1;
  return found;
}

std::unique_ptr<Client> Daemon::connect(Client::Options options) const {
  auto client = Client::connect(std::move(options));
  BOOST_REQUIRE_MESSAGE(client.ok(), client.status().message());
  return *std::move(client);
}

std::unique_ptr<Client> Daemon::shm(Duration deadline) const {
  Client::Options options;
  options.server = socket();
  options.transport = Client::Transport::kShm;
  options.deadline = deadline;
  return connect(std::move(options));
}

std::unique_ptr<Client> Daemon::tcp_client(Duration deadline) const {
  Client::Options options;
  options.server = tcp();
  options.deadline = deadline;
  return connect(std::move(options));
}

double Daemon::stat(const std::string& name) const {
  const auto client = shm();
  const auto stats = client->server_stats();
  BOOST_REQUIRE(stats.ok());
  for (const auto& [key, value] : stats->values) {
    if (key == name) return value;
  }
  BOOST_FAIL("no figure named " << name);
  return 0;
}

Finished run_program(const std::vector<std::string>& command, Duration within) {
  const test::TempDir dir;
  const std::string name = dir.file("output", "");
  Finished finished;
  const pid_t pid = spawn(command, {}, name);
  if (!wait_for(pid, within, finished.status)) {
    ::kill(pid, SIGKILL);
    wait_for(pid, std::chrono::seconds(5), finished.status);
    finished.status = 124;
  }
  finished.output = read_file(name);
  return finished;
}

}  // namespace larder::sim
