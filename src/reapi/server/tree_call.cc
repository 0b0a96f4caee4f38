#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "reapi/server/cas_service.h"
#include "reapi/server/tree_token.h"
#include "reapi/server/tree_walk.h"
#include "reapi/wire/choices.h"
#include "reapi/wire/digest_fields.h"
#include "reapi/wire/fields.h"

namespace casemate::reapi {
namespace {

// Of GetTreeResponse.
constexpr uint32_t kDirectories = 1;
constexpr uint32_t kNextPageToken = 2;

// Smaller directories are copied into what lies between the others.
constexpr size_t kShareAtLeast = 2048;

// A page, the directories that were fetched for the next one, and as much again
// for what surrounds them.
constexpr int64_t kPageMemory = 3 * int64_t{kStreamMessageBytes};

struct Request {
  std::string instance;
  Digest root;
  int32_t page_size = 0;
  std::optional<TreeToken> token;
};

Result<Request> Parse(const rpc::Message& message) {
  Request request;
  DigestField root;
  int64_t function = 0;
  std::string token, scratch;
  bool is_well_formed = true;
  FieldReader reader(message.pieces());
  while (reader.Next()) {
    if (reader.Is(1, WireType::kBytes)) request.instance = reader.Text(scratch);
    if (reader.Is(2, WireType::kBytes)) {
      is_well_formed &= root.Merge(reader.Message());
    }
    if (reader.Is(3, WireType::kVarint)) request.page_size = reader.Enum();
    if (reader.Is(4, WireType::kBytes)) token = reader.Text(scratch);
    if (reader.Is(5, WireType::kVarint)) function = reader.Enum();
  }
  if (!reader.ok() || !is_well_formed) {
    return Error{kMalformed, "the message is no GetTreeRequest"};
  }
  ASSIGN_OR_RETURN(FunctionCheck check, FunctionCheck::Start(function));
  ASSIGN_OR_RETURN(request.root, root.Get());
  RETURN_IF_ERROR(check.Check(request.root));
  if (request.page_size < 0) {
    return Error{kMalformed, "the page size is negative"};
  }
  if (token.empty()) return request;
  request.token = TreeToken::Parse(token, request.root);
  if (!request.token) {
    return Error{kMalformed, "the page token is none of this tree"};
  }
  return request;
}

// One GetTreeResponse as it grows.
class Page {
 public:
  size_t size() const { return size_; }
  int32_t count() const { return count_; }

  void Add(const Bytes& directory) {
    ++count_;
    const size_t before = text_.size();
    AppendBytesHead(text_, kDirectories, directory.size());
    size_ += text_.size() - before + directory.size();
    if (directory.size() < kShareAtLeast) {
      text_ += directory.view();
    } else {
      Flush();
      message_.Append(directory);
    }
  }

  rpc::Message Take(const std::string& next_token) {
    if (!next_token.empty()) {
      AppendBytesField(text_, kNextPageToken, next_token);
    }
    Flush();
    return std::move(message_);
  }

 private:
  void Flush() { message_.Append(Bytes::FromString(std::exchange(text_, {}))); }

  rpc::Message message_;
  std::string text_;  // Not yet in it.
  size_t size_ = 0;
  int32_t count_ = 0;
};

// Makes one page when there is room for it on the wire, never more: the tree is
// walked no faster than it is sent, and no further once the client has gone.
class TreeCall : public rpc::Handler {
 public:
  TreeCall(rpc::Call& call, const ServerParts& parts)
      : call_(call), parts_(parts), turn_(parts.admission, call) {
    call_.Read();
  }

  void OnMessage(rpc::Message message) override {
    auto request = Parse(message);
    if (!request) return call_.Finish(std::move(request).error());
    request_ = *std::move(request);
    Begin();
  }

  void OnHalfClose() override {
    call_.Finish({Code::kUnimplemented,
                  "no request message for a method that takes one"});
  }

  void OnWake() override {
    if (turn_.waiting()) Begin();
  }

  void OnSent() override {
    call_.Offload([this] { SendPage(); });
  }

  void OnCancel() override { turn_.Leave(); }

 private:
  void Begin() {
    switch (turn_.Ask(kPageMemory, lease_)) {
      case Admission::Turn::Answer::kTaken:
        return call_.Offload([this] { Start(); });
      case Admission::Turn::Answer::kWait: return;
      case Admission::Turn::Answer::kRefused:
        return call_.Finish(NoMemoryNow());
    }
  }

  void Start() {
    const auto opened =
        OpenInstance(call_.context(), parts_.backends, request_.instance);
    if (!opened) return call_.Finish(opened.error());
    walk_.emplace((*opened)->store, parts_.admission, request_.root);
    auto begun = Advance();
    if (begun && request_.token) begun = SkipTo(*request_.token);
    if (!begun) return call_.Finish(std::move(begun).error());
    SendPage();
  }

  Result<void> Advance() {
    ASSIGN_OR_RETURN(next_, walk_->Next(call_.context()));
    return {};
  }

  // Walks again over what was sent before.
  Result<void> SkipTo(const TreeToken& token) {
    while (next_ && next_->number < token.next) {
      chain_.Add(next_->number, next_->digest);
      RETURN_IF_ERROR(Advance());
    }
    sent_ = token.next;
    if (chain_.Hex() == token.chain) return {};
    return Error{Code::kAborted,
                 "the tree is not the one that it was when the page token was "
                 "made: begin again"};
  }

  bool Fits(const Page& page) const {
    if (page.count() == 0) return true;
    if (request_.page_size > 0 && page.count() == request_.page_size) {
      return false;
    }
    return page.size() + next_->bytes.size() + kMaxVarintBytes <=
           kStreamMessageBytes;
  }

  void SendPage() {
    Page page;
    while (next_ && Fits(page)) {
      page.Add(next_->bytes);
      chain_.Add(next_->number, next_->digest);
      sent_ = next_->number + 1;
      if (auto more = Advance(); !more) return call_.Finish(more.error());
    }
    if (!next_) return call_.FinishWith(page.Take(""));
    const TreeToken token = {sent_, chain_.Hex()};
    call_.Write(page.Take(token.Format(request_.root)));
  }

  rpc::Call& call_;
  const ServerParts parts_;
  Admission::Turn turn_;
  Admission::Lease lease_;
  Request request_;
  std::optional<TreeWalk> walk_;
  std::optional<TreeWalk::Directory> next_;  // To be sent.
  TreeChain chain_;                          // Of what was sent before.
  uint32_t sent_ = 0;
};

}  // namespace

std::unique_ptr<rpc::Handler> StartGetTree(rpc::Call& call,
                                           const ServerParts& parts) {
  return std::make_unique<TreeCall>(call, parts);
}

}  // namespace casemate::reapi
