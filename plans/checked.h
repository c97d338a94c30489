// 64-bit arithmetic that says when it does not fit.
#pragma once
#include <ndfold/dtype.h>

namespace ndfold {

/// Adds and multiplies like an Index; once something did not fit, `fits` stays false.
class Checked {
 public:
  constexpr Checked(Index value = 0) : value_(value) {}

  Checked& operator+=(Checked other) {
    fits_ = fits_ && other.fits_ && !__builtin_add_overflow(value_, other.value_, &value_);
    return *this;
  }
  Checked& operator*=(Checked other) {
    fits_ = fits_ && other.fits_ && !__builtin_mul_overflow(value_, other.value_, &value_);
    return *this;
  }
  friend Checked operator+(Checked a, Checked b) { return a += b; }
  friend Checked operator*(Checked a, Checked b) { return a *= b; }

  bool fits() const { return fits_; }
  Index value() const { return value_; }

 private:
  Index value_;
  bool fits_ = true;
};

constexpr Index ceil_divide(Index value, Index by) { return value / by + (value % by != 0); }

constexpr Index round_up(Index value, Index to) { return ceil_divide(value, to) * to; }

}  // namespace ndfold
