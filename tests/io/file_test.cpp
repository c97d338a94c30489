// Files: interrupted and short calls, kinds of files that are refused, outputs that appear whole or not at all.
#include "lib/io/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ndfold::io {
namespace {

namespace fs = std::filesystem;

class files : public testing::Test {
 protected:
  files() {
    std::string pattern = (fs::temp_directory_path() / "ndfold-file-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~files() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})); }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string get(const std::string& name) const {
    std::ifstream stream(path(name));
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  Status write_whole(const std::string& target, const std::string& text) const {
    auto file = OutputFile::create(target);
    if (!file) return file.error();
    if (const Status status = file->write(std::as_bytes(std::span(text))); !status) return status;
    return file->commit();
  }

  fs::path folder_;
};

TEST(transfer, goes_on_after_short_and_interrupted_calls) {
  int calls = 0;
  std::vector<Index> positions;
  const Transfer done = transfer_all(10, [&](Index position, std::size_t left) -> Index {
    positions.push_back(position);
    EXPECT_EQ(static_cast<Index>(left), 10 - position);
    if (++calls % 2) return errno = EINTR, -1;
    return 4 < left ? 4 : static_cast<Index>(left);
  });
  EXPECT_EQ(done.bytes, 10);
  EXPECT_EQ(done.error, 0);
  EXPECT_EQ(positions, (std::vector<Index>{0, 0, 4, 4, 8, 8}));
}

TEST(transfer, stops_at_the_end_and_at_errors) {
  const Transfer ended = transfer_all(10, [](Index position, std::size_t) -> Index { return position < 6 ? 3 : 0; });
  EXPECT_EQ(ended.bytes, 6);
  EXPECT_EQ(ended.error, 0);
  const Transfer failed =
      transfer_all(10, [](Index position, std::size_t) -> Index { return position < 6 ? 3 : (errno = EIO, -1); });
  EXPECT_EQ(failed.bytes, 6);
  EXPECT_EQ(failed.error, EIO);
  EXPECT_EQ(transfer_all(0, [](Index, std::size_t) -> Index { return -1; }).error, 0);
}

TEST_F(files, a_regular_file_is_read) {
  put("text", "0123456789");
  auto file = InputFile::open(path("text"));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->bytes(), 10);
  std::array<std::byte, 4> bytes = {};
  ASSERT_TRUE(file->read_at(3, bytes));
  EXPECT_EQ(bytes[0], std::byte{'3'});
  const Status beyond = file->read_at(8, bytes);
  EXPECT_EQ(beyond.code(), Code::io_error);
  EXPECT_NE(beyond.message().find("2 of 4 bytes"), std::string::npos) << beyond.message();
}

TEST_F(files, other_kinds_are_refused_by_name) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("loop", path("loop"));
  const std::pair<std::string, const char*> kCases[] = {
      {folder_, "a folder"},
      {path("pipe"), "a pipe"},
      {"/dev/null", "a device"},
      {path("absent"), "No such file"},
      {path("loop"), "symbolic links"},
      {"", "empty"},
      {std::string("a\0b", 3), "NUL byte"},
  };
  for (const auto& [name, words] : kCases) {
    const auto file = InputFile::open(name);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code(), Code::io_error);
    EXPECT_NE(file.error().message().find(words), std::string::npos) << file.error().message();
  }
}

TEST_F(files, an_unreadable_file_is_refused) {
  put("secret", "x");
  fs::permissions(path("secret"), fs::perms::none);
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;  // root may read every file, so be someone else for one call
  ASSERT_EQ(root ? ::seteuid(kNobody) : 0, 0);
  const auto file = InputFile::open(path("secret"));
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find("Permission denied"), std::string::npos) << file.error().message();
}

TEST_F(files, messages_name_the_file_on_one_line) {
  const auto file = InputFile::open(path("a\nb\x1b[2J"));
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find("a?b?[2J: "), std::string::npos) << file.error().message();
}

TEST_F(files, an_output_appears_at_commit_only) {
  {
    auto file = OutputFile::create(path("out"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::as_bytes(std::span("abc", 3))));
    EXPECT_FALSE(fs::exists(path("out")));
    EXPECT_EQ(entries(), 1u);
  }
  EXPECT_EQ(entries(), 0u) << "the temporary file stayed";
  ASSERT_TRUE(write_whole(path("out"), "abc"));
  EXPECT_EQ(get("out"), "abc");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(files, replacing_keeps_permissions_and_follows_links) {
  put("old", "old");
  fs::permissions(path("old"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("old", path("link"));
  ASSERT_TRUE(write_whole(path("link"), "new"));
  EXPECT_EQ(get("old"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(fs::status(path("old")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(entries(), 2u);
}

TEST_F(files, names_of_every_length_that_the_system_takes_work) {
  ASSERT_TRUE(write_whole(path(std::string(255, 'n')), "abc"));
  EXPECT_FALSE(write_whole(path(std::string(256, 'n')), "abc"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(files, outputs_that_are_no_regular_files_are_refused_and_stay) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_directory(path("sub"));
  const std::string kTargets[] = {path("pipe"), path("sub"), "/dev/null", path("absent/out"), ""};
  for (const std::string& name : kTargets) {
    const Status status = write_whole(name, "abc");
    EXPECT_EQ(status.code(), Code::io_error) << name;
    EXPECT_NE(status.message().find(": "), std::string::npos);
  }
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(entries(), 2u);
}

TEST_F(files, a_full_disk_leaves_the_old_file) {
  put("out", "old");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small = {.rlim_cur = 4096, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_whole(path("out"), std::string(100000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(status.code(), Code::io_error);
  EXPECT_NE(status.message().find("File too large"), std::string::npos) << status.message();
  EXPECT_EQ(get("out"), "old");
  EXPECT_EQ(entries(), 1u);
}

}  // namespace
}  // namespace ndfold::io
