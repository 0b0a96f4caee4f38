#include <memory>
#include <optional>

#include "base/try.h"
#include "cli/program.h"
#include "config/units.h"
#include "tree/plan.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  casemate stat HASH/SIZE    what a digest names, and how much it holds";

// A stored blob, and what it is as a tree if it is one.
struct Facts {
  Digest digest;
  std::optional<tree::PlanTotals> tree;
  int64_t distinct = 0;  // Contents; each is stored once.
};

Result<Facts> Gather(const Session& session, BlobStore& store,
                     const Digest& digest) {
  Facts facts;
  facts.digest = digest;
  ASSIGN_OR_RETURN(const auto missing,
                   store.FindMissing(session.ctx, std::span(&digest, 1)));
  if (!missing.empty()) {
    return Error{Code::kNotFound, "the store does not have it"};
  }
  const auto plan = tree::Plan::Fetch(session.ctx, store, digest);
  if (plan) {
    facts.tree = plan->totals();
    facts.distinct = static_cast<int64_t>(plan->contents().size());
  } else if (plan.error().code != Code::kInvalidArgument &&
             plan.error().code != Code::kResourceExhausted) {
    return plan.error();
  }
  return facts;
}

void Print(Console& console, const Facts& facts) {
  const auto line = [&](const char* name, const std::string& value) {
    char text[160];
    std::snprintf(text, sizeof text, "%-12s %s", name, value.c_str());
    console.Result(text);
  };
  line("digest", facts.digest.ToString());
  line("function", std::string(DigestFunctionName(facts.digest.function())));
  line("type", facts.tree ? "directory" : "blob");
  if (!facts.tree) {
    return line("size", std::to_string(facts.digest.size()));
  }
  line("files", std::to_string(facts.tree->files));
  line("directories", std::to_string(facts.tree->directories));
  line("symlinks", std::to_string(facts.tree->symlinks));
  line("bytes", std::to_string(facts.tree->bytes));
  line("depth", std::to_string(facts.tree->depth));
  line("contents", std::to_string(facts.distinct));
}

nlohmann::json ToJson(const Facts& facts) {
  nlohmann::json json = {
      {"digest", facts.digest.ToString()},
      {"digest_function", DigestFunctionName(facts.digest.function())},
      {"type", facts.tree ? "directory" : "blob"},
      {"size", facts.digest.size()}};
  if (facts.tree) {
    json["tree"] = {{"files", facts.tree->files},
                    {"directories", facts.tree->directories},
                    {"symlinks", facts.tree->symlinks},
                    {"bytes", facts.tree->bytes},
                    {"depth", facts.tree->depth},
                    {"contents", facts.distinct}};
  }
  return json;
}

Exit Run(Session& session, const std::string& text) {
  Console& console = session.console;
  const auto digest = Digest::Parse(text);
  if (!digest) return console.Fail("stat", digest.error());
  auto stack = OpenStore(session);
  if (!stack) return console.Fail("open the store", stack.error());
  const auto facts = Gather(session, stack->store(), *digest);
  if (!facts) return console.Fail("stat " + text, facts.error());
  Print(console, *facts);
  console.Json(ToJson(*facts));
  return kDone;
}

}  // namespace

void AddStat(Program& program) {
  auto digest = std::make_shared<std::string>();
  const Command command = AddCommand(
      program, "stat", "Tell what a digest names and how much it holds",
      kExamples, [digest](Session& session) { return Run(session, *digest); });
  command.app.add_option("DIGEST", *digest, "HASH/SIZE of a tree or a blob")
      ->required();
  AddStoreFlags(command);
}

}  // namespace casemate::cli
