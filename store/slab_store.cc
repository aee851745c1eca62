#include "store/slab_store.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "absl/container/flat_hash_set.h"
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/assert.h"
#include "store/status_macros.h"

namespace larder {

namespace {

/// Ids handed out before the file that remembers the next one is written again.
constexpr std::uint32_t kIdsAhead = 1024;
// There is room for all that is added to an id without a look.
static_assert(limits::kSlabIdMax < 0xffffffff - kIdsAhead - limits::kSlabsMax / 2);

std::string next_id_path(const std::string& dir) {
  return dir + "/slab-next-id";
}

/// The number in `slab-<number><suffix>`, as this program writes it: other names are not ours.
std::optional<std::uint32_t> id_in(std::string_view name, std::string_view suffix) {
  constexpr std::string_view kPrefix = "slab-";
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix)) return {};
  if (name.size() <= kPrefix.size() + suffix.size()) return {};
  const char* begin = name.data() + kPrefix.size();
  const char* end = name.data() + name.size() - suffix.size();
  std::uint32_t id = 0;
  const auto [stop, error] = std::from_chars(begin, end, id);
  if (error != std::errc() || stop != end || *begin == '0' || id > limits::kSlabIdMax) return {};
  return id;
}

struct Listing {
  std::vector<SlabId> headers;
  std::vector<SlabId> data;
  std::vector<std::string> leftovers;  ///< unfinished, or set aside by a former start
  std::uint32_t id_max = 0;
};

absl::StatusOr<Listing> list(const std::string& dir) {
  Listing listing;
  std::error_code error;
  for (std::filesystem::directory_iterator it(dir, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    for (const char* suffix : {".hdr", ".data", ".hdr.tmp", ".hdr.bad", ".data.bad"}) {
      const auto id = id_in(name, suffix);
      if (!id) continue;
      listing.id_max = std::max(listing.id_max, *id);
      if (std::string_view(suffix) == ".hdr") {
        listing.headers.emplace_back(*id);
      } else if (std::string_view(suffix) == ".data") {
        listing.data.emplace_back(*id);
      } else {
        listing.leftovers.push_back(it->path().string());
      }
    }
  }
  if (error) return absl::ErrnoToStatus(error.value(), fmt::format("{}: list", dir));
  std::sort(listing.headers.begin(), listing.headers.end());
  return listing;
}

/// Two directories were merged: one daemon makes no two slabs of one remainder.
absl::Status another_of_this_place(SlabId id) {
  return absl::DataLossError(fmt::format(
      "slab-{}: a slab whose id differs by a multiple of {} is there, so this is another daemon's",
      id.value(), limits::kSlabsMax));
}

}  // namespace

SlabStore::SlabStore(std::string dir, Bytes capacity, const TenantBudgets* tenants)
    : dir_(std::move(dir)),
      tenants_(tenants),
      capacity_(capacity.count),
      by_id_(std::make_unique<std::atomic<Slab*>[]>(limits::kSlabsMax)) {}

SlabStore::~SlabStore() = default;

// -- start ---------------------------------------------------------------------------------------

absl::StatusOr<SlabStore::OpenReport> SlabStore::open(
    absl::FunctionRef<TenantId(const std::string&)> tenant_of) {
  LARDER_ASSIGN_OR_RETURN(Listing listing, list(dir_));
  OpenReport report;
  std::vector<std::unique_ptr<Slab>> found;
  std::vector<std::pair<SlabId, absl::Status>> damaged;
  absl::flat_hash_set<std::uint32_t> places;  // find() keeps one slab a remainder
  for (const SlabId id : listing.headers) {
    auto slab = Slab::open(dir_, id);
    if (slab.ok() && !places.insert(id.value() % limits::kSlabsMax).second) {
      damaged.emplace_back(id, another_of_this_place(id));
    } else if (slab.ok()) {
      found.push_back(*std::move(slab));
    } else if (absl::IsDataLoss(slab.status())) {
      damaged.emplace_back(id, slab.status());
    } else {
      return slab.status();
    }
  }
  MutexLock lock(&mutex_);
  LARDER_RETURN_IF_ERROR(read_next_id(listing.id_max));
  for (const std::string& path : listing.leftovers)
    ::unlink(path.c_str());
  for (const auto& [id, why] : damaged)
    set_aside(id, why, report);
  for (const SlabId id : listing.data) {
    // Without a header file it was being made, or was nearly gone: no block stands in it.
    const bool whole = std::binary_search(listing.headers.begin(), listing.headers.end(), id);
    if (!whole) ::unlink(Slab::data_path(dir_, id).c_str());
  }
  for (auto& slab : found) {
    slab->set_tenant(tenant_of(slab->tenant_name()));
    put_into_service(std::move(slab));
    report.slabs += 1;
  }
  return report;
}

