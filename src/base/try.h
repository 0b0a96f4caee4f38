// Passing errors on. Internal, because macros are.
#pragma once

#include <utility>

#include "casemate/result.h"

#define CASEMATE_CONCAT_INNER(a, b) a##b
#define CASEMATE_CONCAT(a, b) CASEMATE_CONCAT_INNER(a, b)

// RETURN_IF_ERROR(file.Close());
#define RETURN_IF_ERROR(expression)                      \
  do {                                                   \
    if (auto try_result_ = (expression); !try_result_) { \
      return std::move(try_result_).error();             \
    }                                                    \
  } while (false)

// ASSIGN_OR_RETURN(Directory parent, root.OpenDirectory("a"));
#define ASSIGN_OR_RETURN(declaration, expression)                         \
  ASSIGN_OR_RETURN_INNER(CASEMATE_CONCAT(result_, __LINE__), declaration, \
                         expression)
#define ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                   \
  if (!result) return std::move(result).error();                \
  declaration = std::move(result).value()
