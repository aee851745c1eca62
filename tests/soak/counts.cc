#include "tests/soak/counts.h"

#include <numeric>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/assert.h"

namespace larder::soak {

Counts::Counts(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  LARDER_ASSERT(fd >= 0);
  LARDER_ASSERT(::ftruncate(fd, sizeof(Shared)) == 0);
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  LARDER_ASSERT(memory != MAP_FAILED);
  ::close(fd);
  shared_ = static_cast<Shared*>(memory);  // zeros, as the file is
}

Counts::~Counts() {
  ::munmap(shared_, sizeof(Shared));
}

std::uint64_t Counts::total() const {
  return std::accumulate(shared_->counts.begin(), shared_->counts.end(), std::uint64_t{0});
}

}  // namespace larder::soak