void SlabStore::set_aside(SlabId id, const absl::Status& why, OpenReport& report) {
  for (const std::string& path : {Slab::header_path(dir_, id), Slab::data_path(dir_, id)}) {
    std::rename(path.c_str(), (path + ".bad").c_str());  // the data file may be the missing part
  }
  report.slabs_set_aside += 1;
  report.messages.push_back(fmt::format("{}; set aside as .bad", std::string(why.message())));
}

absl::Status SlabStore::read_next_id(std::uint32_t seen_max) {
  next_id_ = seen_max + 1;
  const std::string path = next_id_path(dir_);
  // A pipe by that name must not stop the start, and nobody's link is followed.
  if (const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
      fd >= 0) {
    char text[16] = {};
    // Damaged, it may say anything: then the ids that are seen decide.
    std::uint32_t stored = 0;
    if (::read(fd, text, sizeof text - 1) > 0 && std::sscanf(text, "%u", &stored) == 1 &&
        stored <= limits::kSlabIdMax) {
      next_id_ = std::max(next_id_, stored);
    }
    ::close(fd);
  }
  return write_next_id(next_id_ + kIdsAhead);
}

absl::Status SlabStore::write_next_id(std::uint32_t next) {
  const std::string path = next_id_path(dir_);
  const std::string temporary = path + ".tmp";
  // Whatever stands there, a link to a slab for one, is not written into.
  ::unlink(temporary.c_str());
  std::FILE* file = std::fopen(temporary.c_str(), "wxe");
  if (file == nullptr) return absl::ErrnoToStatus(errno, fmt::format("{}: create", temporary));
  const bool written = std::fprintf(file, "%u\n", next) > 0;
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("{}: write", path));
  }
  written_next_id_ = next;
  return absl::OkStatus();
}

// -- growing and shrinking -----------------------------------------------------------------------

std::optional<Bytes> SlabStore::quota_of(TenantId tenant) const {
  return tenants_ == nullptr ? std::nullopt : tenants_->quota(tenant);
}

std::uint32_t SlabStore::slots_per_slab(TenantId tenant, Bytes slot_bytes) const {
  std::uint64_t share = capacity_.load(std::memory_order_relaxed) / limits::kSlabsPerCapacity;
  if (const auto quota = quota_of(tenant)) {
    share = std::min(share, quota->count / limits::kSlabsPerQuota);
  }
  std::uint64_t wanted = (share + slot_bytes.count - 1) / slot_bytes.count;
  // Whole pages: what would be left of the last one holds slots, too.
  const std::uint64_t length = round_up_to_page(wanted * slot_bytes.count);
  wanted = std::max(wanted, length / slot_bytes.count);
  const std::uint64_t fitting = limits::kSlabBytesMax.count / slot_bytes.count;
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::min(wanted, fitting)));
}

Bytes SlabStore::slab_bytes(TenantId tenant, Bytes slot_bytes) const {
  return slot_bytes * slots_per_slab(tenant, slot_bytes);
}

bool SlabStore::may_grow(TenantId tenant, Bytes slot_bytes, Bytes given_up) const {
  const std::uint64_t capacity = capacity_.load(std::memory_order_relaxed);
  if (slot_bytes.count > capacity) return false;
  if (total_bytes() + slab_bytes(tenant, slot_bytes) > max()) return false;
  MutexLock lock(&mutex_);
  if (slabs_.size() >= limits::kSlabsMax) return false;
  if (!quota_allows(tenant, slot_bytes, given_up)) return false;
  // One slab of every other pool may stand beyond capacity, and one of this pool as it grows.
  const Bytes others = one_slab_each(PoolName{tenant, slot_bytes}).sum;
  const std::uint64_t beyond = std::min(others.count, capacity / limits::kBeyondShare);
  const std::uint64_t total = total_bytes().count;
  const std::uint64_t counted = total - std::min(total, beyond);
  // Small slots get a reserve: free slots remain while all of capacity is committed.
  return counted < capacity || (counted == capacity && slot_bytes <= limits::kReserveSlotMax);
}

