#include <casemate/pull.h>
#include <casemate/push.h>
#include <casemate/stores.h>

#include <cstdio>

int main(int, char** argv) {
  casemate::Resources resources;
  const auto store = casemate::MakeMemoryStore();
  const auto pushed = casemate::Push({}, resources, *store, argv[1]);
  if (!pushed) return 1;
  std::puts(pushed->root.ToString().c_str());
  return casemate::Pull({}, resources, *store, pushed->root, argv[2]) ? 0 : 1;
}
