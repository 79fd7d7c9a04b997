// The C functions about learning-rate schedules.
#include <map>

#include "sing/base/message.hpp"
#include "sing/c_api/guard.hpp"
#include "sing/c_api/handles.hpp"
#include "sing/c_api/option_text.hpp"

namespace sing::c_api {
namespace {

const std::vector<std::string>& names_of_schedules() {
  static const std::vector<std::string> names = schedule_names();
  return names;
}

// The texts are made once and never change, so that callers may keep pointers to them.
const std::vector<OptionText>& options_of(const char* schedule, std::string_view where) {
  static const auto texts = describe_all(names_of_schedules(), [](const std::string& name) {
    return list_options(make_schedule(name));
  });
  required(schedule, where, "a schedule's name");
  make_schedule(schedule);  // throws for an unknown schedule
  return texts.find(std::string_view(schedule))->second;
}

}  // namespace
}  // namespace sing::c_api

using namespace sing::c_api;  // NOLINT: the functions below are the same interface in C

size_t sing_schedule_count(void) { return names_of_schedules().size(); }

sing_status sing_schedule_name(size_t index, const char** name) {
  return guarded(
      [&] { write_name(names_of_schedules(), index, name, "schedule_name", "schedule"); });
}

sing_status sing_schedule_option_count(const char* schedule, size_t* count) {
  return guarded([&] {
    required(count, "schedule_option_count", "a place for the count") =
        options_of(schedule, "schedule_option_count").size();
  });
}

sing_status sing_schedule_option_describe(const char* schedule, size_t index,
                                          sing_option_info* info) {
  return guarded([&] {
    write_option_info(options_of(schedule, "schedule_option_describe"), index, info,
                      "schedule_option_describe");
  });
}

sing_status sing_schedule_create(const char* name, sing_schedule** schedule) {
  return guarded([&] {
    required(name, "schedule_create", "a schedule's name");
    required(schedule, "schedule_create", "a place for the schedule");
    *schedule = new sing_schedule{sing::make_schedule(name)};
  });
}

void sing_schedule_destroy(sing_schedule* schedule) { delete schedule; }

sing_status sing_schedule_set(sing_schedule* schedule, const char* name, const char* text) {
  return guarded([&] {
    required(schedule, "schedule_set", "a schedule");
    required(name, "schedule_set", "an option's name");
    required(text, "schedule_set", "a value");
    sing::set_option(schedule->schedule, name, std::string(text));
  });
}

sing_status sing_schedule_factor(const sing_schedule* schedule, int64_t step, double* factor) {
  return guarded([&] {
    const sing::Schedule& given = required(schedule, "schedule_factor", "a schedule").schedule;
    required(factor, "schedule_factor", "a place for the factor");
    sing::validate(given);
    *factor = given.factor(step);
  });
}
