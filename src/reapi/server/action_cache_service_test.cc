#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "reapi/server/cas_for_test.h"
#include "reapi/wire/fields.h"
#include "testing/failing_store.h"

namespace casemate::reapi {
namespace {

using testing::DigestOf;
using testing::Has;
using testing::MustPut;
using testing::MustRead;
using testing::RandomText;

proto::OutputFile FileOf(const std::string& path, const std::string& text) {
  proto::OutputFile file;
  file.set_path(path);
  *file.mutable_digest() = ToProto(DigestOf(text));
  return file;
}

class ActionCacheCalls : public OverStores {
 protected:
  Answered<proto::ActionResult> Get(const proto::GetActionResultRequest& r) {
    return scene_.Call<proto::ActionResult>("GetActionResult", r);
  }
  Answered<proto::ActionResult> Get(const Digest& action,
                                    const std::string& instance = "") {
    proto::GetActionResultRequest request;
    request.set_instance_name(instance);
    *request.mutable_action_digest() = ToProto(action);
    return Get(request);
  }
  Answered<proto::ActionResult> Update(
      const proto::UpdateActionResultRequest& request) {
    return scene_.Call<proto::ActionResult>("UpdateActionResult", request);
  }
  Answered<proto::ActionResult> Update(const Digest& action,
                                       const proto::ActionResult& result,
                                       const std::string& instance = "") {
    proto::UpdateActionResultRequest request;
    request.set_instance_name(instance);
    *request.mutable_action_digest() = ToProto(action);
    *request.mutable_action_result() = result;
    return Update(request);
  }

