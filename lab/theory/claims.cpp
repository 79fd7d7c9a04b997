// Lists the families of claims, one per line.
#include "lab/theory/claims.hpp"

#include <algorithm>
#include <chrono>

#include "sing/base/fields.hpp"
#include "sing/base/message.hpp"
#include "sing/base/name_list.hpp"

namespace sing::lab::theory {

std::vector<Claim> all_claims() {
  std::vector<Claim> all;
  for (std::vector<Claim>& family :
       std::vector{escape_claims(), invariance_claims(), lemma_claims(), convergence_claims(),
                   clipping_claims(), calibrated_claims(), figure_claims()}) {
    std::move(family.begin(), family.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<Claim> select_claims(std::span<const std::string> names) {
  const std::vector<Claim> all = all_claims();
  std::vector<std::string> families;
  std::vector<std::string> known;
  for (const Claim& claim : all) {
    if (families.empty() || families.back() != claim.family) {
      families.push_back(claim.family);
    }
    known.push_back(claim.name);
    known.push_back(claim.family);
  }
  for (const std::string& name : names) {
    SING_CHECK(std::find(known.begin(), known.end(), name) != known.end(),
               "[sing theory] wanted the name of a claim or of a family ({}), got '{}'{}",
               joined_names(families), name, did_you_mean(name, known));
  }
  std::vector<Claim> selected;
  std::copy_if(all.begin(), all.end(), std::back_inserter(selected), [&](const Claim& claim) {
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
             return name == claim.name || name == claim.family;
           });
  });
  return selected;
}

Verdict try_claim(const Claim& claim, const Method& method) {
  const auto begin = std::chrono::steady_clock::now();
  Evidence evidence = claim.check(method);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return {claim, std::move(evidence), time.count()};
}

}  // namespace sing::lab::theory
