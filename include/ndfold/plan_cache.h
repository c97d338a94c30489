// PlanCache: requests to plans, least recently used out first, each plan built once.
#pragma once
#include <ndfold/plan.h>

#include <memory>

namespace ndfold {

struct PlanCacheStats {
  std::size_t entries = 0;
  std::size_t capacity = 0;  ///< 0: nothing is kept
  std::size_t bytes = 0;     ///< approximate, of the plans held
  std::uint64_t hits = 0;    ///< a plan was there, or another thread was building it
  std::uint64_t misses = 0;  ///< a plan was built
  std::uint64_t evictions = 0;
};

/// Keys compare by value and hold everything that changes a schedule: shapes, strides, types, alignment, operation,
/// device and options. Thread-safe; a plan in use survives its eviction; refusals are not kept.
class PlanCache {
 public:
  explicit PlanCache(std::size_t capacity);
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  Result<ReducePlan> reduce(const ViewDesc& in, const ViewDesc& out, const ReduceSpec& spec,
                            const PlanOptions& options = {});
  Result<ReducePlan> softmax(const ViewDesc& in, const ViewDesc& out, const SoftmaxSpec& spec,
                             const PlanOptions& options = {});
  Result<ReducePlan> permute(const ViewDesc& in, const ViewDesc& out, const Order& order,
                             const PlanOptions& options = {});

  PlanCacheStats stats() const;
  void clear();                            ///< forgets the plans, keeps the counters
  void set_capacity(std::size_t entries);  ///< evicts what is over

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The cache of the free functions: NDFOLD_PLAN_CACHE_CAPACITY entries (default 1024; 0 = off).
PlanCache& process_plan_cache();

}  // namespace ndfold
