// Numbers, sizes and axes as explain() prints them; never by the locale's rules.
#pragma once
#include <ndfold/spec.h>
#include <ndfold/step.h>

#include <string>

namespace ndfold {

std::string text_of_number(double value);       ///< three digits or all before the point: "4.1", "262", "16384"
std::string text_of_bytes(Index bytes);         ///< binary: "0 B", "64 KiB"
std::string text_of_traffic(double bytes);      ///< decimal: "1.07 GB"
std::string text_of_time(double microseconds);  ///< "262 µs", "12.5 ms"
std::string text_of_speed(double bytes, double microseconds);  ///< "4.1 TB/s"
std::string text_of_list(const std::vector<Index>& values, std::string_view open, std::string_view close);
std::string text_of_axes(const AxisSet& axes);  ///< "axes {1,3}", "all axes", "no axes"

}  // namespace ndfold