  const Digest action_ = DigestOf("an action");
};
CASEMATE_OVER_STORES(ActionCacheCalls);

TEST_P(ActionCacheCalls, GivesBackWhatWasKept) {
  proto::ActionResult result;
  MustPut(*store_, "a");
  *result.add_output_files() = FileOf("a", "a");
  result.set_exit_code(3);
  result.mutable_execution_metadata()->set_worker("w");
  EXPECT_TRUE(Update(action_, result).status.ok());
  const auto got = Get(action_);
  EXPECT_TRUE(got.status.ok());
  EXPECT_EQ(got.bytes, result.SerializeAsString());
}

TEST_P(ActionCacheCalls, R163_AnUnknownActionIsNotFound) {
  EXPECT_EQ(Get(action_).status.code, Code::kNotFound);
  EXPECT_TRUE(Update(action_, {}).status.ok());
  const Digest longer(action_.function(), action_.hash(), action_.size() + 1);
  EXPECT_EQ(Get(longer).status.code, Code::kNotFound);
  EXPECT_EQ(Get(DigestOf("an action", DigestFunction::kSha1)).status.code,
            Code::kNotFound);
  EXPECT_EQ(Get(action_, "other").status.code, Code::kNotFound);
}

TEST_P(ActionCacheCalls, R185_AnAllDefaultResultIsLegal) {
  const auto updated = Update(action_, {});
  EXPECT_TRUE(updated.status.ok());
  const auto got = Get(action_);
  EXPECT_TRUE(got.status.ok());
  EXPECT_EQ(got.bytes, "");
}

TEST_P(ActionCacheCalls, R187_AnActionDigestIsNoBlob) {
  EXPECT_TRUE(Update(action_, {}).status.ok());
  EXPECT_FALSE(Has(*store_, action_));
  EXPECT_EQ(Get(MustPut(*store_, "a blob")).status.code, Code::kNotFound);
}

TEST_P(ActionCacheCalls, R030_ResultsBelongToTheirInstance) {
  proto::ActionResult one, two;
  one.set_exit_code(1);
  two.set_exit_code(2);
  EXPECT_TRUE(Update(action_, one, "a/b").status.ok());
  EXPECT_TRUE(Update(action_, two, "").status.ok());
  EXPECT_EQ(Get(action_, "a/b").response.exit_code(), 1);
  EXPECT_EQ(Get(action_, "").response.exit_code(), 2);
}

TEST_P(ActionCacheCalls, R008_D26_UnknownFieldsAndAllLinksComeBackAsTheyWere) {
  proto::ActionResult result;
  for (auto* const link :
       {result.add_output_symlinks(), result.add_output_file_symlinks(),
        result.add_output_directory_symlinks()}) {
    link->set_path("link");
    link->set_target("/dangling");
  }
  const std::string bytes =
      "\xc2\x3e\x03xyz" + result.SerializeAsString() + "\x20\x07";
  proto::UpdateActionResultRequest request;
  *request.mutable_action_digest() = ToProto(action_);
  std::string message = request.SerializeAsString();
  AppendBytesField(message, 3, bytes);
  const auto updated = scene_.Call("UpdateActionResult", message);
  EXPECT_TRUE(updated.status.ok()) << updated.status.message;
  EXPECT_EQ(updated.answer, bytes);
  EXPECT_EQ(Get(action_).bytes, bytes);
}

// A result that refers to a blob of each kind.
struct Everything {
  Everything() {
    proto::Tree tree;
    *tree.mutable_root() = DirectoryOf({"file in tree root"});
    *tree.add_children() = DirectoryOf({"file in tree child"});
    AddChild(*tree.mutable_root(), "child",
             tree.children(0).SerializeAsString());
    const auto below = DirectoryOf({"file below root directory"});
    auto root = DirectoryOf({"file in root directory"});
    AddChild(root, "below", below.SerializeAsString());
    texts = {"output",
             "out",
             "err",
             tree.SerializeAsString(),
             "file in tree root",
             "file in tree child",
             root.SerializeAsString(),
             below.SerializeAsString(),
             "file in root directory",
             "file below root directory"};
    *result.add_output_files() = FileOf("output", "output");
    *result.mutable_stdout_digest() = ToProto(DigestOf("out"));
    *result.mutable_stderr_digest() = ToProto(DigestOf("err"));
    *result.add_output_directories()->mutable_tree_digest() =
        ToProto(DigestOf(texts[3]));
    auto& directory = *result.add_output_directories();
    directory.set_path("d");
    *directory.mutable_root_directory_digest() = ToProto(DigestOf(texts[6]));
  }
  std::vector<std::string> texts;
  proto::ActionResult result;
};

TEST_P(ActionCacheCalls, R164_R165_R166_D27_AResultIsAMissWithoutEachBlob) {
  const Everything all;
  EXPECT_TRUE(Update(action_, all.result).status.ok());
  // Each blob in turn is the last to come.
  for (const std::string& text : all.texts) {
    EXPECT_EQ(Get(action_).status.code, Code::kNotFound);
    MustPut(*store_, text);
  }
  EXPECT_TRUE(Get(action_).status.ok());  // revived.
  for (const std::string& last : all.texts) {
    const auto store = MakeMemoryStore();
    Scene scene(*store);
    proto::UpdateActionResultRequest update;
    *update.mutable_action_digest() = ToProto(action_);
    *update.mutable_action_result() = all.result;
    (void)scene.Call<proto::ActionResult>("UpdateActionResult", update);
    for (const std::string& text : all.texts) {
      if (text != last) MustPut(*store, text);
    }
    proto::GetActionResultRequest get;
    *get.mutable_action_digest() = ToProto(action_);
    EXPECT_EQ(
        scene.Call<proto::ActionResult>("GetActionResult", get).status.code,
        Code::kNotFound)
        << last;
  }
}

TEST_P(ActionCacheCalls, D27_ATreeAndItsFilesAreEnough) {
  proto::Tree tree;
  *tree.add_children() = DirectoryOf({"file"});
  AddChild(*tree.mutable_root(), "c", tree.children(0).SerializeAsString());
  MustPut(*store_, tree.SerializeAsString());
  MustPut(*store_, "file");
  proto::ActionResult result;
  *result.add_output_directories()->mutable_tree_digest() =
      ToProto(DigestOf(tree.SerializeAsString()));
  EXPECT_TRUE(Update(action_, result).status.ok());
  EXPECT_TRUE(Get(action_).status.ok());
}

TEST_P(ActionCacheCalls, R088_AnUploadUnderWayDoesNotMakeAResultComplete) {
  proto::ActionResult result;
  *result.add_output_files() = FileOf("a", "hello");
  EXPECT_TRUE(Update(action_, result).status.ok());
  const auto writer =
      store_->StartWrite({}, DigestOf("hello"), "id", Encoding::kIdentity)
          .value();
  ASSERT_TRUE(writer->Write({}, AsBytes("hello")));
  EXPECT_EQ(Get(action_).status.code, Code::kNotFound);
}

proto::ActionResult WithOutputs(BlobStore& store) {
  proto::ActionResult result;
  for (const std::string& text : std::vector<std::string>{"a", "ab", ""}) {
    MustPut(store, "text of " + text);
    *result.add_output_files() = FileOf("dir/" + text, "text of " + text);
  }
  *result.mutable_stdout_digest() = ToProto(MustPut(store, "out"));
  *result.mutable_stderr_digest() = ToProto(MustPut(store, "err"));
  return result;
}

TEST_P(ActionCacheCalls, R167_NothingIsInlinedUnlessAsked) {
  const auto result = WithOutputs(*store_);
  EXPECT_TRUE(Update(action_, result).status.ok());
  EXPECT_EQ(Get(action_).bytes, result.SerializeAsString());
}

TEST_P(ActionCacheCalls, R168_R170_R171_InlinesWhatIsAskedBesideItsDigest) {
  proto::ActionResult expected = WithOutputs(*store_);
  EXPECT_TRUE(Update(action_, expected).status.ok());
  proto::GetActionResultRequest request;
  *request.mutable_action_digest() = ToProto(action_);
  request.set_inline_stdout(true);
  request.set_inline_stderr(true);
  for (const char* const path : {"dir/ab", "dir", "ab", "dir/abc"}) {
    request.add_inline_output_files(path);
  }
  expected.set_stdout_raw("out");
  expected.set_stderr_raw("err");
  expected.mutable_output_files(1)->set_contents("text of ab");
  EXPECT_EQ(Get(request).response.SerializeAsString(),
            expected.SerializeAsString());
}

TEST_P(ActionCacheCalls, R169_InliningNeverMakesTheAnswerTooLarge) {
  proto::ActionResult result;
  proto::GetActionResultRequest request;
  *request.mutable_action_digest() = ToProto(action_);
  request.set_inline_stdout(true);
  for (unsigned i = 0; i < 10; ++i) {
    const std::string text = RandomText(1 << 20, i);
    MustPut(*store_, text);
    *result.add_output_files() = FileOf(std::to_string(i), text);
    request.add_inline_output_files(std::to_string(i));
  }
  *result.mutable_stdout_digest() = ToProto(MustPut(*store_, "out"));
  EXPECT_TRUE(Update(action_, result).status.ok());
  const auto got = Get(request);
  EXPECT_LT(got.bytes.size(), kPeerMessageLimit);
  int inlined = 0;
  for (const auto& file : got.response.output_files()) {
    inlined += !file.contents().empty();
  }
  EXPECT_EQ(inlined, 3);
  EXPECT_EQ(got.response.stdout_raw(), "out");
  EXPECT_EQ(scene_.admission.used(), 0);
}

TEST_P(ActionCacheCalls, R173_R174_InlinedDataGoesToTheCas) {
  proto::ActionResult result;
  result.add_output_files()->set_path("a");
  result.mutable_output_files(0)->set_contents("content");
  result.set_stdout_raw("out");
  const auto wait = scene_.arrivals.Expect(*store_, DigestOf("content"), [] {});
  const auto updated = Update(action_, result);
  ASSERT_TRUE(updated.status.ok()) << updated.status.message;
  EXPECT_EQ(FromProto(updated.response.output_files(0).digest()),
            DigestOf("content"));
  EXPECT_EQ(updated.response.output_files(0).contents(), "");
  EXPECT_EQ(FromProto(updated.response.stdout_digest()), DigestOf("out"));
  EXPECT_EQ(MustRead(*store_, DigestOf("content")), "content");
  EXPECT_EQ(MustRead(*store_, DigestOf("out")), "out");
  EXPECT_EQ(Get(action_).bytes, updated.bytes);
  EXPECT_TRUE(wait->arrived());
}

TEST_P(ActionCacheCalls, R173_RefusesInlinedDataWithAForeignDigest) {
  proto::ActionResult result;
  *result.add_output_files() = FileOf("a", "other");
  result.mutable_output_files(0)->set_contents("content");
  EXPECT_EQ(Update(action_, result).status.code, Code::kInvalidArgument);
  EXPECT_EQ(Get(action_).status.code, Code::kNotFound);
}

TEST_P(ActionCacheCalls, R177_AnUpdateWithoutAResultIsRefused) {
  proto::UpdateActionResultRequest request;
  *request.mutable_action_digest() = ToProto(action_);
  EXPECT_EQ(Update(request).status.code, Code::kInvalidArgument);
  EXPECT_EQ(Get(action_).status.code, Code::kNotFound);
}

TEST_P(ActionCacheCalls, R005_R177_AnAbsentOrMalformedActionDigestIsRefused) {
  proto::UpdateActionResultRequest update;
  update.mutable_action_result();
  EXPECT_EQ(Update(update).status.code, Code::kInvalidArgument);
  EXPECT_EQ(Get(proto::GetActionResultRequest()).status.code,
            Code::kInvalidArgument);
  for (const std::string& hash :
       {std::string(64, 'A'), std::string(63, 'a'), std::string(64, 'g')}) {
    update.mutable_action_digest()->set_hash(hash);
    EXPECT_EQ(Update(update).status.code, Code::kInvalidArgument);
  }
  *update.mutable_action_digest() = ToProto(action_);
  update.mutable_action_digest()->set_size_bytes(-1);
  EXPECT_EQ(Update(update).status.code, Code::kInvalidArgument);
}

TEST_P(ActionCacheCalls, R177_R186_BadPathsAreRefused) {
  proto::ActionResult result;
  *result.add_output_files() = FileOf("/absolute", "a");
  EXPECT_EQ(Update(action_, result).status.code, Code::kInvalidArgument);
  result.Clear();
  result.add_output_symlinks()->set_path("/absolute");
  EXPECT_EQ(Update(action_, result).status.code, Code::kInvalidArgument);
  result.Clear();
  *result.add_output_directories()->mutable_tree_digest() =
      ToProto(DigestOf(""));
  EXPECT_TRUE(Update(action_, result).status.ok());
}

TEST_P(ActionCacheCalls, R022_R024_R025_TheFunctionIsNumberSixAndFive) {
  proto::GetActionResultRequest get;
  proto::UpdateActionResultRequest update;
  *get.mutable_action_digest() = ToProto(action_);
  *update.mutable_action_digest() = ToProto(action_);
  update.mutable_action_result();
  const std::pair<int, bool> functions[] = {
      {0, true}, {1, true}, {2, false}, {9, false}, {77, false}};
  for (const auto& [function, good] : functions) {
    const auto value = static_cast<proto::DigestFunction::Value>(function);
    get.set_digest_function(value);
    update.set_digest_function(value);
    const Code expected = good ? Code::kOk : Code::kInvalidArgument;
    EXPECT_EQ(Update(update).status.code, expected) << function;
    EXPECT_EQ(Get(get).status.code, expected) << function;
  }
}

TEST_P(ActionCacheCalls, R024_OutputsOfAnotherFunctionAreRefused) {
  proto::ActionResult result;
  *result.mutable_stdout_digest() =
      ToProto(DigestOf("x", DigestFunction::kSha1));
  EXPECT_EQ(Update(action_, result).status.code, Code::kInvalidArgument);
}

TEST_P(ActionCacheCalls, R031_R036_RefusesMalformedInstances) {
  EXPECT_EQ(Update(action_, {}, "a/uploads").status.code,
            Code::kInvalidArgument);
  EXPECT_EQ(Get(action_, "..").status.code, Code::kInvalidArgument);
}

TEST_P(ActionCacheCalls, R181_OfUpdatesAtOnceOneWins) {
  std::vector<std::jthread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([this, t] {
      proto::ActionResult result;
      result.set_exit_code(t);
      result.mutable_execution_metadata()->set_worker(
          std::string(static_cast<size_t>(1000 * t), 'w'));
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(Update(action_, result).status.ok());
        const auto got = Get(action_).response;
        EXPECT_EQ(got.execution_metadata().worker().size(),
                  static_cast<size_t>(1000 * got.exit_code()));
      }
    });
  }
}

