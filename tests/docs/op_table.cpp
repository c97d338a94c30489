// Prints README's table of operations and types from the library's own tables, as Markdown.
#include "plans/typing.h"

#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace ndfold;

struct Column {
  const char* heading;
  std::vector<DType> types;
};

const Column kColumns[] = {
    {"f16, bf16, f32", {DType::f16, DType::bf16, DType::f32}},
    {"f64", {DType::f64}},
    {"i8 … i64", {DType::i8, DType::i16, DType::i32, DType::i64}},
    {"u8 … u64", {DType::u8, DType::u16, DType::u32, DType::u64}},
    {"bool", {DType::boolean}},
};

// One name for a column: the type they share, or "same" when each is its input's own.
std::string shared(const std::vector<DType>& inputs, const std::vector<DType>& types) {
  bool equal = true, own = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    equal = equal && types[i] == types[0];
    own = own && types[i] == inputs[i];
  }
  if (equal) return std::string(name(types[0]));
  return own ? "same" : "these types do not share a rule";
}

std::string cell(ReduceOp op, const Column& column) {
  std::vector<DType> outputs, accumulators;
  for (const DType input : column.types) {
    outputs.push_back(default_output(op, input));
    accumulators.push_back(accumulate_type(op, input, DType::best).value());
  }
  if (outputs[0] == DType::best) return "–";
  return shared(column.types, outputs) + ", in " + shared(column.types, accumulators);
}

void print_row(const std::string& head, const std::vector<std::string>& cells) {
  std::cout << "| " << head << " |";
  for (const auto& text : cells) std::cout << ' ' << text << " |";
  std::cout << '\n';
}

}  // namespace

int main() {
  std::vector<std::string> headings, rules;
  for (const auto& column : kColumns) headings.push_back(column.heading), rules.push_back("---");
  print_row("operation", headings);
  print_row("---", rules);
  std::vector<std::string> names, cells;
  const auto flush = [&] {
    std::string head;
    for (const auto& one : names) head += (head.empty() ? "" : ", ") + one;
    if (!names.empty()) print_row(head, cells);
    names.clear();
  };
  for (int i = 0; i < kReduceOpCount; ++i) {  // neighbours that agree share a row
    const auto op = static_cast<ReduceOp>(i);
    std::vector<std::string> next;
    for (const auto& column : kColumns) next.push_back(cell(op, column));
    if (next != cells) flush();
    names.push_back("`" + std::string(name(op)) + "`");
    cells = next;
  }
  flush();
}
