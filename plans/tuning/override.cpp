#include "plans/tuning/override.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace ndfold {
namespace {

constexpr char kVariable[] = "NDFOLD_TUNING";

template <class Number>
bool read(std::string_view text, Number& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

// Nothing means: any.
bool read_limit(std::string_view text, Index& to) { return text.empty() || (read(text, to) && to > 0 && to < kAny); }

bool read_within(std::string_view text, int& to, int least, int most) {
  return read(text, to) && to >= least && to <= most;
}
bool read_power(std::string_view text, int& to, int least, int most) {
  return read_within(text, to, least, most) && std::has_single_bit(static_cast<unsigned>(to));
}

std::string text_of_limit(Index limit) { return limit == kAny ? "" : std::to_string(limit); }

struct Field {
  std::string_view name, expected;
  bool (*set)(TuningOverride&, std::string_view);
  std::string (*text)(const TuningOverride&);
};

constexpr Field kFields[] = {
    {"architecture", "that of a GPU, such as 90",
     [](TuningOverride& to, std::string_view text) { return read(text, to.architecture) && to.architecture > 0; },
     [](const TuningOverride& from) { return std::to_string(from.architecture); }},
    {"strategy", "the name of one",
     [](TuningOverride& to, std::string_view text) { return !(to.row.when.strategy = text).empty(); },
     [](const TuningOverride& from) { return std::string(from.row.when.strategy); }},
    {"reduced_up_to", "a number of elements, or nothing for any",
     [](TuningOverride& to, std::string_view text) { return read_limit(text, to.row.when.reduced_up_to); },
     [](const TuningOverride& from) { return text_of_limit(from.row.when.reduced_up_to); }},
    {"bytes_up_to", "a number of bytes, or nothing for any",
     [](TuningOverride& to, std::string_view text) { return read_limit(text, to.row.when.bytes_up_to); },
     [](const TuningOverride& from) { return text_of_limit(from.row.when.bytes_up_to); }},
    {"element_up_to", "a number of bytes, or nothing for any",
     [](TuningOverride& to, std::string_view text) { return read_limit(text, to.row.when.element_up_to); },
     [](const TuningOverride& from) { return text_of_limit(from.row.when.element_up_to); }},
    {"softmax_only", "0 or 1",
     [](TuningOverride& to, std::string_view text) {
       to.row.when.softmax_only = text == "1";
       return text == "0" || text == "1";
     },
     [](const TuningOverride& from) { return std::string(from.row.when.softmax_only ? "1" : "0"); }},
    {"threads", "a power of two from 32 to 512",
     [](TuningOverride& to, std::string_view text) { return read_power(text, to.row.use.threads, 32, 512); },
     [](const TuningOverride& from) { return std::to_string(from.row.use.threads); }},
    {"lanes_per_row", "a power of two from 1 to 32",
     [](TuningOverride& to, std::string_view text) { return read_power(text, to.row.use.lanes_per_row, 1, 32); },
     [](const TuningOverride& from) { return std::to_string(from.row.use.lanes_per_row); }},
    {"unroll", "a number from 1 to 16",
     [](TuningOverride& to, std::string_view text) { return read_within(text, to.row.use.unroll, 1, 16); },
     [](const TuningOverride& from) { return std::to_string(from.row.use.unroll); }},
    {"panel_bytes", "a power of two from 16 to 4096, or 0 where there are no panels",
     [](TuningOverride& to, std::string_view text) {
       return text == "0" || read_power(text, to.row.use.panel_bytes, 16, 4096);
     },
     [](const TuningOverride& from) { return std::to_string(from.row.use.panel_bytes); }},
    {"cluster_blocks", "a power of two from 1 to 16",
     [](TuningOverride& to, std::string_view text) { return read_power(text, to.row.use.cluster_blocks, 1, 16); },
     [](const TuningOverride& from) { return std::to_string(from.row.use.cluster_blocks); }},
};

Status wrong(std::string_view field, std::string_view text, const std::string& expected) {
  return Status(Code::invalid_argument,
                std::string(field) + " is '" + std::string(text) + "', it has to be " + expected);
}

bool is_same(const TuningMatch& a, const TuningMatch& b) {
  return a.strategy == b.strategy && a.reduced_up_to == b.reduced_up_to && a.bytes_up_to == b.bytes_up_to &&
         a.element_up_to == b.element_up_to && a.softmax_only == b.softmax_only;
}

std::span<const TuningRow> table_of(int architecture) {
  return built_in_rows({.kind = DeviceKind::cuda, .architecture = architecture});
}

constexpr int kVectorBytes = 16;  // of a lane's load

// Fields that are right by themselves and wrong beside others, or beside what is compiled.
Status check_together(const Tuning& use, const TuningRow& like) {
  constexpr int kMostThreadsOfFolds = 256;       // as compiled; a softmax has 512 where it does not meet in a grid
  constexpr int kMostLoads = 8, kMostKept = 16;  // a lane of columns that wait in registers keeps rows
  const int loads = like.residency == Residency::registers && like.use.panel_bytes != 0 ? kMostKept : kMostLoads;
  if (use.unroll > loads)
    return wrong("unroll", std::to_string(use.unroll), "at most " + std::to_string(loads) + " in this row");
  const bool meets = like.when.strategy.ends_with("_in_grid") || like.when.strategy == "split";
  const std::string threads = std::to_string(use.threads);
  const bool folds = like.when.strategy.find("_in_") != std::string_view::npos && !like.when.softmax_only;
  if ((meets || folds) && use.threads > kMostThreadsOfFolds)
    return wrong("threads", threads, "at most " + std::to_string(kMostThreadsOfFolds) + " in this row");
  if ((use.panel_bytes == 0) != (like.use.panel_bytes == 0))
    return wrong("panel_bytes", std::to_string(use.panel_bytes),
                 like.use.panel_bytes == 0 ? "0 in this row" : "more than 0 in this row");
  if (use.panel_bytes > kVectorBytes * use.threads)
    return wrong("panel_bytes", std::to_string(use.panel_bytes), "at most 16 for each of " + threads + " threads");
  if ((use.cluster_blocks == 1) != (like.use.cluster_blocks == 1))
    return wrong("cluster_blocks", std::to_string(use.cluster_blocks),
                 like.use.cluster_blocks == 1 ? "1 in this row" : "more than 1 in this row");
  return {};
}

Status settle(TuningOverride& item) {
  for (const TuningRow& row : table_of(item.architecture)) {
    if (!is_same(row.when, item.row.when)) continue;
    item.row.when = row.when;  // whose strategy's name stays
    item.row.residency = row.residency;
    item.row.evidence = kVariable;
    return check_together(item.row.use, row);
  }
  const std::string text(item.row.when.strategy);
  return Status(Code::invalid_argument, "strategy " + text + " has no row of these limits in the table of sm_" +
                                            std::to_string(item.architecture) +
                                            ": reduced_up_to, bytes_up_to, element_up_to and softmax_only name a row");
}

// The text before `mark`, which is taken away with it.
std::string_view take(std::string_view& text, char mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

Result<TuningOverride> parse_line(std::string_view line) {
  TuningOverride item;
  const auto commas = std::count(line.begin(), line.end(), ',');
  if (commas + 1 != std::ssize(kFields))
    return Status(Code::invalid_argument, "it has " + std::to_string(commas + 1) + " fields, not " +
                                              std::to_string(std::size(kFields)) + ": " + override_columns());
  for (const Field& field : kFields) {
    const std::string_view text = take(line, ',');
    if (!field.set(item, text)) return wrong(field.name, text, std::string(field.expected));
  }
  if (Status status = settle(item); !status.ok()) return status;
  return item;
}

/// What takes a table's place: as many rows as it has.
struct Overrides {
  Status status;
  std::map<int, std::vector<TuningRow>> tables;
  const Overrides* before = nullptr;  ///< plans may refer to rows of these, too
};

Overrides overrides_of(const std::vector<TuningOverride>& items) {
  Overrides overrides;
  for (const TuningOverride& item : items) {
    const auto table = table_of(item.architecture);
    auto& rows = overrides.tables[item.architecture];
    if (rows.empty()) rows.assign(table.begin(), table.end());
    for (TuningRow& row : rows)
      if (is_same(row.when, item.row.when)) row = item.row;
  }
  return overrides;
}

// Nothing where it cannot be read.
std::optional<std::string> content_of(const char* path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "r"),
                                                             [](std::FILE* f) { return std::fclose(f); });
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, file.get())) text.append(part, size);
  if (std::ferror(file.get()) != 0) return std::nullopt;
  return text;
}

