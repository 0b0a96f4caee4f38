#include "reapi/server/cas_for_test.h"

#include "actions/action_cache.h"

namespace casemate::reapi {
namespace {

std::unique_ptr<BlobStore> MakeStore(std::string_view kind,
                                     const testing::TempDir& dir) {
  if (kind == "Memory") return MakeMemoryStore();
  return DiskStore::Open(dir / "store").value();
}

}  // namespace

proto::Digest ToProto(const Digest& digest) {
  proto::Digest message;
  message.set_hash(digest.Hex());
  message.set_size_bytes(digest.size());
  return message;
}

Digest FromProto(const proto::Digest& digest) {
  return Digest::FromHex(digest.hash(), digest.size_bytes()).value();
}

proto::Directory DirectoryOf(std::initializer_list<std::string> files) {
  proto::Directory directory;
  for (const std::string& file : files) {
    auto& node = *directory.add_files();
    node.set_name(file);
    *node.mutable_digest() = ToProto(testing::DigestOf(file));
  }
  return directory;
}

void AddChild(proto::Directory& directory, const std::string& name,
              const std::string& child_bytes) {
  auto& node = *directory.add_directories();
  node.set_name(name);
  *node.mutable_digest() = ToProto(testing::DigestOf(child_bytes));
}

Scene::Scene(BlobStore& store, std::unique_ptr<actions::ActionCache> cache,
             int64_t memory)
    : admission(memory),
      cache_(cache ? std::move(cache) : actions::MakeMemoryActionCache()),
      backends_({store, *cache_}) {
  Use({});
}

void Scene::Use(const ServerSettings& settings) {
  const ServerParts parts = {backends_, settings, admission, arrivals, pool};
  cas_.emplace(parts);
  actions_.emplace(parts);
  capabilities_.emplace(parts);
}

rpc::Service& Scene::ServiceOf(std::string_view method) {
  if (method.ends_with("ActionResult")) return *actions_;
  if (method == "GetCapabilities") return *capabilities_;
  return *cas_;
}

std::string Scene::PathOf(std::string_view method) {
  return "/" + std::string(ServiceOf(method).name()) + "/" +
         std::string(method);
}

testing::UnaryResult Scene::Call(std::string_view method, std::string request) {
  return testing::CallUnary(ServiceOf(method), PathOf(method),
                            std::move(request), pool);
}

OverStores::OverStores()
    : store_(MakeStore(GetParam(), dir_)), scene_(*store_, MakeCache()) {}

std::unique_ptr<actions::ActionCache> OverStores::MakeCache() const {
  if (!on_disk()) return actions::MakeMemoryActionCache();
  return actions::OpenDiskActionCache(dir_ / "store", true).value();
}

}  // namespace casemate::reapi
