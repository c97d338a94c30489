#include "kernels/cpu/convert.h"

#include "kernels/cpu/near_strides.h"

#include <algorithm>
#include <cmath>

namespace ndfold::simd {
namespace {

struct Boolean {
  std::uint8_t byte;
};

// Calls work(T()) with the C++ type behind a dtype.
template <class Work>
void visit(DType type, Work&& work) {
  switch (type) {
    case DType::f16: return work(Half());
    case DType::bf16: return work(BrainHalf());
    case DType::f32: return work(float());
    case DType::f64: return work(double());
    case DType::i8: return work(std::int8_t());
    case DType::i16: return work(std::int16_t());
    case DType::i32: return work(std::int32_t());
    case DType::i64: return work(std::int64_t());
    case DType::u8: return work(std::uint8_t());
    case DType::u16: return work(std::uint16_t());
    case DType::u32: return work(std::uint32_t());
    case DType::u64: return work(std::uint64_t());
    case DType::boolean: return work(Boolean());
    case DType::best: return;
  }
}

// A float that, rounded to 16 bits, gives what the double would: its last bit remembers that something was cut off.
float rounded_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  if (back == value || !std::isfinite(nearest) || value != value) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1);
}

template <class A, class T>
A from_element(T element) {
  if constexpr (std::is_same_v<T, Boolean>)
    return static_cast<A>(element.byte != 0);
  else if constexpr (kIs16BitFloat<T>)
    return static_cast<A>(static_cast<float>(element));
  else
    return static_cast<A>(element);
}

template <class T, class A>
T to_element(A value) {
  if constexpr (std::is_same_v<T, Boolean>)
    return Boolean{static_cast<std::uint8_t>(value != A(0))};
  else if constexpr (kIs16BitFloat<T> && std::is_same_v<A, double>)
    return T(rounded_to_odd(value));
  else if constexpr (kIs16BitFloat<T>)
    return T(static_cast<float>(value));
  else if constexpr (std::is_floating_point_v<A> && std::is_integral_v<T>)
    return T();  // no plan writes floating results as integers (plans/typing.cpp)
  else
    return static_cast<T>(value);
}

template <class T>
T read(const std::byte* from, Index i) {
  T element;
  std::memcpy(&element, from + i * static_cast<Index>(sizeof(T)), sizeof(T));
  return element;
}

template <class T>
void write(std::byte* to, Index i, T element) {
  std::memcpy(to + i * static_cast<Index>(sizeof(T)), &element, sizeof(T));
}

template <class T>
bool is_nonzero(T element) {
  if constexpr (std::is_same_v<T, Boolean>)
    return element.byte != 0;
  else if constexpr (kIs16BitFloat<T>)
    return (std::bit_cast<std::uint16_t>(element) & 0x7FFF) != 0;
  else
    return element != T(0);
}

// Whole groups of lanes of a dense run of 16-bit floats; how many elements that was.
template <class T>
Index widen_lanes(const std::byte* from, Index n, float* to) {
  using V = Lanes<float>;
  Index i = 0;
  for (; i + V::kCount <= n; i += V::kCount) store(to + i, load<V>(reinterpret_cast<const T*>(from) + i));
  return i;
}
template <class T>
Index narrow_lanes(const float* from, Index n, std::byte* to) {
  using V = Lanes<float>;
  Index i = 0;
  for (; i + V::kCount <= n; i += V::kCount) store(reinterpret_cast<T*>(to) + i, load<V>(from + i));
  return i;
}

// Loops of their own for near elements, so that the compiler makes lanes of them.
template <class Step>
void each(Index n, Index stride, Step&& step) {
  if (stride == 1)
    for (Index i = 0; i < n; ++i) step(i, i);
  else if (stride == -1)
    for (Index i = 0; i < n; ++i) step(i, -i);
  else if (stride == 2)
    for (Index i = 0; i < n; ++i) step(i, 2 * i);
  else
    for (Index i = 0; i < n; ++i) step(i, i * stride);
}

