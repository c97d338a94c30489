// Elements at a stride, brought together.
#pragma once
#include "kernels/cpu/leaf.h"
#include "kernels/cpu/near_strides.h"

namespace ndfold::simd {

/// to[i] = x[i · stride].
template <class T>
void gather(const T* x, Index stride, Index n, T* to) {
  gather_words(reinterpret_cast<const std::byte*>(x), stride, n, reinterpret_cast<WordOf<sizeof(T)>*>(to));
}

}  // namespace ndfold::simd
