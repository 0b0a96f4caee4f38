#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "assemble/instance_stores.h"
#include "base/try.h"
#include "cli/program.h"
#include "reapi/server/access_log.h"
#include "reapi/server/services.h"
#include "rpc/grpc/grpc_server.h"
#include "work/budget.h"
#include "work/pool.h"

namespace casemate::cli {
namespace {

constexpr char kExamples[] =
    "  casemate serve                                on 127.0.0.1:8980\n"
    "  casemate serve --store dir:/var/cache/casemate --grpc 0.0.0.0:8980\n"
    "  casemate serve --grpc unix:/run/casemate.sock --access-log -\n"
    "  bazel build --remote_cache=grpc://127.0.0.1:8980 //...";

constexpr char kServerGroup[] = "Server";
constexpr char kLimitGroup[] = "Limits";
constexpr char kDefaultListener[] = "127.0.0.1:8980";

// Lines of the access log that may wait for their file; beyond them the oldest
// are dropped, because a call never waits for a log.
constexpr size_t kLogQueue = 8192;

struct Settings {
  std::vector<std::string> listeners = {};
  bool separate = false;
  Encoding at_rest = Encoding::kZstd;
  reapi::ServerSettings server;
  int64_t memory = int64_t{256} << 20;
  int64_t max_message = int64_t{32} << 20;
  int64_t idle_seconds = 60;
  int64_t keepalive_seconds = 60;
  int64_t keepalive_timeout_seconds = 20;
  int64_t drain_seconds = 30;
  int io_threads = 16;
  std::string access_log = {};
};

// The stores of assemble/, as the services want them.
class StoreBackends : public reapi::Backends {
 public:
  explicit StoreBackends(assemble::InstanceStores& stores) : stores_(stores) {}

  Result<const reapi::Backend*> Open(const Context& ctx,
                                     std::string_view instance) override {
    return stores_.Find(ctx, instance);
  }
  const reapi::Backend* Known(std::string_view instance) override {
    return stores_.Known(instance);
  }