// Calls work(dense elements of T, how many, the first of them) for all n, some at a time.
template <class T, class Work>
void each_brought_together(const std::byte* from, Index stride, Index n, const Work& work) {
  constexpr Index kAtOnce = 512, kBytes = sizeof(T);
  if (stride == 1) return work(from, n, Index{0});
  WordOf<sizeof(T)> some[kAtOnce];
  for (Index i = 0; i < n; i += kAtOnce) {
    const Index count = std::min(kAtOnce, n - i);
    gather_words(from + i * stride * kBytes, stride, count, some);
    work(reinterpret_cast<const std::byte*>(some), count, i);
  }
}

template <class T, class A>
void load_dense(const std::byte* from, Index n, A* to) {
  Index i = 0;
  if constexpr (kIs16BitFloat<T> && std::is_same_v<A, float>) i = widen_lanes<T>(from, n, to);
  for (; i < n; ++i) to[i] = from_element<A>(read<T>(from, i));
}

}  // namespace

template <class A>
void load_run(DType type, const std::byte* from, Index stride, Index n, A* to) {
  visit(type, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, A>)
      if (stride != 1) return gather_words(from, stride, n, reinterpret_cast<WordOf<sizeof(T)>*>(to));
    each_brought_together<T>(from, stride, n,
                             [&](const std::byte* some, Index count, Index i) { load_dense<T>(some, count, to + i); });
  });
}

void load_truth(DType type, const std::byte* from, Index stride, Index n, std::uint8_t* to) {
  visit(type, [&]<class T>(T) {
    each_brought_together<T>(from, stride, n, [&](const std::byte* some, Index count, Index first) {
      for (Index i = 0; i < count; ++i) to[first + i] = is_nonzero(read<T>(some, i));
    });
  });
}

template <class A>
void store_run(DType type, std::byte* to, Index stride, Index n, const A* from) {
  visit(type, [&]<class T>(T) {
    Index done = 0;
    if constexpr (kIs16BitFloat<T> && std::is_same_v<A, float>)
      if (stride == 1) done = narrow_lanes<T>(from, n, to);
    each(n - done, stride, [&](Index i, Index at) { write(to, done + at, to_element<T>(from[done + i])); });
  });
}

template void load_run(DType, const std::byte*, Index, Index, float*);
template void load_run(DType, const std::byte*, Index, Index, double*);
template void load_run(DType, const std::byte*, Index, Index, std::int8_t*);
template void load_run(DType, const std::byte*, Index, Index, std::int16_t*);
template void load_run(DType, const std::byte*, Index, Index, std::int32_t*);
template void load_run(DType, const std::byte*, Index, Index, std::int64_t*);
template void load_run(DType, const std::byte*, Index, Index, std::uint8_t*);
template void load_run(DType, const std::byte*, Index, Index, std::uint16_t*);
template void load_run(DType, const std::byte*, Index, Index, std::uint32_t*);
template void load_run(DType, const std::byte*, Index, Index, std::uint64_t*);
template void store_run(DType, std::byte*, Index, Index, const float*);
template void store_run(DType, std::byte*, Index, Index, const double*);
template void store_run(DType, std::byte*, Index, Index, const std::int8_t*);
template void store_run(DType, std::byte*, Index, Index, const std::int16_t*);
template void store_run(DType, std::byte*, Index, Index, const std::int32_t*);
template void store_run(DType, std::byte*, Index, Index, const std::int64_t*);
template void store_run(DType, std::byte*, Index, Index, const std::uint8_t*);
template void store_run(DType, std::byte*, Index, Index, const std::uint16_t*);
template void store_run(DType, std::byte*, Index, Index, const std::uint32_t*);
template void store_run(DType, std::byte*, Index, Index, const std::uint64_t*);
template void store_run(DType, std::byte*, Index, Index, const bool*);

}  // namespace ndfold::simd
