// Prints the options of every optimizer of the program as JSON, for test_names.py.
#include <cstdio>

#include "lab/optimizer/named_optimizer.hpp"
#include "sing/io/value_json.hpp"

int main() {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const std::string& name : sing::optimizer_names()) {
    nlohmann::ordered_json& options = all[name];
    for (const sing::OptionInfo& info :
         sing::list_options(sing::lab::optimizer::make_optimizer_options(name))) {
      options[info.name] = sing::to_json(info.value);
    }
  }
  std::puts(all.dump(1).c_str());
}
