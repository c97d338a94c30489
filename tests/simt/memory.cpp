#include "tests/simt/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_POISONS 1
#endif
#endif
#ifdef SIMT_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace simt {

const std::byte* arena_first = nullptr;

namespace {

constexpr std::size_t kLine = 64, kRedZone = 192;
constexpr std::uint8_t kReadable = 1, kWritable = 2, kKnown = 4;
// Who read a byte: a thread, several of block b (kSeveral - b), or several blocks, which the ledger then lists.
constexpr std::int32_t kNobody = -1, kSeveral = -2, kSeveralBlocks = std::numeric_limits<std::int32_t>::min();
constexpr int kGarbage = 0xa5;

struct Cell {
  std::uint32_t written, read;  // times
  std::int32_t writer, reader;  // threads
};

template <class T>
T* reserve(std::size_t count) {
  void* const place =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) throw std::runtime_error("simt: no memory for the arena");
  return static_cast<T*>(place);
}

struct Region {
  std::size_t first, end;
  std::string name;
};

struct Arena {
  std::byte* bytes = reserve<std::byte>(kArenaBytes);
  Cell* cells = reserve<Cell>(kArenaBytes);
  std::uint8_t* flags = reserve<std::uint8_t>(kArenaBytes);
  std::size_t used = kRedZone;
  std::vector<Region> regions;

