// A GPU on one host thread: every CUDA thread is a fiber, every barrier and shuffle a meeting of fibers. Threads run in
// a shuffled order until they meet; whoever meets nobody is reported.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <source_location>
#include <string>

namespace simt {

struct Grid {
  unsigned x = 1, y = 1;
  int threads = 32;
  unsigned cluster = 1;  // blocks along x
  std::size_t shared_bytes = 0;
  bool cooperative = false;
};

/// A barrier in the kernel text.
struct Site {
  std::string file;
  unsigned line = 0, column = 0;
  friend auto operator<=>(const Site&, const Site&) = default;
};

struct Options {
  std::uint64_t seed = 1;      // of the order in which threads run
  const Site* skip = nullptr;  // this barrier is not there
  unsigned most_y = 65535;     // blocks along y, where they stride over tiles and need not all be there
  int slowness = 1;            // the last block's threads go on in one round of so many
};

/// What a launch did.
struct Report {
  std::string failure;      // empty, or the first thing that went wrong
  std::set<Site> barriers;  // that were reached
  std::int64_t threads = 0;
};

/// Runs body() once a thread.
Report launch(const Grid& grid, const std::function<void()>& body, const Options& options = {});

/// Ends the launch from within a thread.
[[noreturn]] void fail(const std::string& what);

// What the stand-ins for CUDA's own words ask. All are of the thread that runs.
enum class Meeting : std::uint8_t { none, warp, block, cluster, grid, turn };

using Where = std::source_location;

struct Ids {
  unsigned thread = 0, block_x = 0, block_y = 0;
};
const Ids& ids();
const Grid& grid();
void meet(Meeting who, const Where& where);
std::byte* shared_memory();
/// The same place in the shared memory of another block of the cluster.
void* remote(void* mine, unsigned rank);
/// All lanes of a warp give 32 bytes at most; each takes what lane `from` gave.
void exchange(const void* give, void* take, std::size_t bytes, unsigned from, const Where& where);

void add_release(unsigned* counter);
unsigned load_acquire(const unsigned* counter);

/// Words that say by themselves whether they are there: no access before or after them is ordered by them.
void store_word(std::uint64_t* place, std::uint64_t word);
std::uint64_t load_word(const std::uint64_t* from);

/// Before it a thread may look at nothing that an earlier launch may have written, or still read.
void await_launch_before();
/// Of bytes that are there.
void ask_early(const void* from, std::size_t bytes);

/// A copy of 16 bytes at most, which arrives when the group that it belongs to is awaited.
void copy_later(void* to, const void* value, std::size_t bytes);
void end_copies();
void await_copies(std::size_t groups_left);

constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
}

}  // namespace simt
