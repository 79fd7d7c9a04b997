"""Uses the package as a typed program does; python/tests/test_typing.py checks it with mypy --strict."""

import torch

import sing

model = torch.nn.Linear(4, 3)
optimizer = sing.SING(model.named_parameters(), lr=5e-2, weight_decay=5e-2, normalize="size_calibrated", la_mergetime=5)
other: torch.optim.Optimizer = sing.SGD(model.parameters(), 1e-2, momentum=0.9)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, sing.schedules.WarmupCosine(warmup_steps=5, total_steps=100))
scaler = sing.GradScaler("cpu", init_scale=2.0)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).square().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
norms: dict[str, float] = optimizer.grad_norms()
skipped: int = optimizer.status()["skipped_steps"]
optimizer.load_state_dict(optimizer.state_dict())
groups = sing.param_groups(model, weight_decay=5e-2)
host = sing.attach(torch.optim.AdamW(model.parameters(), lr=1e-3))
assert len(norms) == 2 and skipped == 0