  Arena() {
    arena_first = bytes;
    poison(0, kArenaBytes);
  }
  void poison([[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t count) {
#ifdef SIMT_POISONS
    __asan_poison_memory_region(bytes + first, count);
#endif
  }
  void unpoison([[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t count) {
#ifdef SIMT_POISONS
    __asan_unpoison_memory_region(bytes + first, count);
#endif
  }
  std::size_t index(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - bytes);
  }
  /// Somebody wrote the byte, or, since states have gaps between their fields, part of its 8 bytes.
  bool is_known(std::size_t at) const {
    const std::uint8_t* const word = flags + at / 8 * 8;
    return (flags[at] & kKnown) != 0 || std::any_of(word, word + 8, [](std::uint8_t f) { return (f & kKnown) != 0; });
  }
  /// The nearest region, in words.
  std::string where(std::size_t at) const {
    for (const Region& region : regions) {
      if (at >= region.first && at < region.end)
        return "byte " + std::to_string(at - region.first) + " of " + region.name + " (" +
               std::to_string(region.end - region.first) + " bytes)";
      if (at < region.first && at + kRedZone >= region.first)
        return std::to_string(region.first - at) + " bytes before " + region.name;
      if (at >= region.end && at < region.end + kRedZone)
        return std::to_string(at - region.end + 1) + " bytes behind " + region.name;
    }
    return "nowhere near a buffer";
  }
};

Arena& arena() {
  static Arena the_arena;
  return the_arena;
}

}  // namespace

std::byte* allocate(std::size_t bytes, std::size_t offset, Access access, bool known, const std::string& name) {
  Arena& all = arena();
  const std::size_t first = (all.used + kLine - 1) / kLine * kLine + kRedZone + offset % kLine, end = first + bytes;
  if (end + kRedZone > kArenaBytes) throw std::runtime_error("simt: the arena is full");
  const std::uint8_t flags =
      static_cast<std::uint8_t>(kReadable | (access == Access::read_write ? kWritable : 0) | (known ? kKnown : 0));
  all.unpoison(first, bytes);
  std::memset(all.bytes + first, kGarbage, bytes);
  std::memset(all.flags + first, flags, bytes);
  std::fill_n(all.cells + first, bytes, Cell{0, 0, kNobody, kNobody});
  all.regions.push_back({first, end, name});
  all.used = end;
  return all.bytes + first;
}

std::size_t mark() { return arena().used; }

void release(std::size_t to) {
  Arena& all = arena();
  std::memset(all.flags + to, 0, all.used - to);
  all.poison((to + 7) / 8 * 8, all.used + 8 - to);
  std::erase_if(all.regions, [&](const Region& region) { return region.first >= to; });
  all.used = to;
}

Ledger& ledger() {
  static Ledger the_ledger;
  return the_ledger;
}

void Ledger::begin_launch(int threads_of_block, int blocks, int blocks_of_cluster) {
  launch_ = grid_ = ++now_;
  threads_ = threads_of_block;
  blocks_of_cluster_ = blocks_of_cluster;
  const auto count = static_cast<std::size_t>(blocks);
  block_.assign(count, launch_);
  cluster_.assign(count / static_cast<std::size_t>(blocks_of_cluster), launch_);
  seen_.assign(count, {});
  pending_.assign(count, {});
  pending_thread_.assign(count, kNobody);
  mail_.clear();
  readers_.clear();
  shared_from_ = arena().used;
  awaited_.assign(count * static_cast<std::size_t>(threads_of_block), false);
}

void Ledger::awaited(int thread) { awaited_[static_cast<std::size_t>(thread)] = true; }

bool Ledger::is_too_early(int thread, std::size_t at) const {
  return at < shared_from_ && !awaited_[static_cast<std::size_t>(thread)];
}

std::string Ledger::ask(const void* address, std::size_t bytes) const {
  const Arena& all = arena();
  const std::size_t first = all.index(address);
  for (std::size_t at = first; at < first + bytes; ++at)
    if (!(all.flags[at] & kReadable)) return "asks for " + all.where(at);
  return {};
}

void Ledger::end_launch() { ++now_; }

void Ledger::block_met(int block) {
  const auto b = static_cast<std::size_t>(block);
  block_[b] = ++now_;
  join(seen_[b], pending_[b]);
  pending_[b].clear();
}

void Ledger::cluster_met(int cluster) {
  for (int b = cluster * blocks_of_cluster_; b < (cluster + 1) * blocks_of_cluster_; ++b) block_met(b);
  cluster_[static_cast<std::size_t>(cluster)] = now_;
}

void Ledger::grid_met() {
  for (std::size_t b = 0; b < block_.size(); ++b) block_met(static_cast<int>(b));
  for (Time& time : cluster_) time = now_;
  grid_ = now_;
}

void Ledger::join(Seen& to, const Seen& from) {
  if (from.empty()) return;
  if (to.empty()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i].before = std::max(to[i].before, from[i].before);
    if (from[i].own > to[i].own) to[i].own = from[i].own, to[i].thread = from[i].thread;
  }
}

void Ledger::released(int thread, const unsigned* counter) {
  const auto block = static_cast<std::size_t>(thread / threads_);
  auto place = std::find_if(mail_.begin(), mail_.end(), [&](const Mail& mail) { return mail.counter == counter; });
  if (place == mail_.end()) place = mail_.insert(place, {counter, Seen(block_.size())});
  join(place->seen, seen_[block]);
  Known& mine = place->seen[block];
  mine = {.before = block_[block], .thread = thread, .own = ++now_};
}

void Ledger::acquired(int thread, const unsigned* counter) {
  const auto block = static_cast<std::size_t>(thread / threads_);
  for (const Mail& mail : mail_)
    if (mail.counter == counter) join(pending_[block], mail.seen);
  pending_thread_[block] = thread;
}

int Ledger::block_of(int reader) const { return reader >= 0 ? reader / threads_ : kSeveral - reader; }

// Whether what `other` did at `when` comes before what `thread` does now.
bool Ledger::is_ordered(int thread, int other, Time when) const {
  if (when < launch_ || other == thread || when < grid_) return true;
  const auto mine = static_cast<std::size_t>(thread / threads_);
  const auto size = static_cast<std::size_t>(blocks_of_cluster_);
  const auto block = static_cast<std::size_t>(block_of(other));
  if (block == mine) return when < block_[mine];
  if (block / size == mine / size && when < cluster_[mine / size]) return true;
  const auto knows = [&](const Seen& seen) {
    return !seen.empty() && (when < seen[block].before || (other == seen[block].thread && when < seen[block].own));
  };
  return knows(seen_[mine]) || (pending_thread_[mine] == thread && knows(pending_[mine]));
}

void Ledger::note_reader(int thread, std::size_t at, std::int32_t& reader, Time& when) {
  const int block = block_of(thread);
  if (reader == kSeveralBlocks && when >= launch_) {
    auto& list = readers_[at];
    const auto mine = std::find_if(list.begin(), list.end(), [&](const Reader& r) { return block_of(r.who) == block; });
    if (mine == list.end())
      list.push_back({thread, now_});
    else
      *mine = {mine->who == thread || is_ordered(thread, mine->who, mine->when) ? thread : kSeveral - block, now_};
  } else if (reader == kNobody || reader == thread || when < launch_ || is_ordered(thread, reader, when)) {
    reader = thread;
  } else if (block_of(reader) == block) {
    reader = kSeveral - block;
  } else {
    readers_[at] = {{reader, when}, {thread, now_}};
    reader = kSeveralBlocks;
  }
  when = now_;
}

bool Ledger::was_read_before(int thread, std::size_t at, std::int32_t reader, Time when) const {
  if (reader == kNobody || when < launch_) return true;
  if (reader != kSeveralBlocks) return is_ordered(thread, reader, when);
  const auto& list = readers_.at(at);
  return std::all_of(list.begin(), list.end(), [&](const Reader& r) { return is_ordered(thread, r.who, r.when); });
}

namespace {

std::string thread_name(int thread, int threads) {
  return "thread " + std::to_string(thread % threads) + " of block " + std::to_string(thread / threads);
}

}  // namespace

std::string Ledger::read(int thread, const void* address, std::size_t bytes, bool aligned) {
  Arena& all = arena();
  const std::size_t first = all.index(address);
  if (is_too_early(thread, first)) return "reads " + all.where(first) + " before it waits for the launch before";
  if (aligned && first % bytes != 0)
    return "reads " + std::to_string(bytes) + " unaligned bytes at " + all.where(first);
  for (std::size_t at = first; at < first + bytes; ++at) {
    Cell& cell = all.cells[at];
    if (!(all.flags[at] & kReadable)) return "reads " + all.where(at);
    if (!all.is_known(at)) return "reads " + all.where(at) + ", which nobody wrote";
    if (cell.writer != kNobody && !is_ordered(thread, cell.writer, cell.written))
      return "reads " + all.where(at) + ", which " + thread_name(cell.writer, threads_) + " wrote since they last met";
    if (all.flags[at] & kWritable) note_reader(thread, at, cell.reader, cell.read);
  }
  return {};
}

std::string Ledger::write(int thread, const void* address, std::size_t bytes, bool aligned) {
  Arena& all = arena();
  const std::size_t first = all.index(address);
  if (is_too_early(thread, first)) return "writes " + all.where(first) + " before it waits for the launch before";
  if (aligned && first % bytes != 0)
    return "writes " + std::to_string(bytes) + " unaligned bytes at " + all.where(first);
  for (std::size_t at = first; at < first + bytes; ++at) {
    Cell& cell = all.cells[at];
    if (!(all.flags[at] & kWritable)) return "writes " + all.where(at);
    if (cell.writer != kNobody && !is_ordered(thread, cell.writer, cell.written))
      return "writes " + all.where(at) + ", which " + thread_name(cell.writer, threads_) + " wrote since they last met";
    if (!was_read_before(thread, at, cell.reader, cell.read))
      return "writes " + all.where(at) + ", which others read since they last met";
    all.flags[at] = static_cast<std::uint8_t>(all.flags[at] | kKnown);
    cell.writer = thread;
    cell.written = now_;
  }
  return {};
}

}  // namespace simt
