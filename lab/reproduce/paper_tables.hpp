// Lists the paper's tables that can be trained here: the recipe of each row and its reported
// figures.
#pragma once

#include <span>
#include <string_view>

#include "lab/run/run_record.hpp"

namespace sing::lab::reproduce {

struct PaperRow {
  const char* name;
  const char* recipe;              // recipes/<recipe>.toml
  double accuracy = run::kAbsent;  // percent
  double spread = run::kAbsent;    // percent, if the paper repeated the training
  double loss = run::kAbsent;
  const char* remark = "";
  const char* task = nullptr;  // if it is not the table's
};

struct PaperTable {
  const char* name;
  const char* title;
  const char* task;
  std::span<const PaperRow> rows;

  const char* task_of(const PaperRow& row) const { return row.task != nullptr ? row.task : task; }
};

std::span<const PaperTable> paper_tables();

// Throws std::invalid_argument with the nearest known name.
const PaperTable& paper_table(std::string_view name);

}  // namespace sing::lab::reproduce
