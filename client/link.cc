#include "client/link.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "client/operation.h"
#include "store/limits.h"
#include "store/status_macros.h"
#include "transport/wire.pb.h"

namespace larder {
absl::Status Link::send(OutFrame frame) {
  queue_releases();
  if (writer_.push(std::move(frame))) return absl::OkStatus();
  return absl::ResourceExhaustedError("the connection's outgoing queue is full");
}

void Link::tell(FrameType type, const google::protobuf::MessageLite& body) {
  // A full queue means a daemon that does not read: the connection ends by its heartbeat.
  (void)writer_.push({.head = make_head({.type = type, .id = new_id(), .body = &body})});
}

void Link::tell_cancel(std::uint64_t id) {
  wire::CancelRequest body;
  body.set_id(id);
  tell(FrameType::kCancel, body);
}

void Link::queue_releases() {
  if (releases_.empty()) return;
  wire::ReleaseRequest body;
  for (const std::uint64_t id : releases_)
    body.add_gets(id);
  releases_.clear();
  tell(FrameType::kRelease, body);
}

void Link::ask_to_verify(NamespaceId ns, std::span<const wire::KeyRecord> keys) {
  wire::GetRequest body;
  body.set_ns(ns.value());
  body.set_verify(true);
  (void)writer_.push({.head = make_head({.type = FrameType::kGet,
                                         .id = new_id(),
                                         .body = &body,
                                         .array = std::as_bytes(keys)})});
}

std::shared_ptr<Operation> Link::call(std::uint64_t id) const {
  const auto at = calls_.find(id);
  return at == calls_.end() ? nullptr : at->second;
}

void Link::set_page(ControlPage page) {
  page_.emplace(std::move(page));
  for (std::uint32_t word = limits::kControlWords; word > 0; --word) {
    free_words_.push_back(word - 1);
  }
}

std::optional<std::uint32_t> Link::take_word() {
  if (free_words_.empty()) return std::nullopt;
  const std::uint32_t word = free_words_.back();
  free_words_.pop_back();
  return word;
}

void Link::give_back(const Held& held) {
  if (held.has_word) {
    page_->clear(held.word);
    free_words_.push_back(held.word);
  }
  if (held.staged_bytes > 0) shared_->staging.free(held.staged_offset, held.staged_bytes);
  if (held.own_region != 0) {
    wire::UnregisterRegionRequest body;
    body.set_region(held.own_region);
    asked_regions_.erase(held.own_region);
    tell(FrameType::kUnregisterRegion, body);
  }
}

void Link::on_own_reply(const FrameReader::Frame& frame) {
  for (auto& [number, asked] : asked_regions_) {
    if (asked.frame != frame.header.id || asked.answer) continue;
    wire::SimpleReply reply;
    asked.answer = parse_body(frame.body, reply)
                       ? absl::Status(static_cast<absl::StatusCode>(reply.status().code()),
                                      reply.status().message())
                       : absl::InternalError("a reply's body is malformed");
    region_answered_ = true;
  }
  const auto at = buried_.find(frame.header.id);
  if (at == buried_.end()) return;
  give_back(at->second);
  buried_.erase(at);
}

void Link::give_back_buried() {
  for (const auto& [id, held] : buried_) {
    if (held.staged_bytes > 0) shared_->staging.free(held.staged_offset, held.staged_bytes);
  }
  buried_.clear();
}

absl::StatusOr<bool> Link::map_region(const Region& region) {
  const auto at = asked_regions_.find(region.number);
  if (at != asked_regions_.end()) {
    const std::optional<absl::Status>& answer = at->second.answer;
    if (!answer) return false;
    if (answer->ok()) return true;
    return absl::Status(answer->code(),
                        fmt::format("larderd refused the staging memory of {} bytes: {}",
                                    region.size, std::string(answer->message())));
  }
  wire::RegisterRegionRequest body;
  body.set_region(region.number);
  body.set_bytes(region.size);
  const std::uint64_t id = new_id();
  // The put that needs the region may be over before the frame is sent.
  const auto memfd = std::make_shared<Fd>(fcntl(region.memfd.get(), F_DUPFD_CLOEXEC, 0));
  if (!memfd->valid()) return absl::ResourceExhaustedError("out of file descriptors");
  LARDER_RETURN_IF_ERROR(send(
      {.head = make_head({.type = FrameType::kRegisterRegion, .id = id, .fds = 1, .body = &body}),
       .fds = {memfd->get()},
       .keep = memfd}));
  asked_regions_[region.number].frame = id;
  return false;
}

void Link::forget_refusals() {
  absl::erase_if(asked_regions_, [](const auto& region) {
    return region.second.answer && !region.second.answer->ok();
  });
}

void Link::on_slab_notice(FrameReader::Frame& frame) {
  wire::SlabNotice notice;
  if (frame.fds.size() != 2 || !parse_body(frame.body, notice)) return;
  const SlabMap::Shape shape{.id = SlabId(notice.slab()),
                             .bytes = {notice.bytes()},
                             .slot_bytes = {notice.slot_bytes()},
                             .slots = notice.slots(),
                             .header_bytes = {notice.header_bytes()}};
  absl::StatusOr<SlabMap> map = SlabMap::map(shape, frame.fds[0], frame.fds[1]);
  // A slab that cannot be mapped makes its blocks misses.
  if (map.ok()) slabs_[notice.slab()] = std::make_shared<const SlabMap>(*std::move(map));
}

void Link::on_slab_retired(const FrameReader::Frame& frame) {
  wire::SlabRetired notice;
  if (parse_body(frame.body, notice)) slabs_.erase(notice.slab());
}

std::shared_ptr<const SlabMap> Link::slab(SlabId id) const {
  const auto at = slabs_.find(id.value());
  return at == slabs_.end() ? nullptr : at->second;
}

}  // namespace larder
