// Checks that bad files are refused with a message that names the file and the error, and that the
// optimizer then continues as if nothing had been loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "sing/io/safetensors.hpp"
#include "tests/optim/resumable_run.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/same_bytes.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using test::message_of;
using test::ResumableRun;
using test::same_bytes;
using test::TemporaryFolder;

// Holds the parts of a state file, which a test can change.
struct FileParts {
  std::map<std::string, std::string> metadata;
  Json optimizer;
  std::vector<TensorEntry> entries;
  std::vector<std::vector<std::byte>> bytes;

  explicit FileParts(const std::filesystem::path& path) {
    const SafetensorsReader reader(path);
    metadata = reader.metadata();
    optimizer = Json::parse(metadata.at("optimizer"));
    for (const TensorEntry& entry : reader.tensors()) {
      entries.push_back(entry);
      bytes.emplace_back(*byte_size_of(entry));
      reader.read(entry, bytes.back().data());
    }
  }

  void write(const std::filesystem::path& path) {
    if (metadata.contains("optimizer")) {
      metadata["optimizer"] = optimizer.dump();
    }
    std::vector<TensorBytes> tensors;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      tensors.push_back({entries[i], bytes[i].data()});
    }
    write_safetensors(path, metadata, tensors);
  }

  std::size_t index_of(const std::string& name) const {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].name == name) {
        return i;
      }
    }
    ADD_FAILURE() << "no tensor " << name;
    return 0;
  }

  Json& parameter(std::size_t group, std::size_t place) {
    return optimizer["groups"][group]["parameters"][place];
  }
};

class BadStateFile : public test::BackendTest {
 protected:
  BadStateFile() : path_(folder_ / "state.safetensors") {}

  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    ResumableRun saved(backend_, Dtype::kFloat32, {});
    for (int step = 0; step < 4; ++step) {
      saved.take_step(step);
    }
    saved.optimizer().save(path_);
  }

  // Changes a good file and returns the message of loading it, after checking that nothing changed.
  std::string refusal(const std::function<void(FileParts&)>& change) {
    FileParts parts(path_);
    change(parts);
    parts.write(folder_ / "changed");
    return refusal_of("changed");
  }

  std::string refusal_of(const std::string& name) {
    ResumableRun run(backend_, Dtype::kFloat32, {});
    ResumableRun twin(backend_, Dtype::kFloat32, {});
    run.take_step(0);
    twin.take_step(0);
    const std::string message =
        message_of<FileError>([&] { run.optimizer().load(folder_ / name); });
    EXPECT_THAT(message, HasSubstr(name));
    EXPECT_TRUE(same_bytes(run.everything(), twin.everything())) << "changed by a refused file";
    run.take_step(1);
    twin.take_step(1);
    EXPECT_TRUE(same_bytes(run.everything(), twin.everything())) << "changed by a refused file";
    return message;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_;
};
SING_ON_BACKENDS(BadStateFile,
                 (std::vector{test::reference_backend(),
                              test::cpu_backend(InstructionSet::kBest, 2), test::cuda_backend()}));

TEST_P(BadStateFile, AnUnchangedCopyIsGood) {
  FileParts parts(path_);
  parts.write(folder_ / "copy");
  ResumableRun run(backend_, Dtype::kFloat32, {});
  EXPECT_NO_THROW(run.optimizer().load(folder_ / "copy"));
  EXPECT_EQ(run.optimizer().tensor_progress()[0].steps, 4);
}

TEST_P(BadStateFile, Absent) { refusal_of("nowhere"); }

TEST_P(BadStateFile, Truncated) {
  const std::string whole = test::read_whole(path_);
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 23) {
    test::write_whole(folder_ / "short", whole.substr(0, size));
    refusal_of("short");
  }
  test::write_whole(folder_ / "short", whole.substr(0, whole.size() - 1));
  refusal_of("short");
}

