#include "tests/simt/machine.h"

#include "tests/simt/fiber.h"
#include "tests/simt/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace simt {

int running_thread = -1;

namespace {

constexpr std::size_t kStackBytes = std::size_t{64} << 10;
constexpr std::size_t kStacks = 16384;
constexpr int kWarp = 32;
constexpr std::size_t kExchange = 32;

struct Copy {
  void* to;
  std::array<std::byte, 16> value;
  std::size_t bytes;
};

struct Thread {
  Context context;
  Ids ids;
  int block = 0;  // over the whole grid
  bool done = false;
  Meeting waits = Meeting::none;
  const char* file = nullptr;
  unsigned line = 0, column = 0;
  std::array<std::array<std::byte, kExchange>, 2> gives;
  int turn = 0;
  std::vector<std::vector<Copy>> copies;  // groups of them; the last is open
};

struct Seen {
  const char* file;
  unsigned line, column;
  bool skipped;
};

struct Machine {
  Grid grid;
  std::vector<Seen> seen;  // barriers
  Options options;
  const std::function<void()>* body = nullptr;
  Report report;
  Context home;
  std::vector<Thread> threads;  // of the blocks that are resident
  std::vector<int> ready, next;
  std::vector<int> waiting_warp, waiting_block, waiting_cluster;
  int waiting_grid = 0, done = 0;
  std::vector<std::byte*> shared;
  std::byte* stacks = nullptr;
  int current = -1;
  int first_block = 0;
  std::uint64_t random = 1;
};

Machine the_machine;
Machine& machine() { return the_machine; }

Thread& self() { return machine().threads[static_cast<std::size_t>(machine().current)]; }

std::byte* stack_of(std::size_t thread) {
  Machine& m = machine();
  if (m.stacks == nullptr) {
    void* const place = mmap(nullptr, kStacks * kStackBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) throw std::runtime_error("simt: no memory for stacks");
    m.stacks = static_cast<std::byte*>(place);
  }
  if (thread >= kStacks) throw std::runtime_error("simt: too many threads at once");
  return m.stacks + thread * kStackBytes;
}

// Stacks begin at different lines of the cache's sets.
std::size_t stack_bytes(std::size_t thread) {
  constexpr std::size_t kColours = 61, kColour = 192;
  return kStackBytes - thread % kColours * kColour;
}

std::string describe(const Thread& thread) {
  constexpr const char* kPlaces[] = {
      "runs", "a shuffle", "a block's barrier", "a cluster's barrier", "a grid's barrier", "its turn to look"};
  std::string words = "thread " + std::to_string(thread.ids.thread) + " of block " + std::to_string(thread.block);
  if (thread.done) return words + " has left";
  words += std::string(" waits at ") + kPlaces[static_cast<int>(thread.waits)];
  if (thread.file != nullptr) words += " (" + std::string(thread.file) + ":" + std::to_string(thread.line) + ")";
  return words;
}

void enter() {
  arrive_first(self().context);
  (*machine().body)();
  Machine& m = machine();
  self().done = true;
  ++m.done;
  switch_context(self().context, m.home, true);
}

std::uint64_t next_random() {
  std::uint64_t& x = machine().random;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

void wait(Meeting who, const Where& where) {
  Thread& me = self();
  me.waits = who;
  me.file = where.file_name();
  me.line = where.line();
  me.column = where.column();
  switch_context(me.context, machine().home);
}

// Lets threads [first, first + count) go on; all must have come to the same place.
void let_go(int first, int count) {
  Machine& m = machine();
  const Thread& one = m.threads[static_cast<std::size_t>(first)];
  for (int t = first; t < first + count; ++t) {
    Thread& thread = m.threads[static_cast<std::size_t>(t)];
    if (thread.line != one.line || thread.column != one.column || std::strcmp(thread.file, one.file) != 0) {
      if (m.report.failure.empty()) m.report.failure = "they part: " + describe(one) + ", " + describe(thread);
      return;
    }
  }
  for (int t = first; t < first + count; ++t) {
    m.threads[static_cast<std::size_t>(t)].waits = Meeting::none;
    m.next.push_back(t);
  }
}

// Counts a thread among those that wait, and lets all go when the last has come.
void count_in(int t) {
  Machine& m = machine();
  const Thread& thread = m.threads[static_cast<std::size_t>(t)];
  const int block = m.grid.threads, cluster = block * static_cast<int>(m.grid.cluster);
  const auto arrive = [&](int& waiting, int size) {
    if (++waiting < size) return false;
    waiting = 0;
    return true;
  };
  const auto at = [](std::vector<int>& list, int i) -> int& { return list[static_cast<std::size_t>(i)]; };
  switch (thread.waits) {
    case Meeting::none: return;
    case Meeting::warp:
      if (arrive(at(m.waiting_warp, t / kWarp), kWarp)) let_go(t / kWarp * kWarp, kWarp);
      return;
    case Meeting::block:
      if (!arrive(at(m.waiting_block, t / block), block)) return;
      ledger().block_met(m.first_block + t / block);
      return let_go(t / block * block, block);
    case Meeting::cluster:
      if (!arrive(at(m.waiting_cluster, t / cluster), cluster)) return;
      ledger().cluster_met((m.first_block + t / block) / static_cast<int>(m.grid.cluster));
      return let_go(t / cluster * cluster, cluster);
    case Meeting::grid:
      if (!arrive(m.waiting_grid, static_cast<int>(m.threads.size()))) return;
      ledger().grid_met();
      return let_go(0, static_cast<int>(m.threads.size()));
    case Meeting::turn: m.next.push_back(t); return;
  }
}

// Why nobody can go on: one who waits, and one that it waits for.
std::string deadlock() {
  const auto& threads = machine().threads;
  const auto waits = std::find_if(threads.begin(), threads.end(), [](const Thread& t) { return !t.done; });
  const auto other = std::find_if(threads.begin(), threads.end(), [&](const Thread& t) {
    return t.done || t.waits != waits->waits || t.line != waits->line;
  });
  return "nobody can go on: " + describe(*waits) + (other == threads.end() ? "" : ", " + describe(*other));
}

void run_resident(int blocks) {
  Machine& m = machine();
  const int threads = blocks * m.grid.threads;
  m.threads.assign(static_cast<std::size_t>(threads), {});
  m.waiting_warp.assign(static_cast<std::size_t>(threads / kWarp), 0);
  m.waiting_block.assign(static_cast<std::size_t>(blocks), 0);
  m.waiting_cluster.assign(static_cast<std::size_t>(blocks), 0);
  m.waiting_grid = m.done = 0;
  m.next.clear();
  m.shared.clear();
  const std::size_t before = mark();
  for (int b = 0; b < blocks; ++b)
    m.shared.push_back(allocate(m.grid.shared_bytes, 0, Access::read_write, false,
                                "the shared memory of block " + std::to_string(m.first_block + b)));
  for (int t = 0; t < threads; ++t) {
    Thread& thread = m.threads[static_cast<std::size_t>(t)];
    thread.block = m.first_block + t / m.grid.threads;
    const auto block = static_cast<unsigned>(thread.block);
    thread.ids = {static_cast<unsigned>(t % m.grid.threads), block % m.grid.x, block / m.grid.x};
    const auto number = static_cast<std::size_t>(t);
    prepare(thread.context, stack_of(number), stack_bytes(number), enter);
    m.next.push_back(t);
  }
  int idle_rounds = 0, round = 0;
  bool looks = false;
  while (m.done < threads && m.report.failure.empty()) {
    m.ready.swap(m.next);
    m.next.clear();
    if (m.ready.empty()) m.report.failure = deadlock();
    for (std::size_t i = m.ready.size(); i > 1; --i) std::swap(m.ready[i - 1], m.ready[next_random() % i]);
    bool moved = false;
    const int slow = round++ % m.options.slowness == 0 ? -1 : m.first_block + threads / m.grid.threads - 1;
    for (const int t : m.ready) {
      Thread& thread = m.threads[static_cast<std::size_t>(t)];
      if (thread.block == slow) {
        m.next.push_back(t);
        continue;
      }
      m.current = t;
      running_thread = t + m.first_block * m.grid.threads;
      switch_context(m.home, thread.context);
      running_thread = m.current = -1;
      if (!m.report.failure.empty()) break;
      looks = looks || thread.waits == Meeting::turn;
      moved = moved || (thread.waits != Meeting::turn && thread.waits != Meeting::warp) || thread.done;
      if (!thread.done) count_in(t);
    }
    // Rounds in which threads only look at memory, or do so as warps: a slow block's store hundreds of packs meanwhile.
    constexpr int kPatience = 5000, kOfSlow = 500;
    looks = looks && !moved;
    idle_rounds = looks ? idle_rounds + 1 : 0;
    if (idle_rounds > std::max(kPatience, kOfSlow * m.options.slowness)) m.report.failure = deadlock();
  }
  release(before);
}

}  // namespace

const Ids& ids() { return self().ids; }
const Grid& grid() { return machine().grid; }

void fail(const std::string& what) {
  Machine& m = machine();
  m.report.failure =
      "thread " + std::to_string(self().ids.thread) + " of block " + std::to_string(self().block) + " " + what;
  switch_context(self().context, m.home, true);
  throw std::logic_error("simt: a thread came back");
}

namespace {

// Notes the barrier; whether it is the one to leave out.
bool is_skipped(const Where& where) {
  Machine& m = machine();
  for (const Seen& seen : m.seen)
    if (seen.line == where.line() && seen.column == where.column() && seen.file == where.file_name())
      return seen.skipped;
  const Site site{where.file_name(), where.line(), where.column()};
  m.report.barriers.insert(site);
  m.seen.push_back(
      {where.file_name(), where.line(), where.column(), m.options.skip != nullptr && *m.options.skip == site});
  return m.seen.back().skipped;
}

}  // namespace

void meet(Meeting who, const Where& where) {
  Machine& m = machine();
  if (is_skipped(where)) return;
  if (who == Meeting::grid && !m.grid.cooperative) fail("meets the grid in a launch that is not cooperative");
  wait(who, where);
}

std::byte* shared_memory() {
  Machine& m = machine();
  return m.shared[static_cast<std::size_t>(m.current / m.grid.threads)];
}

void* remote(void* mine, unsigned rank) {
  Machine& m = machine();
  const int block = m.current / m.grid.threads, cluster = static_cast<int>(m.grid.cluster);
  if (rank >= m.grid.cluster) fail("looks for block " + std::to_string(rank) + " of a cluster");
  const auto distance = static_cast<std::byte*>(mine) - m.shared[static_cast<std::size_t>(block)];
  return m.shared[static_cast<std::size_t>(block / cluster * cluster + static_cast<int>(rank))] + distance;
}

void exchange(const void* give, void* take, std::size_t bytes, unsigned from, const Where& where) {
  Machine& m = machine();
  Thread& me = self();
  const int turn = me.turn;
  me.turn ^= 1;  // the next exchange has its own place: others may not have taken yet
  std::memcpy(me.gives[static_cast<std::size_t>(turn)].data(), give, bytes);
  wait(Meeting::warp, where);
  const Thread& other = m.threads[static_cast<std::size_t>(m.current / kWarp * kWarp + static_cast<int>(from % kWarp))];
  std::memcpy(take, other.gives[static_cast<std::size_t>(turn)].data(), bytes);
}

void add_release(unsigned* counter) {
  ++*counter;
  ledger().released(running_thread, counter);
}

unsigned load_acquire(const unsigned* counter) {
  const unsigned value = *counter;
  ledger().acquired(running_thread, counter);
  wait(Meeting::turn, Where::current());
  return value;
}

void await_launch_before() { ledger().awaited(running_thread); }

void ask_early(const void* from, std::size_t bytes) {
  if (!is_device_memory(from)) return;  // a constant of the kernels
  const std::string wrong = ledger().ask(from, bytes);
  if (!wrong.empty()) fail(wrong);
}

void store_word(std::uint64_t* place, std::uint64_t word) { *place = word; }

// What was there before the first store_word() was written as all else is: a barrier must lie between.
std::uint64_t load_word(const std::uint64_t* from) {
  if (sees_accesses()) {
    const std::string wrong = ledger().read(running_thread, from, sizeof *from, true);
    if (!wrong.empty()) fail(wrong);
  }
  const std::uint64_t word = *from;
  wait(Meeting::turn, Where::current());
  return word;
}

namespace {

void note_write(const void* to, std::size_t bytes) {
  if (!sees_accesses()) return;
  const std::string wrong = ledger().write(running_thread, to, bytes, true);
  if (!wrong.empty()) fail(wrong);
}

}  // namespace

// It may arrive at once, or as late as when it is awaited: whoever reads the place must bear with both.
void copy_later(void* to, const void* value, std::size_t bytes) {
  note_write(to, bytes);
  auto& groups = self().copies;
  if (groups.empty()) groups.emplace_back();
  Copy copy{to, {}, bytes};
  std::memcpy(copy.value.data(), value, bytes);
  groups.back().push_back(copy);
}

void end_copies() {
  auto& groups = self().copies;
  if (groups.empty()) groups.emplace_back();
  groups.emplace_back();
}

void await_copies(std::size_t groups_left) {
  auto& groups = self().copies;
  while (groups.size() > groups_left + 1) {
    for (const Copy& copy : groups.front()) {
      note_write(copy.to, copy.bytes);
      std::memcpy(copy.to, copy.value.data(), copy.bytes);
    }
    groups.erase(groups.begin());
  }
}

Report launch(const Grid& grid, const std::function<void()>& body, const Options& options) {
  Machine& m = machine();
  m.grid = grid;
  m.options = options;
  m.body = &body;
  m.report = {};
  m.seen.clear();
  m.random = options.seed * 0x9e3779b97f4a7c15 + 1;
  const int blocks = static_cast<int>(grid.x * grid.y), cluster = static_cast<int>(grid.cluster);
  m.report.threads = std::int64_t{blocks} * grid.threads;
  ledger().begin_launch(grid.threads, blocks, cluster);
  std::vector<int> firsts;  // clusters run one after the other, in any order; a cooperative grid runs at once
  for (int b = 0; b < blocks; b += grid.cooperative ? blocks : cluster) firsts.push_back(b);
  for (std::size_t i = firsts.size(); i > 1; --i) std::swap(firsts[i - 1], firsts[next_random() % i]);
  for (const int first : firsts) {
    if (!m.report.failure.empty()) break;
    m.first_block = first;
    run_resident(grid.cooperative ? blocks : cluster);
  }
  ledger().end_launch();
  m.body = nullptr;
  return m.report;
}

}  // namespace simt
