"""The state dictionary of the authors' SING (github.com/AdrienCourtois/SING): reading and writing it."""

from __future__ import annotations

from typing import Any

import torch

from sing.options import AUTHORS_KEYS, COUNTER

# Their names of state and ours; names that are not listed are the same.
STATE_KEYS = {"lookahead_params": "slow"}


def is_official(state_dict: dict[str, Any]) -> bool:
    return any("la_step" in group for group in state_dict.get("param_groups", ()))


def from_official(state_dict: dict[str, Any]) -> dict[str, Any]:
    """Our state dictionary from theirs. Their counter of steps since the last merge replaces our counter of all steps, because
    merges then fall on the same steps.
    """
    if not is_official(state_dict):
        raise ValueError("[sing.SING] wanted a state dictionary of the authors' SING, with 'la_step' in its groups, got another")
    groups = []
    for theirs in state_dict["param_groups"]:
        group = {AUTHORS_KEYS.get(key, key): value for key, value in theirs.items()}
        group["normalize"] = "unit_norm" if group.pop("grad_norm", True) else "off"
        sharpness = float(group.pop("beta_softplus", 50))
        group["softplus_beta"] = sharpness if group.pop("softplus", True) else None
        group["norm_epsilon"] = group["eps"]
        groups.append(group)
    state = {
        index: {STATE_KEYS.get(key, key): value for key, value in entry.items()}
        for index, entry in state_dict["state"].items()
    }
    return {"state": state, "param_groups": groups}


def to_official(state_dict: dict[str, Any], rule: str) -> dict[str, Any]:
    """Their state dictionary from ours. Raises an error for options that their class does not have."""
    groups = []
    for ours in state_dict["param_groups"]:
        is_expressible = (
            rule == "adamw"
            and ours["normalize"] != "size_calibrated"
            and ours["centralize_axis"] == 0
            and not (ours["decay_vectors"] or ours["master_weights"] or ours["maximize"])
            and (ours["clip_norm"] is None or ours["normalize"] != "off")
            and (ours["normalize"] == "off" or ours["norm_epsilon"] == ours["eps"] or ours["softplus_beta"] is not None)
        )
        if not is_expressible:
            raise ValueError("[sing.SING] wanted options that the authors' SING has, got others in a group")
        is_soft = ours["softplus_beta"] is not None
        group = {key: ours[key] for key in ("params", "param_names", "lr", "betas", "weight_decay", "initial_lr") if key in ours}
        group.update({theirs: ours[mine] for theirs, mine in AUTHORS_KEYS.items()})
        group["eps"] = ours["norm_epsilon"] if is_soft else ours["eps"]
        group["lr"] = ours["lr"] * ours["learning_rate_factor"]
        group["grad_norm"] = ours["normalize"] == "unit_norm"
        group["softplus"] = is_soft
        group["beta_softplus"] = ours["softplus_beta"] if is_soft else 50
        group["la_step"] = ours[COUNTER] % ours["lookahead_period"]
        groups.append(group)
    names = {ours: theirs for theirs, ours in STATE_KEYS.items()}
    state = {
        index: {
            names.get(key, key): torch.tensor(float(value)) if key == "step" else value for key, value in entry.items()
        }
        for index, entry in state_dict["state"].items()
    }
    return {"state": state, "param_groups": groups}
