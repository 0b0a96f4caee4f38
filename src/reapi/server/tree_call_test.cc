#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "reapi/server/cas_for_test.h"
#include "reapi/wire/fields.h"
#include "testing/counting_store.h"

namespace casemate::reapi {
namespace {

using testing::DigestOf;
using ::testing::ElementsAre;
using testing::MustPut;
using testing::RandomText;

proto::GetTreeRequest RequestOf(const Digest& root, int page_size = 0,
                                const std::string& token = "") {
  proto::GetTreeRequest request;
  *request.mutable_root_digest() = ToProto(root);
  request.set_page_size(page_size);
  request.set_page_token(token);
  return request;
}

// The stored bytes of a page's directories, as they stand in the message.
std::vector<std::string> DirectoriesIn(const std::string& page) {
  std::vector<std::string> all;
  const Bytes bytes = Bytes::FromString(page);
  FieldReader reader({&bytes, 1});
  std::string scratch;
  while (reader.Next()) {
    if (reader.Is(1, WireType::kBytes)) all.emplace_back(reader.Text(scratch));
  }
  EXPECT_TRUE(reader.ok());
  return all;
}

std::string TokenIn(const std::string& page) {
  proto::GetTreeResponse response;
  EXPECT_TRUE(response.ParseFromString(page));
  return response.next_page_token();
}

struct Walked {
  rpc::Status status;
  std::vector<Digest> digests;     // Of the directories, in their order.
  std::vector<std::string> pages;  // As they came.
};

Walked Walk(Scene& scene, const proto::GetTreeRequest& request) {
  testing::MemoryCall call(scene.ServiceOf("GetTree"), scene.PathOf("GetTree"),
                           scene.pool);
  call.Send(request.SerializeAsString());
  call.HalfClose();
  Walked walked;
  while (auto page = call.Receive()) {
    for (const std::string& bytes : DirectoriesIn(*page)) {
      walked.digests.push_back(DigestOf(bytes));
    }
    walked.pages.push_back(*std::move(page));
  }
  walked.status = call.Wait();
  return walked;
}

class GetTree : public OverStores {
 protected:
  Walked Walk(const proto::GetTreeRequest& request) {
    return reapi::Walk(scene_, request);
  }
  Code CodeOf(const proto::GetTreeRequest& request) {
    return Walk(request).status.code;
  }
  Digest Put(const proto::Directory& directory) {
    return MustPut(*store_, directory.SerializeAsString());
  }