Overrides refused(Code code, const char* path, const std::string& why) {
  Overrides overrides;
  overrides.status = Status(code, std::string(kVariable) + " names " + path + ", which cannot be " + why);
  return overrides;
}

Overrides read_file() {
  const char* const path = std::getenv(kVariable);
  if (path == nullptr || *path == '\0') return {};
  const auto text = content_of(path);
  if (!text) return refused(Code::io_error, path, "read");
  const auto items = parse_overrides(*text);
  return items ? overrides_of(*items) : refused(items.error().code(), path, "used: " + items.error().message());
}

// Never destroyed, nor what was in use before.
std::atomic<const Overrides*> in_use = nullptr;

const Overrides& overrides() {
  if (const Overrides* const found = in_use.load(std::memory_order_acquire)) return *found;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (in_use.load(std::memory_order_relaxed) == nullptr)
    in_use.store(new Overrides(read_file()), std::memory_order_release);
  return *in_use.load(std::memory_order_relaxed);
}

}  // namespace

Result<std::vector<TuningOverride>> parse_overrides(std::string_view text) {
  std::vector<TuningOverride> items;
  bool has_columns = false;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = take(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = "line " + std::to_string(number) + ": ";
    if (!has_columns) {
      has_columns = line == override_columns();
      if (!has_columns) return Status(Code::invalid_argument, where + "columns have to be " + override_columns());
      continue;
    }
    auto item = parse_line(line);
    if (!item) return Status(item.error().code(), where + item.error().message());
    items.push_back(*item);
  }
  return items;
}

std::string override_columns() {
  std::string text;
  for (const Field& field : kFields) text += (text.empty() ? "" : ",") + std::string(field.name);
  return text;
}

std::string text_of(const TuningOverride& row) {
  std::string text;
  for (const Field& field : kFields) text += (&field == kFields ? "" : ",") + field.text(row);
  return text;
}

std::span<const TuningRow> overridden_rows(int architecture) {
  const auto& tables = overrides().tables;
  const auto found = tables.find(architecture);
  return found == tables.end() ? std::span<const TuningRow>() : std::span<const TuningRow>(found->second);
}

Status check_overrides() { return overrides().status; }

void use_overrides(const std::vector<TuningOverride>& rows) {
  auto next = std::make_unique<Overrides>(overrides_of(rows));
  next->before = &overrides();
  in_use.store(next.release(), std::memory_order_release);
}

}  // namespace ndfold