TEST_P(BadStateFile, WithBytesAfterItsEnd) {
  test::write_whole(folder_ / "long", test::read_whole(path_) + "x");
  refusal_of("long");
}

TEST_P(BadStateFile, ForeignText) {
  test::write_whole(folder_ / "text",
                    "This is no safetensors file, but a sentence of some length.");
  refusal_of("text");
}

TEST_P(BadStateFile, ForeignSafetensors) {
  EXPECT_THAT(refusal([](FileParts& parts) { parts.metadata = {{"format", "pt"}}; }),
              AllOf(HasSubstr("format"), HasSubstr("'pt'")));
  EXPECT_THAT(refusal([](FileParts& parts) { parts.metadata.clear(); }), HasSubstr("format"));
  EXPECT_THAT(refusal([](FileParts& parts) { parts.metadata.erase("optimizer"); }),
              HasSubstr("'optimizer'"));
}

TEST_P(BadStateFile, Newer) {
  EXPECT_THAT(refusal([](FileParts& parts) { parts.metadata["format_version"] = "2"; }),
              AllOf(HasSubstr("version"), HasSubstr("2")));
}

TEST_P(BadStateFile, BrokenMetadata) {
  EXPECT_THAT(refusal([](FileParts& parts) { parts.optimizer["groups"][0]["steps"] = "four"; }),
              HasSubstr("as 'steps', got \"four\""));
  EXPECT_THAT(refusal([](FileParts& parts) { parts.optimizer.erase("groups"); }),
              HasSubstr("groups"));
  EXPECT_THAT(refusal([](FileParts& parts) { parts.optimizer = Json::array(); }),
              HasSubstr("metadata"));
  EXPECT_THAT(refusal([](FileParts& parts) { parts.parameter(0, 0).erase("shape"); }),
              HasSubstr("shape"));
}

TEST_P(BadStateFile, NegativeCounters) {
  refusal([](FileParts& parts) { parts.parameter(0, 0)["steps"] = -1; });
  refusal([](FileParts& parts) { parts.optimizer["groups"][0]["steps"] = -1; });
}

TEST_P(BadStateFile, FractionalCounters) {
  EXPECT_THAT(refusal([](FileParts& parts) { parts.parameter(0, 0)["steps"] = 1.5; }),
              HasSubstr("'steps', got 1.5"));
  EXPECT_THAT(refusal([](FileParts& parts) { parts.optimizer["skipped_tensors"] = 1e3; }),
              HasSubstr("'skipped_tensors'"));
}

TEST_P(BadStateFile, MissingOptions) {
  for (const char* name : {"learning_rate", "centralize", "lookahead_alpha", "non_finite"}) {
    EXPECT_THAT(
        refusal([&](FileParts& parts) { parts.optimizer["groups"][1]["options"].erase(name); }),
        HasSubstr(std::string("wanted the option '") + name + "', got none"));
  }
}

TEST_P(BadStateFile, UnknownOrBadOptions) {
  EXPECT_THAT(refusal([](FileParts& parts) { parts.optimizer["learning_rate_factor"] = -1; }),
              HasSubstr("learning_rate_factor"));
  EXPECT_THAT(
      refusal([](FileParts& parts) { parts.optimizer["groups"][0]["options"]["betta1"] = 0.5; }),
      HasSubstr("'betta1'"));
  EXPECT_THAT(
      refusal([](FileParts& parts) { parts.optimizer["groups"][0]["options"]["beta1"] = 1.5; }),
      HasSubstr("beta1"));
  EXPECT_THAT(
      refusal([](FileParts& parts) { parts.optimizer["groups"][1]["options"]["beta1"] = "x"; }),
      HasSubstr("beta1"));
}

TEST_P(BadStateFile, MissingTensor) {
  for (const char* name : {"weight.first_moment", "bias.slow", "late.second_moment"}) {
    EXPECT_THAT(refusal([&](FileParts& parts) {
                  const auto place = static_cast<std::ptrdiff_t>(parts.index_of(name));
                  parts.entries.erase(parts.entries.begin() + place);
                  parts.bytes.erase(parts.bytes.begin() + place);
                }),
                HasSubstr(std::string("wanted tensor '") + name + "', got none"));
  }
}

