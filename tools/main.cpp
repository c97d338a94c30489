// The command ndfold: finds the verb, runs it, and turns whatever went wrong into one line and exit code 2.
#include <ndfold/version.h>

#include "tools/verbs.h"

#include <iostream>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ndfold;

constexpr int kFailed = 2;

constexpr const char* kAbout =
    "Softmax and reductions of N-dimensional arrays over any axes.\n"
    "Arrays are .npy files, as numpy.save() writes and numpy.load() reads them.";

constexpr const char* kExamples =
    "Examples:\n"
    "  ndfold info photo.npy\n"
    "  ndfold softmax photo.npy -o peaks.npy --axes 0,1 --scale 0.5\n"
    "  ndfold reduce photo.npy -o means.npy --op mean --axes -1\n"
    "  ndfold explain --op softmax --shape 64,512,4096 --axes 1 --dtype f32 --device h200\n"
    "'ndfold VERB --help' explains a verb.";

int fail(std::string sentence) {
  for (char& letter : sentence)
    if (static_cast<unsigned char>(letter) < ' ') letter = ' ';  // one line, whatever a file is called
  std::cerr << "ndfold: " << sentence << '\n';
  return kFailed;
}

int finish() { return std::cout.flush() ? 0 : fail("standard output could not be written"); }

int run(int argc, char** argv) {
  CLI::App app(kAbout, "ndfold");
  app.footer(kExamples);
  app.set_version_flag("--version", "ndfold " NDFOLD_VERSION);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(28);
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.get_formatter()->label("Subcommands", "Verbs");

  std::vector<std::pair<CLI::App*, cli::Action>> verbs;
  for (const auto& verb : cli::kVerbs) {
    auto* parser = app.add_subcommand(verb.name, verb.help);
    verbs.emplace_back(parser, verb.add(*parser));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    app.exit(help_or_version);
    return finish();
  } catch (const CLI::ExtrasError& error) {
    const auto chosen = app.get_subcommands();
    return fail(std::string(error.what()) + "; see 'ndfold " + (chosen.empty() ? "" : chosen[0]->get_name() + " ") +
                "--help'");
  }
  for (const auto& [parser, action] : verbs) {
    if (!parser->parsed()) continue;
    const auto status = action();
    if (!status.ok()) return fail(status.message());
    return finish();
  }
  return fail("no verb was given; 'ndfold --help' lists them");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::exception& error) {  // CLI::ParseError is one: its text is a sentence
    return fail(error.what());
  }
}