SlabStore::TenantSlabs SlabStore::slabs_of(TenantId tenant, Bytes slot_bytes) const {
  TenantSlabs all;
  for (auto at = pool_slabs_.lower_bound({tenant, Bytes{0}});
       at != pool_slabs_.end() && at->first.first == tenant; ++at) {
    all.bytes = all.bytes + at->second.bytes;
    const Bytes other = at->first.second;
    if (other != slot_bytes) all.beyond = all.beyond + slab_bytes(tenant, other);
  }
  return all;
}

/// As may_grow() for the node. But a client chooses slot sizes: what they may take beyond the quota
/// has a bound.
bool SlabStore::quota_allows(TenantId tenant, Bytes slot_bytes, Bytes given_up) const {
  const std::optional<Bytes> quota = quota_of(tenant);
  if (!quota) return true;
  if (slot_bytes > *quota) return false;
  if (slab_bytes(tenant, slot_bytes) <= given_up) return true;
  const TenantSlabs slabs = slabs_of(tenant, slot_bytes);
  const Bytes beyond = std::min({slabs.bytes, slabs.beyond, Bytes{quota->count / 2}});
  const Bytes counted = slabs.bytes - beyond;
  return counted < *quota || (counted == *quota && slot_bytes <= limits::kReserveSlotMax);
}

bool SlabStore::below_quota(TenantId tenant) const {
  const std::optional<Bytes> quota = quota_of(tenant);
  if (!quota) return true;
  MutexLock lock(&mutex_);
  return slabs_of(tenant, Bytes{0}).bytes < *quota;
}

SlabStore::OneEach SlabStore::one_slab_each(const std::optional<PoolName>& but) const {
  OneEach all;
  for (const auto& [name, slabs] : pool_slabs_) {
    if (name == but) continue;
    const Bytes one = slab_bytes(name.first, name.second);
    all.sum = all.sum + one;
    all.largest = std::max(all.largest, one);
  }
  return all;
}

Bytes SlabStore::beyond_capacity() const {
  MutexLock lock(&mutex_);
  const std::uint64_t capacity = capacity_.load(std::memory_order_relaxed);
  return std::min(one_slab_each().sum, Bytes{capacity / limits::kBeyondShare});
}

Bytes SlabStore::excess() const {
  MutexLock lock(&mutex_);
  const Bytes capacity{capacity_.load(std::memory_order_relaxed)};
  const OneEach each = one_slab_each();
  const Bytes beyond =
      std::min(each.sum * 2, Bytes{capacity.count / limits::kBeyondShare} + each.largest);
  const Bytes allowed = std::min(capacity + beyond, max());
  const Bytes total = total_bytes();
  return total - std::min(total, allowed);
}

absl::StatusOr<Bytes> SlabStore::free_space() const {
  struct statvfs space {};
  if (::statvfs(dir_.c_str(), &space) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("{}: statvfs", dir_));
  }
  return Bytes{std::uint64_t{space.f_bavail} * space.f_frsize};
}

absl::StatusOr<SlabId> SlabStore::take_id() {
  if (slabs_.size() + retired_.size() >= limits::kSlabsMax) {
    return absl::ResourceExhaustedError(fmt::format("more than {} slabs", limits::kSlabsMax));
  }
  // find() keeps one slab a remainder.
  while (by_id_[next_id_ % limits::kSlabsMax].load(std::memory_order_relaxed) != nullptr) {
    next_id_ += 1;
  }
  if (next_id_ > limits::kSlabIdMax) {
    return absl::ResourceExhaustedError(fmt::format(
        "{}: all slab ids are used up; stop larderd and remove the slab-* files (the cache is "
        "empty then)",
        dir_));
  }
  if (next_id_ >= written_next_id_) {
    LARDER_RETURN_IF_ERROR(write_next_id(next_id_ + kIdsAhead));
  }
  return SlabId(next_id_++);
}

