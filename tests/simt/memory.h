// The memory of the simulated device: regions with red zones between them, and a ledger of who touched which byte when.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace simt {

enum class Access : std::uint8_t { read_only, read_write };

/// A region of exactly `bytes`, at an address that leaves `offset` when divided by 64. Content: garbage, and `known`
/// says whether reading it is allowed before something was written.
std::byte* allocate(std::size_t bytes, std::size_t offset, Access access, bool known, const std::string& name);

/// Gives back everything that was allocated since mark() said `to`.
std::size_t mark();
void release(std::size_t to);

/// What happened before what: barriers tick a clock, and the ledger keeps who touched a byte at which time.
class Ledger {
 public:
  void begin_launch(int threads_of_block, int blocks, int blocks_of_cluster);
  void end_launch();

  /// All writes before are seen by the threads of one block, of its cluster, or of the whole grid.
  void block_met(int block);
  void cluster_met(int cluster);
  void grid_met();

  /// A counter carries what its writer saw to whoever reads it.
  void released(int thread, const unsigned* counter);
  void acquired(int thread, const unsigned* counter);

  /// This thread has waited for the launch before: only shared memory may be touched sooner.
  void awaited(int thread);

  /// Empty, or what is wrong with asking for this, or with this access.
  std::string ask(const void* address, std::size_t bytes) const;
  std::string read(int thread, const void* address, std::size_t bytes, bool aligned);
  std::string write(int thread, const void* address, std::size_t bytes, bool aligned);

 private:
  using Time = std::uint32_t;
  struct Known {      // of a block's writes, as somebody else sees them
    Time before = 0;  // all that its threads wrote before this time
    int thread = -1;  // and what this thread wrote before `own`
    Time own = 0;
  };
  using Seen = std::vector<Known>;  // a block each
  struct Mail {
    const unsigned* counter;
    Seen seen;
  };

  struct Reader {
    std::int32_t who;
    Time when;
  };

  bool is_too_early(int thread, std::size_t at) const;
  int block_of(int reader) const;
  void note_reader(int thread, std::size_t at, std::int32_t& reader, Time& when);
  bool was_read_before(int thread, std::size_t at, std::int32_t reader, Time when) const;
  bool is_ordered(int thread, int other, Time when) const;
  static void join(Seen& to, const Seen& from);

  Time now_ = 1, launch_ = 1, grid_ = 0;
  int threads_ = 1, blocks_of_cluster_ = 1;
  std::size_t shared_from_ = 0;  // in the arena
  std::vector<bool> awaited_;    // by thread
  std::vector<Time> block_, cluster_;
  std::vector<Seen> seen_, pending_;  // by block; pending: one thread knows, its block not yet
  std::vector<int> pending_thread_;
  std::vector<Mail> mail_;
  std::unordered_map<std::size_t, std::vector<Reader>> readers_;  // of bytes that several blocks read
};

Ledger& ledger();

/// Where the device's memory lies; nothing else is anybody's business.
extern const std::byte* arena_first;
inline constexpr std::size_t kArenaBytes = std::size_t{64} << 20;
inline bool is_device_memory(const void* address) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - arena_first) < kArenaBytes;
}

/// Whether this build reports every access of kernels (hooks.cpp). The sanitizers have hooks of their own.
bool sees_accesses();

}  // namespace simt
