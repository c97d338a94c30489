#include "plans/words.h"

#include <charconv>
#include <cmath>
#include <iterator>

namespace ndfold {
namespace {

struct Unit {
  double size;
  std::string_view name;
};

// The largest unit that leaves at least one of it.
template <std::size_t N>
std::string in_units(double value, const Unit (&units)[N]) {
  const Unit* best = &units[0];
  for (const Unit& unit : units)
    if (value >= unit.size) best = &unit;
  return text_of_number(value / best->size) + " " + std::string(best->name);
}

}  // namespace

std::string text_of_number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  const double size = std::fabs(value);
  const int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 || size == 0 ? 2 : 3;
  char digits[400];
  const auto end = std::to_chars(digits, std::end(digits), value, std::chars_format::fixed, decimals).ptr;
  std::string text(digits, end);
  if (decimals > 0) text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string text_of_bytes(Index bytes) {
  static constexpr Unit kUnits[] = {{1, "B"}, {1024.0, "KiB"}, {1048576.0, "MiB"}, {1073741824.0, "GiB"}};
  return in_units(static_cast<double>(bytes), kUnits);
}

std::string text_of_traffic(double bytes) {
  static constexpr Unit kUnits[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}};
  return in_units(bytes, kUnits);
}

// Milliseconds only from ten of them on: "1900 µs" compares more easily with its neighbours.
std::string text_of_time(double microseconds) {
  if (microseconds < 1e4) return text_of_number(microseconds) + " µs";
  return microseconds < 1e7 ? text_of_number(microseconds / 1e3) + " ms" : text_of_number(microseconds / 1e6) + " s";
}

std::string text_of_speed(double bytes, double microseconds) {
  static constexpr Unit kUnits[] = {{1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}};
  return in_units(microseconds > 0 ? bytes / microseconds * 1e6 : 0, kUnits);
}

std::string text_of_list(const std::vector<Index>& values, std::string_view open, std::string_view close) {
  std::string text(open);
  for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(values[i]);
  return text + std::string(close);
}

std::string text_of_axes(const AxisSet& axes) {
  if (axes.is_all()) return "all axes";
  if (axes.list().empty()) return "no axes";
  return "axes " + text_of_list({axes.list().begin(), axes.list().end()}, "{", "}");
}

}  // namespace ndfold