 private:
  assemble::InstanceStores& stores_;
};

// Lines go to their file from a thread of their own; a call never waits for
// them. Null where no log is wanted.
Result<std::shared_ptr<spdlog::logger>> OpenAccessLog(const std::string& path) {
  if (path.empty()) return std::shared_ptr<spdlog::logger>();
  spdlog::init_thread_pool(kLogQueue, 1);
  try {
    auto logger =
        path == "-"
            ? spdlog::create_async_nb<spdlog::sinks::stderr_sink_mt>("access")
            : spdlog::create_async_nb<spdlog::sinks::basic_file_sink_mt>(
                  "access", path);
    logger->set_pattern("%v");
    logger->flush_on(spdlog::level::info);
    return logger;
  } catch (const spdlog::spdlog_ex& error) {  // The one library that throws.
    return Error{Code::kPermissionDenied,
                 std::string("open the access log: ") + error.what()};
  }
}

rpc::ServerOptions OptionsOf(const Settings& settings,
                             std::optional<reapi::AccessLog>& log) {
  rpc::ServerOptions options;
  options.listeners = settings.listeners;
  options.max_request_bytes = settings.max_message;
  options.idle_limit = std::chrono::seconds(settings.idle_seconds);
  options.keepalive_time = std::chrono::seconds(settings.keepalive_seconds);
  options.keepalive_timeout =
      std::chrono::seconds(settings.keepalive_timeout_seconds);
  if (log) options.observer = &*log;
  return options;
}

void WaitForStop(const Context& ctx) {
  std::binary_semaphore stopped(0);
  const std::stop_callback on_stop(ctx.stop, [&stopped] { stopped.release(); });
  stopped.acquire();
}

// What clients dial: "grpc://127.0.0.1:8980", "unix:/run/casemate.sock".
std::string Dial(const std::string& address) {
  return address.starts_with("unix:") ? address : "grpc://" + address;
}

void Announce(Console& console, const std::string& store,
              const rpc::Server& server) {
  nlohmann::json addresses = nlohmann::json::array();
  for (const std::string& address : server.addresses()) {
    console.Result(Dial(address));
    addresses.push_back(Dial(address));
  }
  console.Json({{"store", store}, {"grpc", addresses}});
  std::fflush(stdout);
}

// Serves until a signal comes; returns how many calls had to be cut off.
Result<int64_t> Serve(Session& session, const Settings& settings,
                      assemble::InstanceStores& stores) {
  ASSIGN_OR_RETURN(const auto log, OpenAccessLog(settings.access_log));
  std::optional<reapi::AccessLog> access;
  if (log != nullptr) {
    access.emplace([&log](std::string line) { log->info(line); });
  }
  StoreBackends backends(stores);
  work::Pool pool("serve", settings.io_threads);
  reapi::Services services(backends, settings.server, settings.memory, pool);
  ASSIGN_OR_RETURN(
      const auto server,
      rpc::MakeGrpcServer(OptionsOf(settings, access), services.all(), pool));
  Announce(session.console, session.common.store.address, *server);
  WaitForStop(session.ctx);
  session.console.Note("stopping: running calls may finish, for at most " +
                       std::to_string(settings.drain_seconds) +
                       " s; a second signal stops at once");
  return server->Drain(std::chrono::steady_clock::now() +
                       std::chrono::seconds(settings.drain_seconds));
}

Exit Run(Session& session, Settings settings) {
  Console& console = session.console;
  if (settings.listeners.empty()) settings.listeners = {kDefaultListener};
  assemble::InstanceSettings instances;
  instances.store = session.common.store;
  instances.store.at_rest = settings.at_rest;
  instances.store.zstd_level = settings.server.zstd_level;
  instances.store.server = Dial(settings.listeners.front());
  instances.separate = settings.separate;
  const auto stores = assemble::InstanceStores::Open(instances);
  if (!stores) return console.Fail("open the store", stores.error());
  const auto cut = Serve(session, settings, **stores);
  if (!cut) return console.Fail("serve", cut.error());
  if (*cut > 0) {
    console.Warning(Count(*cut, "call was", "calls were") + " cut off");
  }
  return kDone;
}

void AddListeners(CLI::App& app, Settings& settings) {
  WithEnvironment(app.add_option("--grpc", settings.listeners,
                                 "where to listen: HOST:PORT (port 0: any "
                                 "free one) or unix:PATH; may be repeated; "
                                 "default " +
                                     std::string(kDefaultListener)))
      ->type_name("ADDRESS")
      ->group(kServerGroup);
}

void AddStorage(CLI::App& app, Settings& settings) {
  WithEnvironment(app.add_option_function<std::string>(
                      "--at-rest",
                      [&settings](const std::string& text) {
                        settings.at_rest = text == "zstd" ? Encoding::kZstd
                                                          : Encoding::kIdentity;
                      },
                      "how blobs are kept on disk: compressed where that "
                      "saves, or as they are"))
      ->check(CLI::IsMember({"zstd", "identity"}))
      ->type_name("zstd|identity")
      ->default_str("zstd")
      ->group(kStoreGroup);
  WithEnvironment(app.add_option("--zstd-level", settings.server.zstd_level,
                                 "what the server compresses itself"))
      ->check(CLI::Range(1, 19))
      ->type_name("1-19")
      ->capture_default_str()
      ->group(kStoreGroup);
  WithEnvironment(app.add_option_function<std::string>(
                      "--instances",
                      [&settings](const std::string& text) {
                        settings.separate = text == "separate";
                      },
                      "shared: one storage for all instance names, an action "
                      "cache for each; separate: nothing shared"))
      ->check(CLI::IsMember({"shared", "separate"}))
      ->type_name("shared|separate")
      ->default_str("shared")
      ->group(kStoreGroup);
}

void AddLimits(CLI::App& app, Settings& settings) {
  AddSize(app, "--memory", settings.memory,
          "bytes in flight, all calls together")
      ->default_str("256MiB")
      ->group(kLimitGroup);
  AddSize(app, "--max-message-size", settings.max_message,
          "one request message")
      ->default_str("32MiB")
      ->group(kLimitGroup);
  AddSize(app, "--max-blob-size", settings.server.max_cas_blob_size,
          "one blob; default: no limit")
      ->group(kLimitGroup);
  AddDuration(app, "--idle-timeout", settings.idle_seconds,
              "a call whose peer neither sends nor takes for so long ends")
      ->default_str("60s")
      ->group(kLimitGroup);
  AddDuration(app, "--keepalive-time", settings.keepalive_seconds,
              "a connection that was silent for so long is asked for a sign "
              "of life")
      ->default_str("60s")
      ->group(kLimitGroup);
  AddDuration(app, "--keepalive-timeout", settings.keepalive_timeout_seconds,
              "and closed if none comes")
      ->default_str("20s")
      ->group(kLimitGroup);
  AddDuration(app, "--drain-timeout", settings.drain_seconds,
              "how long running calls may take after SIGTERM")
      ->default_str("30s")
      ->group(kLimitGroup);
  WithEnvironment(app.add_option("--io-threads", settings.io_threads,
                                 "threads that wait for the disk"))
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->capture_default_str()
      ->group(kLimitGroup);
}

void AddBehaviour(CLI::App& app, Settings& settings) {
  WithEnvironment(app.add_option_function<std::string>(
                      "--committed-size",
                      [&settings](const std::string& text) {
                        settings.server.committed_size =
                            text == "blob" ? reapi::CommittedSize::kSize
                                           : reapi::CommittedSize::kCompressed;
                      },
                      "what a finished compressed upload reports: the bytes "
                      "that came, as Bazel and Buck2 want, or the blob's size"))
      ->check(CLI::IsMember({"compressed", "blob"}))
      ->type_name("compressed|blob")
      ->default_str("compressed")
      ->group(kServerGroup);
  app.add_flag("--read-compressed-duplicates",
               settings.server.drain_compressed_duplicates,
               "read a compressed upload of a stored blob to its end, as Bazel "
               "5.0 needs it, in place of answering at once")
      ->group(kServerGroup);
  app.add_flag("--require-action-blobs", settings.server.require_action_blobs,
               "refuse an action result whose action, command or outputs are "
               "not stored")
      ->group(kServerGroup);
  WithEnvironment(app.add_option("--access-log", settings.access_log,
                                 "append a line of JSON for each call; -: "
                                 "stderr (docs/server.md)"))
      ->type_name("FILE")
      ->group(kServerGroup);
}

}  // namespace

void AddServe(Program& program) {
  auto settings = std::make_shared<Settings>();
  const Command command = AddCommand(
      program, "serve", "Serve a store to Bazel and other build tools",
      kExamples,
      [settings](Session& session) { return Run(session, *settings); });
  AddListeners(command.app, *settings);
  AddBehaviour(command.app, *settings);
  AddStoreFlags(command);
  AddStorage(command.app, *settings);
  AddLimits(command.app, *settings);
}

}  // namespace casemate::cli
