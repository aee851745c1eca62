#include "ops/bench_store.h"

#include "store/status_macros.h"

namespace larder {

absl::StatusOr<double> evictions_of(Client& client) {
  return figure_of(client, "evictions");
}

absl::Status fill_store(Client& client, BenchSet& set) {
  constexpr int kSetsMax = 4096;  // far more than any memory holds
  LARDER_ASSIGN_OR_RETURN(const double before, evictions_of(client));
  double now = before;
  for (int n = 0; n < kSetsMax && now == before; ++n) {
    set.rename();
    LARDER_RETURN_IF_ERROR(set.store_all());
    LARDER_ASSIGN_OR_RETURN(now, evictions_of(client));
  }
  if (now == before) return absl::UnavailableError("the store does not get full");
  set.rename();
  return set.store_all();
}

}  // namespace larder