void SlabStore::put_into_service(std::unique_ptr<Slab> slab) {
  Slab* raw = slab.get();
  std::atomic<Slab*>& place = by_id_[raw->id().value() % limits::kSlabsMax];
  LARDER_ASSERT(place.load(std::memory_order_relaxed) == nullptr);
  PoolSlabs& pool = pool_slabs_[{raw->tenant(), raw->slot_bytes()}];
  pool.count += 1;
  pool.bytes = pool.bytes + raw->bytes();
  total_bytes_.fetch_add(raw->bytes().count, std::memory_order_relaxed);
  slabs_.emplace(raw->id(), std::move(slab));
  place.store(raw, std::memory_order_release);
}

absl::StatusOr<Slab*> SlabStore::create(TenantId tenant, const std::string& tenant_name,
                                        Bytes slot_bytes) {
  LARDER_ASSERT(slot_bytes.count > 0);
  SlabId id;
  {
    MutexLock lock(&mutex_);
    LARDER_ASSIGN_OR_RETURN(id, take_id());
  }
  // Allocation takes milliseconds: outside the lock.
  LARDER_ASSIGN_OR_RETURN(std::unique_ptr<Slab> slab,
                          Slab::make(dir_, {.id = id,
                                            .tenant = tenant,
                                            .tenant_name = tenant_name,
                                            .slot_bytes = slot_bytes,
                                            .slots = slots_per_slab(tenant, slot_bytes)}));
  Slab* raw = slab.get();
  MutexLock lock(&mutex_);
  put_into_service(std::move(slab));
  return raw;
}

absl::Status SlabStore::retire(SlabId id) {
  const Slab* retired = nullptr;
  {
    MutexLock lock(&mutex_);
    auto node = slabs_.extract(id);
    if (node.empty()) return absl::NotFoundError(fmt::format("no slab {} in service", id.value()));
    Slab& slab = *node.mapped();
    slab.raise_generations();
    by_id_[id.value() % limits::kSlabsMax].store(nullptr, std::memory_order_release);
    total_bytes_.fetch_sub(slab.bytes().count, std::memory_order_relaxed);
    const auto pool = pool_slabs_.find({slab.tenant(), slab.slot_bytes()});
    pool->second.bytes = pool->second.bytes - slab.bytes();
    if (--pool->second.count == 0) pool_slabs_.erase(pool);
    retired = &slab;
    retired_.insert(std::move(node));
  }
  // Files outside the lock, which shards and io threads take for a look.
  // The header file first: a data file alone is garbage at the next start.
  ::unlink(Slab::header_path(dir_, id).c_str());
  ::unlink(Slab::data_path(dir_, id).c_str());
  return retired->punch();
}

void SlabStore::release_retired(SlabId id) {
  std::map<SlabId, std::unique_ptr<Slab>>::node_type node;
  {
    MutexLock lock(&mutex_);
    node = retired_.extract(id);
  }
}

absl::StatusOr<SlabFds> SlabStore::open_read_only(SlabId id) const {
  MutexLock lock(&mutex_);
  if (!slabs_.contains(id)) {
    return absl::NotFoundError(fmt::format("no slab {} in service", id.value()));
  }
  SlabFds fds;
  const std::string data = Slab::data_path(dir_, id);
  fds.data = ::open(data.c_str(), O_RDONLY | O_CLOEXEC);
  if (fds.data < 0) return absl::ErrnoToStatus(errno, fmt::format("{}: open", data));
  const std::string headers = Slab::header_path(dir_, id);
  fds.headers = ::open(headers.c_str(), O_RDONLY | O_CLOEXEC);
  if (fds.headers >= 0) return fds;
  const int error = errno;
  ::close(fds.data);
  return absl::ErrnoToStatus(error, fmt::format("{}: open", headers));
}

std::vector<SlabId> SlabStore::slab_ids() const {
  MutexLock lock(&mutex_);
  std::vector<SlabId> ids;
  for (const auto& [id, slab] : slabs_)
    ids.push_back(id);
  return ids;
}

Bytes SlabStore::retired_bytes() const {
  MutexLock lock(&mutex_);
  Bytes sum;
  for (const auto& [id, slab] : retired_)
    sum = sum + slab->bytes();
  return sum;
}

}  // namespace larder
