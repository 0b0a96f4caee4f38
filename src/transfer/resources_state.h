// What Resources holds: one budget, and the threads of all transfers.
#pragma once

#include "casemate/resources.h"
#include "readpool/progress_feed.h"
#include "readpool/read_pool.h"
#include "work/budget.h"
#include "work/pool.h"

namespace casemate {

struct Resources::State {
  explicit State(const ResourceOptions& options);

  work::Budget budget;
  readpool::ReadPool readers;
  readpool::ProgressDispatch progress;
  work::Pool pool;  // Store operations; as many threads as jobs.
};

}  // namespace casemate