TEST_P(BadStateFile, ExtraTensor) {
  EXPECT_THAT(refusal([](FileParts& parts) {
                parts.entries.push_back({"stranger.first_moment", Dtype::kFloat32, {1}});
                parts.bytes.emplace_back(4);
              }),
              HasSubstr("stranger.first_moment"));
}

TEST_P(BadStateFile, WrongShapeOfATensor) {
  EXPECT_THAT(refusal([](FileParts& parts) {
                parts.entries[parts.index_of("weight.first_moment")].shape = {7, 3};
              }),
              AllOf(HasSubstr("weight.first_moment"), HasSubstr("[3,7]"), HasSubstr("[7,3]")));
}

TEST_P(BadStateFile, WrongTypeOfATensor) {
  EXPECT_THAT(refusal([](FileParts& parts) {
                const std::size_t place = parts.index_of("weight.first_moment");
                parts.entries[place].dtype = Dtype::kFloat64;
                parts.bytes[place].resize(21 * 8);
              }),
              AllOf(HasSubstr("weight.first_moment"), HasSubstr("float32"), HasSubstr("float64")));
}

TEST_P(BadStateFile, OtherShapeOrTypeOfAParameter) {
  EXPECT_THAT(refusal([](FileParts& parts) { parts.parameter(0, 0)["shape"] = {21}; }),
              AllOf(HasSubstr("'weight'"), HasSubstr("[21]")));
  EXPECT_THAT(refusal([](FileParts& parts) { parts.parameter(1, 1)["dtype"] = "bfloat16"; }),
              AllOf(HasSubstr("'bias'"), HasSubstr("bfloat16")));
}

TEST_P(BadStateFile, MissingParameter) {
  EXPECT_THAT(
      refusal([](FileParts& parts) { parts.optimizer["groups"][1]["parameters"].erase(1); }),
      HasSubstr("wanted parameter 'bias' in group 1, got none"));
}

TEST_P(BadStateFile, ExtraParameter) {
  EXPECT_THAT(refusal([](FileParts& parts) {
                Json extra = parts.parameter(1, 1);
                extra["name"] = "stranger";
                extra["steps"] = 0;
                parts.optimizer["groups"][1]["parameters"].push_back(extra);
              }),
              HasSubstr("'stranger'"));
}

TEST_P(BadStateFile, OtherNumberOfGroups) {
  EXPECT_THAT(refusal([](FileParts& parts) { parts.optimizer["groups"].erase(1); }),
              AllOf(HasSubstr("2 groups"), HasSubstr("1")));
}

// The files were saved by optimizers with another rule, without LookAhead, or of another type.
TEST_P(BadStateFile, OfAnotherOptimizer) {
  const auto save = [&](Dtype dtype, const Options& options) {
    ResumableRun other(backend_, dtype, options);
    other.take_step(0);
    other.optimizer().save(folder_ / "other");
    return refusal_of("other");
  };
  EXPECT_THAT(save(Dtype::kFloat32, {.rule = AdaBelief{}}),
              AllOf(HasSubstr("adabelief"), HasSubstr("adamw")));
  EXPECT_THAT(save(Dtype::kFloat32, {.rule = Sgd{}}), HasSubstr("sgd"));
  // Yogi has the same arrays.
  EXPECT_THAT(save(Dtype::kFloat32, {.rule = Yogi{}}), HasSubstr("the rule cannot change"));
  EXPECT_THAT(save(Dtype::kFloat32, {.lookahead = std::nullopt}), HasSubstr("drop 'slow' of "));
  EXPECT_THAT(save(Dtype::kFloat64, {}), HasSubstr("float64"));
}

}  // namespace
}  // namespace sing