TEST_P(ActionCacheCalls, R182_ResultsOfActionsNotToBeCachedAreRefused) {
  proto::Action action;
  *action.mutable_command_digest() = ToProto(DigestOf("command"));
  action.set_do_not_cache(true);
  const Digest digest = MustPut(*store_, action.SerializeAsString());
  EXPECT_EQ(Update(digest, {}).status.code, Code::kFailedPrecondition);
  EXPECT_EQ(Get(digest).status.code, Code::kNotFound);
  action.set_do_not_cache(false);
  EXPECT_TRUE(
      Update(MustPut(*store_, action.SerializeAsString()), {}).status.ok());
}

TEST_P(ActionCacheCalls, R182_AnActionThatIsNoneDoesNotMatter) {
  EXPECT_TRUE(Update(MustPut(*store_, RandomText(1000)), {}).status.ok());
}

TEST_P(ActionCacheCalls, D28_ByDefaultNothingNeedBeThere) {
  proto::ActionResult result;
  *result.add_output_files() = FileOf("a", "absent");
  EXPECT_TRUE(Update(action_, result).status.ok());
}

// The subjects of the violations in a status.
std::vector<std::string> Violations(const rpc::Status& status) {
  google::rpc::Status details;
  google::rpc::PreconditionFailure failure;
  EXPECT_TRUE(details.ParseFromString(status.details));
  EXPECT_EQ(details.code(), static_cast<int>(status.code));
  EXPECT_EQ(details.message(), status.message);
  if (details.details_size() != 1) return {};
  EXPECT_TRUE(details.details(0).UnpackTo(&failure));
  std::vector<std::string> subjects;
  for (const auto& violation : failure.violations()) {
    EXPECT_EQ(violation.type(), "MISSING");
    subjects.push_back(violation.subject());
  }
  return subjects;
}

