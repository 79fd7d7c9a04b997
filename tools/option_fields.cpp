// Prints every option field of every rule as JSON, for the tools that write Python and Markdown
// from it.
#include <cstdio>

#include "sing/io/value_json.hpp"
#include "sing/sing.hpp"

namespace {

using Json = nlohmann::ordered_json;

template <class Member>
const char* kind_of(const Member& /*member*/) {
  if constexpr (std::is_same_v<Member, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<Member, std::int64_t>) {
    return "int";
  } else if constexpr (std::is_same_v<Member, double>) {
    return "float";
  } else if constexpr (std::is_same_v<Member, std::optional<double>>) {
    return "optional_float";
  } else if constexpr (std::is_same_v<Member, std::vector<sing::Knot>>) {
    return "knots";
  } else {
    return "choice";
  }
}

Json json_of_bound(double bound) { return std::isfinite(bound) ? Json(bound) : Json(nullptr); }

template <class Struct>
void append_fields(Json& list, const Struct& options) {
  sing::visit_fields(options, [&](const auto& each, const auto& member) {
    Json field = {{"name", each.name},
                  {"kind", kind_of(member)},
                  {"default", sing::to_json(sing::to_value(member))},
                  {"low", json_of_bound(each.bounds.low)},
                  {"high", json_of_bound(each.bounds.high)},
                  {"open_high", each.bounds.open_high},
                  {"help", each.help}};
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (sing::NamedEnum<Member>) {
      field["choices"] = sing::joined_enum_names<Member>();
    }
    list.push_back(std::move(field));
  });
}

// True if eval() shows another weight than the parameter: an average that the rule keeps.
template <class R>
constexpr bool kAverages = requires { R::kEvaluationSlot; };

// "AdamW" of sing::AdamW, from what the compiler calls this function.
template <class Type>
std::string type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;
  std::string_view name = text.substr(text.find("Type = ") + 7);
  name = name.substr(0, name.find_first_of(";]"));
  return std::string(name.substr(name.rfind(':') + 1));
}

// A matrix's state under the default options, and the rule's passes over memory.
template <class R>
Json costs_of() {
  std::size_t used_elements = 0;
  Json others = Json::array();
  for (std::size_t k = 0; k < sing::kSlotCount<R>; ++k) {
    const bool is_used = R{}.uses_slot(k, sing::kIsFactored<R> || sing::kIsOrthogonal<R>);
    if (R::kSlots[k].shape == sing::SlotShape::kElement) {
      used_elements += is_used ? 1 : 0;
    } else if (is_used) {
      others.push_back(R::kSlots[k].name);
    }
  }
  const int passes = 1 + (sing::kIsFactored<R> ? 1 : 0) + (sing::kSumCount<R> > 0 ? 1 : 0);
  return {{"element_slots", used_elements},
          {"most_element_slots", sing::kElementSlotCount<R>},
          {"other_slots", others},
          {"passes", passes}};
}

// The options of `to` that differ from those of `from`, for the same rule.
Json changes(const sing::Options& from, const sing::Options& to) {
  Json changed = Json::object();
  for (const sing::OptionInfo& info : sing::list_options(to)) {
    if (info.value != sing::get_option(from, info.name)) {
      changed[info.name] = sing::to_json(info.value);
    }
  }
  return changed;
}

}  // namespace

int main() {
  const sing::Options options;
  Json standardize = Json::array();
  Json lookahead = Json::array();
  Json others = Json::array();
  append_fields(standardize, options.standardize);
  append_fields(lookahead, sing::Lookahead{});
  append_fields(others, options);
  Json rules = Json::object();
  Json costs = Json::object();
  sing::for_each_rule_type([&]<class R>() {
    Json fields = Json::array();
    append_fields(fields, R{});
    Json slots = Json::array();
    for (const sing::Slot& slot : R::kSlots) {
      slots.push_back(slot.name);
    }
    rules[std::string(R::kName)] = {{"type", type_name<R>()},
                                    {"fields", fields},
                                    {"slots", slots},
                                    {"optimizes", !std::is_same_v<R, sing::Gradient>},
                                    {"takes_curvature", sing::kTakesCurvature<R>},
                                    {"is_orthogonal", sing::kIsOrthogonal<R>},
                                    {"averages", kAverages<R>}};
    costs[std::string(R::kName)] = costs_of<R>();
  });
  Json forms = Json::object();
  sing::for_each_form([&](const auto& form) {
    const std::string name(form.name);
    sing::Options formed = options;
    sing::set_option(formed, "rule", name);
    const std::string rule(sing::name_of(formed.rule));
    sing::Options own = options;
    sing::set_option(own, "rule", rule);
    forms[name] = {{"rule", rule}, {"options", changes(own, formed)}};
  });
  Json schedules = Json::object();
  for (const std::string& name : sing::schedule_names()) {
    Json fields = Json::array();
    std::visit([&](const auto& kind) { append_fields(fields, kind); },
               sing::make_schedule(name).kind);
    schedules[name] = fields;
  }
  // The values that each named optimizer sets in place of its fields' defaults.
  Json optimizers = Json::object();
  for (const std::string& name : sing::optimizer_names()) {
    const sing::Options named = sing::make_options(name);
    sing::Options usual;
    sing::set_option(usual, "rule", std::string(sing::name_of(named.rule)));
    optimizers[name] = {{"rule", sing::name_of(named.rule)}, {"options", changes(usual, named)}};
  }
  const Json all = {{"standardize", standardize},
                    {"lookahead", lookahead},
                    {"others", others},
                    {"rules", rules},
                    {"costs", costs},
                    {"forms", forms},
                    {"schedules", schedules},
                    {"optimizers", optimizers}};
  std::puts(all.dump(1).c_str());
}