  // A root of `count` children with a file each: they come in this order.
  std::vector<Digest> PutWide(int count) {
    proto::Directory root;
    std::vector<Digest> all = {{}};
    for (int i = 0; i < count; ++i) {
      const auto child = DirectoryOf({"file " + std::to_string(i)});
      AddChild(root, std::to_string(i), child.SerializeAsString());
      all.push_back(Put(child));
    }
    all[0] = Put(root);
    return all;
  }
};
CASEMATE_OVER_STORES(GetTree);

TEST_P(GetTree, R136_GivesAllDirectoriesAndTheRoot) {
  const auto all = PutWide(3);
  const auto walked = Walk(RequestOf(all[0]));
  EXPECT_TRUE(walked.status.ok());
  EXPECT_EQ(walked.digests, all);
  EXPECT_EQ(walked.pages.size(), 1u);
}

TEST_P(GetTree, R134_ARootThatIsNotStoredIsNotFound) {
  EXPECT_EQ(CodeOf(RequestOf(DigestOf("absent"))), Code::kNotFound);
}

TEST_P(GetTree, R135_LeavesOutWhatIsMissingFurtherDown) {
  const auto there = DirectoryOf({"there"});
  proto::Directory root;
  AddChild(root, "a", DirectoryOf({"gone"}).SerializeAsString());
  AddChild(root, "b", there.SerializeAsString());
  AddChild(root, "c", DirectoryOf({"gone too"}).SerializeAsString());
  const Digest root_digest = Put(root), there_digest = Put(there);
  const auto walked = Walk(RequestOf(root_digest));
  EXPECT_TRUE(walked.status.ok());
  EXPECT_THAT(walked.digests, ElementsAre(root_digest, there_digest));
}

TEST_P(GetTree, R137_EachDirectoryOnceHoweverManyPathsLeadToIt) {
  auto directory = DirectoryOf({"leaf"});
  for (int level = 0; level < 40; ++level) {
    const std::string bytes = directory.SerializeAsString();
    MustPut(*store_, bytes);
    directory = proto::Directory();
    AddChild(directory, "a", bytes);
    AddChild(directory, "b", bytes);
  }
  const auto walked = Walk(RequestOf(Put(directory)));
  EXPECT_TRUE(walked.status.ok());
  EXPECT_EQ(walked.digests.size(), 41u);
}

TEST_P(GetTree, R138_R139_PagesHaveAtMostTheDirectoriesAskedFor) {
  const auto all = PutWide(9);
  for (const int page_size : {1, 2, 3, 7, 10, 1000}) {
    const auto walked = Walk(RequestOf(all[0], page_size));
    EXPECT_EQ(walked.digests, all);
    for (size_t i = 0; i < walked.pages.size(); ++i) {
      EXPECT_LE(DirectoriesIn(walked.pages[i]).size(),
                static_cast<size_t>(page_size));
      EXPECT_EQ(TokenIn(walked.pages[i]).empty(), i + 1 == walked.pages.size());
    }
  }
}

TEST_P(GetTree, R139_TheLastPageIsKnownAlsoWhenOnlyAbsentOnesFollow) {
  const auto there = DirectoryOf({"there"});
  proto::Directory root;
  AddChild(root, "a", there.SerializeAsString());
  AddChild(root, "b", DirectoryOf({"gone"}).SerializeAsString());
  Put(there);
  const auto walked = Walk(RequestOf(Put(root), 1));
  ASSERT_EQ(walked.pages.size(), 2u);
  EXPECT_EQ(TokenIn(walked.pages[1]), "");
}

TEST_P(GetTree, R140_R141_D23_ATokenContinuesRightAfterItsPage) {
  const auto all = PutWide(9);
  const auto walked = Walk(RequestOf(all[0], 3));
  for (size_t i = 0; i + 1 < walked.pages.size(); ++i) {
    const auto rest = Walk(RequestOf(all[0], 2, TokenIn(walked.pages[i])));
    EXPECT_TRUE(rest.status.ok());
    EXPECT_EQ(
        rest.digests,
        std::vector(all.begin() + 3 * static_cast<int>(i) + 3, all.end()));
  }
}

TEST_P(GetTree, R140_ATokenOutlivesTheServer) {
  const auto all = PutWide(5);
  const auto walked = Walk(RequestOf(all[0], 4));
  Scene another(*store_);
  const auto rest =
      reapi::Walk(another, RequestOf(all[0], 0, TokenIn(walked.pages[0])));
  EXPECT_EQ(rest.digests, std::vector(all.begin() + 4, all.end()));
}

TEST_P(GetTree, R142_RefusesTokensThatAreMalformedForeignOrForged) {
  const auto all = PutWide(5);
  const std::string token = TokenIn(Walk(RequestOf(all[0], 2)).pages[0]);
  const Digest other = Put(DirectoryOf({"other"}));
  EXPECT_EQ(CodeOf(RequestOf(all[0], 0, "x")), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(RequestOf(other, 0, token)), Code::kInvalidArgument);
  std::string forged = token;
  forged[2] = '4';
  EXPECT_EQ(CodeOf(RequestOf(all[0], 0, forged)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(RequestOf(all[0], 0, std::string(5000, '1'))),
            Code::kInvalidArgument);
}

TEST_P(GetTree, R142_RefusesANegativePageSize) {
  EXPECT_EQ(CodeOf(RequestOf(PutWide(1)[0], -1)), Code::kInvalidArgument);
}

TEST_P(GetTree, ATreeThatHasChangedMeanwhileMustBeBegunAgain) {
  const auto late = DirectoryOf({"late"});
  proto::Directory root;
  AddChild(root, "a", late.SerializeAsString());
  for (int i = 0; i < 3; ++i) {
    const auto child = DirectoryOf({std::to_string(i)});
    AddChild(root, "b" + std::to_string(i), child.SerializeAsString());
    Put(child);
  }
  const Digest digest = Put(root);
  const auto walked = Walk(RequestOf(digest, 2));
  Put(late);
  EXPECT_EQ(CodeOf(RequestOf(digest, 2, TokenIn(walked.pages[0]))),
            Code::kAborted);
}

TEST_P(GetTree, R144_ARootThatIsNoDirectoryIsRefused) {
  for (const std::string& text : {std::string("#!/bin/sh\necho\n"),
                                  RandomText(3000), RandomText(2 << 20)}) {
    EXPECT_EQ(CodeOf(RequestOf(MustPut(*store_, text))),
              Code::kInvalidArgument);
  }
}

TEST_P(GetTree, R145_MessagesStayBelowFourMebibytes) {
  proto::Directory root;
  for (int i = 0; i < 30; ++i) {
    proto::Directory child;
    for (int j = 0; j < 3000; ++j) {
      *child.add_files() =
          DirectoryOf({std::to_string(i) + "-" + std::to_string(j)}).files(0);
    }
    AddChild(root, std::to_string(i), child.SerializeAsString());
    Put(child);
  }
  const auto walked = Walk(RequestOf(Put(root)));
  EXPECT_EQ(walked.digests.size(), 31u);
  EXPECT_GT(walked.pages.size(), 5u);
  for (const std::string& page : walked.pages) {
    EXPECT_LE(page.size(), kStreamMessageBytes);
  }
}

TEST_P(GetTree, R145_ALargerDirectoryGoesAlone) {
  proto::Directory large;
  for (int i = 0; i < 60'000; ++i) {
    *large.add_files() = DirectoryOf({std::to_string(i)}).files(0);
  }
  const std::string bytes = large.SerializeAsString();
  ASSERT_GT(bytes.size(), kPeerMessageLimit);
  proto::Directory root;
  AddChild(root, "large", bytes);
  AddChild(root, "small", DirectoryOf({"x"}).SerializeAsString());
  Put(large);
  Put(DirectoryOf({"x"}));
  const auto walked = Walk(RequestOf(Put(root)));
  ASSERT_EQ(walked.pages.size(), 3u);
  EXPECT_EQ(DirectoriesIn(walked.pages[1]), std::vector{bytes});
}

TEST_P(GetTree, R008_DirectoriesComeAsTheyAreStored) {
  proto::Directory files = DirectoryOf({"b", "a"}), children;
  AddChild(children, "d", DirectoryOf({"x"}).SerializeAsString());
  // The fields in an order that nobody would write, and an unknown one.
  const std::string bytes = children.SerializeAsString() + "\xc2\x3e\x03xyz" +
                            files.SerializeAsString();
  const Digest root = MustPut(*store_, bytes);
  const Digest child = Put(DirectoryOf({"x"}));
  const auto walked = Walk(RequestOf(root));
  EXPECT_THAT(walked.digests, ElementsAre(root, child));
  EXPECT_EQ(DirectoriesIn(walked.pages[0])[0], bytes);
}

TEST_P(GetTree, D24_TakesDirectoriesThatAreNotCanonical) {
  EXPECT_TRUE(Walk(RequestOf(Put(DirectoryOf({"b", "a", "a"})))).status.ok());
}

TEST_P(GetTree, R152_RefusesDangerousNames) {
  EXPECT_EQ(CodeOf(RequestOf(Put(DirectoryOf({"../x"})))),
            Code::kInvalidArgument);
}

TEST_P(GetTree, R019_R016_TheEmptyDigestIsADirectoryWithoutEntries) {
  const auto walked = Walk(RequestOf(DigestOf("")));
  EXPECT_TRUE(walked.status.ok());
  EXPECT_THAT(walked.pages, ElementsAre(std::string("\x0a\x00", 2)));
}

TEST_P(GetTree, R005_R001_RefusesAnAbsentOrMalformedDigest) {
  EXPECT_EQ(CodeOf({}), Code::kInvalidArgument);
  auto request = RequestOf(DigestOf("x"));
  request.mutable_root_digest()->set_hash("abc");
  EXPECT_EQ(CodeOf(request), Code::kInvalidArgument);
}

TEST_P(GetTree, R024_R025_ChecksTheFunction) {
  auto request = RequestOf(PutWide(1)[0]);
  request.set_digest_function(proto::DigestFunction::SHA256);
  EXPECT_EQ(CodeOf(request), Code::kOk);
  request.set_digest_function(proto::DigestFunction::SHA1);
  EXPECT_EQ(CodeOf(request), Code::kInvalidArgument);
  request.set_digest_function(proto::DigestFunction::GITSHA1);
  EXPECT_EQ(CodeOf(request), Code::kInvalidArgument);
}

TEST_P(GetTree, R031_RefusesMalformedInstances) {
  auto request = RequestOf(PutWide(1)[0]);
  request.set_instance_name("a//b");
  EXPECT_EQ(CodeOf(request), Code::kInvalidArgument);
}

TEST_P(GetTree, RefusesGarbage) {
  testing::MemoryCall call(scene_.ServiceOf("GetTree"),
                           scene_.PathOf("GetTree"), scene_.pool);
  call.Send(RandomText(10'000));
  call.HalfClose();
  EXPECT_EQ(call.Wait().code, Code::kInvalidArgument);
}

TEST_P(GetTree, R235_GivesAllMemoryBack) {
  (void)Walk(RequestOf(PutWide(9)[0], 1));
  EXPECT_EQ(scene_.admission.used(), 0);
  EXPECT_LE(scene_.admission.peak(), 8 << 20);
}

// The stores count how far the walk has come.
TEST(GetTreeFlow, WalksNoFurtherThanPagesAreTaken) {
  const auto memory = MakeMemoryStore();
  testing::CountingStore store(*memory);
  Scene scene(store);
  // A chain: each step has to be fetched before the next is known.
  std::string below;
  for (int i = 0; i < 1000; ++i) {
    auto directory = DirectoryOf({std::to_string(i)});
    if (i > 0) AddChild(directory, "d", below);
    below = directory.SerializeAsString();
    MustPut(*memory, below);
  }
  testing::MemoryCall call(scene.ServiceOf("GetTree"), scene.PathOf("GetTree"),
                           scene.pool);
  call.Send(RequestOf(DigestOf(below), 10).SerializeAsString());
  call.HalfClose();
  for (int page = 1; page <= 5; ++page) {
    ASSERT_TRUE(call.Receive());
    EXPECT_LE(store.get_many, 10 * (page + 1) + 1);
  }
  call.Cancel();
  EXPECT_EQ(call.Wait().code, Code::kCancelled);
  EXPECT_LE(store.get_many, 80);
  EXPECT_EQ(scene.admission.used(), 0);
}

// Blocks each read until the test lets it go.
class GateStore : public testing::CountingStore {
 public:
  using CountingStore::CountingStore;
  std::vector<Result<Blob>> GetMany(const Context& ctx,
                                    std::span<const Digest> digests) override {
    const int64_t number = ++reads;
    while (number > allowed && !ctx.stop.stop_requested()) {
      std::this_thread::yield();
    }
    return CountingStore::GetMany(ctx, digests);
  }
  std::atomic<int64_t> reads = 0, allowed = 0;
};

TEST(GetTreeFlow, R235_StopsInTheMiddleWhenTheClientHasGone) {
  const auto memory = MakeMemoryStore();
  GateStore store(*memory);
  Scene scene(store);
  std::string below = DirectoryOf({"leaf"}).SerializeAsString();
  for (int level = 0; level < 30; ++level) {
    MustPut(*memory, below);
    proto::Directory directory;
    AddChild(directory, "a", below);
    AddChild(directory, "b", below);
    below = directory.SerializeAsString();
  }
  MustPut(*memory, below);
  testing::MemoryCall call(scene.ServiceOf("GetTree"), scene.PathOf("GetTree"),
                           scene.pool);
  store.allowed = 5;
  call.Send(RequestOf(DigestOf(below)).SerializeAsString());
  call.HalfClose();
  while (store.reads < 6) std::this_thread::yield();
  call.Cancel();
  EXPECT_EQ(call.Wait().code, Code::kCancelled);
  EXPECT_LE(store.reads, 6);
  EXPECT_EQ(scene.admission.used(), 0);
}

}  // namespace
}  // namespace casemate::reapi