TEST_P(ActionCacheCalls, R176_R188_MayInsistOnActionCommandAndOutputs) {
  scene_.Use({.require_action_blobs = true});
  proto::Action action;
  *action.mutable_command_digest() = ToProto(DigestOf("command"));
  const Digest digest = DigestOf(action.SerializeAsString());
  proto::ActionResult result;
  *result.add_output_files() = FileOf("a", "output");
  const auto refused = [&](const Digest& missing) {
    const auto updated = Update(digest, result);
    EXPECT_EQ(updated.status.code, Code::kFailedPrecondition);
    EXPECT_EQ(Violations(updated.status),
              std::vector{"blobs/" + missing.ToString()});
  };
  refused(digest);
  MustPut(*store_, action.SerializeAsString());
  refused(DigestOf("command"));
  MustPut(*store_, "command");
  refused(DigestOf("output"));
  MustPut(*store_, "output");
  EXPECT_TRUE(Update(digest, result).status.ok());
}

TEST_P(ActionCacheCalls, R203_PrioritiesAreIgnored) {
  proto::UpdateActionResultRequest request;
  *request.mutable_action_digest() = ToProto(action_);
  request.mutable_action_result();
  request.mutable_results_cache_policy()->set_priority(1'000'000);
  EXPECT_TRUE(Update(request).status.ok());
}

