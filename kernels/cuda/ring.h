// A ring of places in shared memory that stretches of a tensor travel through: some come in, one is worked on, one goes
// out. They may begin anywhere: the same distance from a unit of 16 bytes here and there.
#pragma once
#include "kernels/cuda/bulk.h"

namespace ndfold::cuda {

template <class T>
class Ring {
  static constexpr int kUnit = kVector<T>;

 public:
  /// Of step.places places of step.tile_bytes, one where a block has a single stretch, between the `count` elements
  /// from step.in on, of which alone it reads, and those from step.out on.
  __device__ Ring(const Arguments& step, Index count)
      : step_(step), count_(count), bulk_(reinterpret_cast<Arrival*>(shared_memory() + kExchangeBytes), step.places) {
    static_assert(sizeof(Arrival) * kMostPlaces <= kArrivalBytes);
  }

  /// Begins to copy elements to a place that is free. Neighbours in the first and the last unit come along, but where
  /// results take their places.
  __device__ void bring(int place, Index first, int count) {
    const T* const from = in() + first;
    T* const to = at(place);
    const bool alone = step_.in == step_.out;
    const int ahead = beyond(from);
    int low = 0, high = round_up(ahead + count);
    if (ahead > (alone ? 0 : first)) low = kUnit;
    if (alone ? high > ahead + count : first - ahead + high > count_) high -= kUnit;
    bulk_.template await_sent<1>();
    bulk_.bring(place, to + low, from - ahead + low, high > low ? (high - low) * static_cast<int>(sizeof(T)) : 0);
    if (low > 0 || high < ahead + count) bring_ends(from - ahead, to, ahead, ahead + count, low, high);
  }

  /// Where they are, once they are there; awaited in the order of places.
  __device__ T* await(int place, Index first) {
    bulk_.await(place, step_.places > 2 ? step_.places - 2 : 0);
    return at(place) + beyond(in() + first);
  }

  /// What was awaited goes where results belong. Its place is free for bring() once the next one is awaited.
  __device__ void send(const T* from, Index first, int count) {
    const auto block = cg::this_thread_block();
    bulk_.show();
    block.sync();  // results are there before they leave
    T* const to = reinterpret_cast<T*>(step_.out) + first;
    const int ahead = round_up(beyond(to)) - beyond(to), head = ahead < count ? ahead : count;
    const int whole = beyond(to) == beyond(from) ? (count - head) / kUnit * kUnit : 0;
    bulk_.send(to + head, from + head, whole * static_cast<int>(sizeof(T)));
    const int thread = thread_of_block();
    if (thread < head) to[thread] = from[thread];
    for (int i = head + whole + thread; i < count; i += threads_of_block()) to[i] = from[i];
  }

  /// Before the block ends.
  __device__ void await_sent() const { bulk_.template await_sent<0>(); }

 private:
  __device__ const T* in() const { return reinterpret_cast<const T*>(step_.in); }
  __device__ T* at(int place) const {
    return reinterpret_cast<T*>(shared_memory() + kExchangeBytes + kArrivalBytes +
                                place * static_cast<int>(step_.tile_bytes));
  }
  /// Elements between the begin of an address's unit and the address.
  __device__ static int beyond(const T* address) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % kVectorBytes / sizeof(T));
  }
  __device__ static int round_up(int count) { return (count + kUnit - 1) / kUnit * kUnit; }

  // Elements [begin, end) that are not in [low, high): in units that reach beyond the tensor.
  __device__ static void bring_ends(const T* from, T* to, int begin, int end, int low, int high) {
    for (int i = begin + thread_of_block(); i < end; i += threads_of_block())
      if (i < low || i >= high) to[i] = from[i];
  }

  const Arguments& step_;
  Index count_;
  Bulk bulk_;
};

}  // namespace ndfold::cuda
