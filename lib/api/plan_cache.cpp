#include <ndfold/plan_cache.h>

#include "lib/api/no_exceptions.h"
#include "lib/api/plan_state.h"

#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace ndfold {
namespace {

struct Hash {
  std::size_t operator()(const RequestView& request) const { return hash(request); }
};

// A plan being built: later askers for the same request wait for it instead of building their own.
struct Flight {
  std::optional<Result<ReducePlan>> landed;
};

struct Entry {
  Request request;
  ReducePlan plan;
};

}  // namespace

struct PlanCache::Impl {
  mutable std::mutex mutex;
  std::condition_variable landing;
  std::list<Entry> entries;                                                 // most recently used first
  std::unordered_map<RequestView, std::list<Entry>::iterator, Hash> index;  // views of what the entries hold
  std::unordered_map<RequestView, std::shared_ptr<Flight>, Hash> flights;   // and of what is asked meanwhile
  PlanCacheStats stats;

  Result<ReducePlan> get(const RequestView& request) {
    std::unique_lock lock(mutex);
    if (const auto found = index.find(request); found != index.end()) {
      ++stats.hits;
      entries.splice(entries.begin(), entries, found->second);
      return found->second->plan;
    }
    if (const auto flying = flights.find(request); flying != flights.end()) {
      ++stats.hits;
      const auto flight = flying->second;
      landing.wait(lock, [&] { return flight->landed.has_value(); });
      return *flight->landed;
    }
    const auto flight = std::make_shared<Flight>();
    flights.emplace(request, flight);
    ++stats.misses;
    lock.unlock();
    // Outside the lock: others may be served meanwhile.
    auto plan = or_out_of_memory([&] { return make_plan(copy_of(request)); });
    lock.lock();
    flights.erase(request);
    flight->landed = or_out_of_memory([&] { return plan; });
    landing.notify_all();
    if (plan && stats.capacity > 0) insert(request, *plan);
    return plan;
  }

  // A plan that there is no memory to keep is not kept.
  void insert(const RequestView& request, const ReducePlan& plan) {
    std::list<Entry> one;
    try {
      one.push_front({copy_of(request), plan});
      index.emplace(view_of(one.front().request), one.begin());
    } catch (const std::bad_alloc&) {
      return;
    }
    entries.splice(entries.begin(), one);
    stats.bytes += footprint(plan.state());
    shrink(stats.capacity);
  }

  void shrink(std::size_t size) {
    for (; entries.size() > size; ++stats.evictions) {
      stats.bytes -= footprint(entries.back().plan.state());
      index.erase(view_of(entries.back().request));
      entries.pop_back();
    }
  }
};

PlanCache::PlanCache(std::size_t capacity) : impl_(std::make_unique<Impl>()) { impl_->stats.capacity = capacity; }
PlanCache::~PlanCache() = default;

Result<ReducePlan> PlanCache::reduce(const ViewDesc& in, const ViewDesc& out, const ReduceSpec& spec,
                                     const PlanOptions& options) {
  return or_out_of_memory([&] { return impl_->get({&in, &out, &spec, &options}); });
}

Result<ReducePlan> PlanCache::softmax(const ViewDesc& in, const ViewDesc& out, const SoftmaxSpec& spec,
                                      const PlanOptions& options) {
  return or_out_of_memory([&] { return impl_->get({&in, &out, &spec, &options}); });
}

Result<ReducePlan> PlanCache::permute(const ViewDesc& in, const ViewDesc& out, const Order& order,
                                      const PlanOptions& options) {
  return or_out_of_memory([&] { return impl_->get({&in, &out, &order, &options}); });
}

PlanCacheStats PlanCache::stats() const {
  const std::lock_guard lock(impl_->mutex);
  PlanCacheStats stats = impl_->stats;
  stats.entries = impl_->entries.size();
  return stats;
}

void PlanCache::clear() {
  const std::lock_guard lock(impl_->mutex);
  impl_->index.clear();
  impl_->entries.clear();
  impl_->stats.bytes = 0;
}

void PlanCache::set_capacity(std::size_t entries) {
  const std::lock_guard lock(impl_->mutex);
  impl_->stats.capacity = entries;
  impl_->shrink(entries);
}

// Never destroyed: a plan may be asked for while the process's static objects are going away.
PlanCache& process_plan_cache() {
  static PlanCache* const cache = [] {
    std::size_t capacity = 1024;
    if (const char* text = std::getenv("NDFOLD_PLAN_CACHE_CAPACITY"))
      std::from_chars(text, text + std::strlen(text), capacity);
    return new PlanCache(capacity);
  }();
  return *cache;
}

}  // namespace ndfold
