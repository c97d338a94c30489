// Options whose values are lists, axes or element types: one text on the command line each.
#pragma once
#include <ndfold/view.h>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ndfold::cli {

/// --axes: nothing when it was left out, which every operation reads in its own way.
using AxisChoice = std::optional<AxisSet>;

/// Whole numbers with commas between them: "2,0,1", "-1". An empty text is an empty list.
CLI::Option* add_list(CLI::App& verb, const std::string& flag, std::vector<int>& value, const std::string& help);
CLI::Option* add_list(CLI::App& verb, const std::string& flag, std::vector<Index>& value, const std::string& help);

/// One number. CLI11 alone would take an empty text for 0.
template <class Number>
CLI::Option* add_number(CLI::App& verb, const std::string& flag, Number& value, const std::string& help) {
  const auto refuse_empty = [](const std::string& text) {
    return std::string(text.empty() ? "'' is not a number" : "");
  };
  return verb.add_option(flag, value, help)->check(refuse_empty)->option_text("N");
}

/// A list of axes, "all" or "none".
CLI::Option* add_axes(CLI::App& verb, AxisChoice& value, const std::string& help);

/// An element type by its name: "f32", "u8", "bool".
CLI::Option* add_dtype(CLI::App& verb, const std::string& flag, DType& value, const std::string& help);

}  // namespace ndfold::cli