TEST_P(ActionCacheCalls, R232_PassesOverUnknownFields) {
  EXPECT_TRUE(Update(action_, {}).status.ok());
  proto::GetActionResultRequest request;
  *request.mutable_action_digest() = ToProto(action_);
  EXPECT_TRUE(scene_
                  .Call("GetActionResult",
                        "\xc2\x3e\x03xyz" + request.SerializeAsString())
                  .status.ok());
}

TEST_P(ActionCacheCalls, RefusesGarbage) {
  for (const char* const method : {"GetActionResult", "UpdateActionResult"}) {
    EXPECT_EQ(scene_.Call(method, RandomText(10'000)).status.code,
              Code::kInvalidArgument);
  }
  proto::UpdateActionResultRequest request;
  *request.mutable_action_digest() = ToProto(action_);
  std::string message = request.SerializeAsString();
  AppendBytesField(message, 3, RandomText(1000));
  EXPECT_EQ(scene_.Call("UpdateActionResult", message).status.code,
            Code::kInvalidArgument);
}

TEST_P(ActionCacheCalls, MillionsOfEmptyOutputsCostLittle) {
  proto::UpdateActionResultRequest request;
  *request.mutable_action_digest() = ToProto(action_);
  std::string message = request.SerializeAsString(), result;
  for (int i = 0; i < 4'000'000; ++i) result += std::string("\x12\x00", 2);
  AppendBytesField(message, 3, result);
  EXPECT_EQ(scene_.Call("UpdateActionResult", message).status.code,
            Code::kInvalidArgument);
}

TEST_P(ActionCacheCalls, R235_CancelledCallsGiveAllBack) {
  for (const char* const method : {"GetActionResult", "UpdateActionResult"}) {
    proto::UpdateActionResultRequest request;
    *request.mutable_action_digest() = ToProto(action_);
    testing::MemoryCall call(scene_.ServiceOf(method), scene_.PathOf(method),
                             scene_.pool);
    call.Send(request.SerializeAsString());
    call.Cancel();
    EXPECT_EQ(call.Wait().code, Code::kCancelled);
  }
  EXPECT_EQ(scene_.admission.used(), 0);
}

TEST(ActionCacheFull, R178_SaysWhenThereIsNoRoom) {
  const auto store = MakeMemoryStore();
  Scene scene(*store, actions::MakeMemoryActionCache(100));
  proto::UpdateActionResultRequest request;
  *request.mutable_action_digest() = ToProto(DigestOf("a"));
  request.mutable_action_result();
  EXPECT_EQ(scene.Call<proto::ActionResult>("UpdateActionResult", request)
                .status.code,
            Code::kResourceExhausted);
}

TEST(ActionCacheMemory, ALargeResultIsCountedUntilItIsSent) {
  const auto store = MakeMemoryStore();
  Scene scene(*store, nullptr, 4 << 20);
  proto::UpdateActionResultRequest update;
  *update.mutable_action_digest() = ToProto(DigestOf("a"));
  update.mutable_action_result()->mutable_execution_metadata()->set_worker(
      std::string(900'000, 'w'));
  ASSERT_TRUE(scene.Call<proto::ActionResult>("UpdateActionResult", update)
                  .status.ok());
  proto::GetActionResultRequest request;
  *request.mutable_action_digest() = ToProto(DigestOf("a"));
  {
    testing::MemoryCall call(scene.ServiceOf("GetActionResult"),
                             scene.PathOf("GetActionResult"), scene.pool);
    call.Send(request.SerializeAsString());
    call.HalfClose();
    ASSERT_TRUE(call.Receive());
    EXPECT_GE(scene.admission.used(), 900'000);
    const auto taken = scene.admission.TryTake((4 << 20) - 1'500'000);
    ASSERT_TRUE(taken);
    EXPECT_EQ(
        scene.Call<proto::ActionResult>("GetActionResult", request).status.code,
        Code::kResourceExhausted);
  }
  EXPECT_EQ(scene.admission.used(), 0);
}

TEST(ActionCacheOutage, AStoreThatIsDownIsNoMiss) {
  testing::FailingStore store(Code::kUnavailable);
  auto cache = actions::MakeMemoryActionCache();
  proto::ActionResult result;
  *result.mutable_stdout_digest() = ToProto(DigestOf("out"));
  ASSERT_TRUE(cache->Update({}, {"", DigestOf("a")},
                            Bytes::FromString(result.SerializeAsString())));
  Scene scene(store, std::move(cache));
  proto::GetActionResultRequest request;
  *request.mutable_action_digest() = ToProto(DigestOf("a"));
  EXPECT_EQ(
      scene.Call<proto::ActionResult>("GetActionResult", request).status.code,
      Code::kUnavailable);
}

TEST(ActionCacheDamage, WhatIsNoResultIsAMiss) {
  const auto store = MakeMemoryStore();
  auto cache = actions::MakeMemoryActionCache();
  ASSERT_TRUE(cache->Update({}, {"", DigestOf("a")},
                            Bytes::FromString("\x12\x05garbage")));
  Scene scene(*store, std::move(cache));
  proto::GetActionResultRequest request;
  *request.mutable_action_digest() = ToProto(DigestOf("a"));
  EXPECT_EQ(
      scene.Call<proto::ActionResult>("GetActionResult", request).status.code,
      Code::kNotFound);
}

}  // namespace
}  // namespace casemate::reapi
