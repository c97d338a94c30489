// Options whose values are lists, axes or element types: one text on the command line each.
#include "tools/values.h"

#include <charconv>

namespace ndfold::cli {
namespace {

template <class Number>
std::vector<Number> parse_list(const std::string& flag, const std::string& text) {
  std::vector<Number> list;
  if (text.empty()) return list;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    Number number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc::result_out_of_range)
      throw CLI::ValidationError(flag, "a number in '" + text + "' is too large");
    if (error != std::errc() || (next != end && *next != ','))
      throw CLI::ValidationError(flag, "'" + text + "' is not a list of whole numbers such as 0,2");
    list.push_back(number);
    if (next == end) return list;
    at = next + 1;
  }
}

template <class Number>
CLI::Option* add_numbers(CLI::App& verb, const std::string& flag, std::vector<Number>& value, const std::string& help) {
  const auto read = [flag, &value](const std::string& text) { value = parse_list<Number>(flag, text); };
  return verb.add_option_function<std::string>(flag, read, help)->type_name("N,N,...");
}

std::string type_names() {
  std::string names;
  for (const auto& row : kDTypeFacts)
    if (row.bytes > 0) names += (names.empty() ? "" : " ") + std::string(row.name);
  return names;
}

}  // namespace

CLI::Option* add_list(CLI::App& verb, const std::string& flag, std::vector<int>& value, const std::string& help) {
  return add_numbers(verb, flag, value, help);
}

CLI::Option* add_list(CLI::App& verb, const std::string& flag, std::vector<Index>& value, const std::string& help) {
  return add_numbers(verb, flag, value, help);
}

CLI::Option* add_axes(CLI::App& verb, AxisChoice& value, const std::string& help) {
  const auto read = [&value](const std::string& text) {
    if (text.empty()) throw CLI::ValidationError("--axes", "'' names no axis; say none for none");
    if (text == "all")
      value = AxisSet::all();
    else if (text == "none")
      value = AxisSet::none();
    else
      value = AxisSet(parse_list<int>("--axes", text));
  };
  return verb.add_option_function<std::string>("--axes", read, help)->type_name("N,...|all|none");
}

CLI::Option* add_dtype(CLI::App& verb, const std::string& flag, DType& value, const std::string& help) {
  const auto read = [flag, &value](const std::string& text) {
    const auto type = parse_dtype(text);
    if (!type || *type == DType::best)
      throw CLI::ValidationError(flag, "'" + text + "' is not an element type; there are " + type_names());
    value = *type;
  };
  return verb.add_option_function<std::string>(flag, read, help)->type_name("TYPE");
}

}  // namespace ndfold::cli
