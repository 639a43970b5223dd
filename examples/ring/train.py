"""A small causal model, trained on the tokens of two documents that ranks share. docs/distributed.md shows what it prints.

    torchrun --standalone --nproc-per-node 4 examples/ring/train.py

The losses are those of one rank. POSENC_MODE: ring, all_gather or ulysses.
"""

import os

import torch
import torch.distributed as dist
from torch import nn

import posenc
import posenc.distributed as pd
import posenc.torch

ENDS = [0, 96, 256]  # of the documents
WORDS, WIDTH, HEADS, KV_HEADS, HEAD_DIM = 64, 64, 8, 2, 16

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
mode = os.environ.get("POSENC_MODE", "ring")
torch.manual_seed(0)  # weights and words are the same on all ranks
torch.set_num_threads(1)

rope = posenc.Rope(pairing="half", head_dim=HEAD_DIM, dim=HEAD_DIM)
plan = posenc.LayerPlan(
    heads=HEADS, kv_heads=KV_HEADS, head_dim=HEAD_DIM, value_dim=HEAD_DIM, softmax_scale=HEAD_DIM**-0.5,
    rotate=(posenc.Rotate(scheme=rope),),
)  # fmt: skip
layer = posenc.torch.Layer(plan)
sharding = posenc.shard(ranks, dealing="zigzag", cu_seqlens=ENDS)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(WIDTH)
        self.q = nn.Linear(WIDTH, HEADS * HEAD_DIM, bias=False)
        self.kv = nn.Linear(WIDTH, 2 * KV_HEADS * HEAD_DIM, bias=False)
        self.out = nn.Linear(HEADS * HEAD_DIM, WIDTH, bias=False)

    def forward(self, x):
        y = self.norm(x)
        q = self.q(y).view(-1, HEADS, HEAD_DIM)
        k, v = self.kv(y).view(-1, 2, KV_HEADS, HEAD_DIM).unbind(1)
        return x + self.out(pd.attend(q, k, v, layer, mode=mode, sharding=sharding).flatten(1))


model = nn.Sequential(nn.Embedding(WORDS, WIDTH), Block(), Block(), nn.RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS))
words = torch.randint(WORDS, (ENDS[-1],))
following = words.roll(-1)
following[[end - 1 for end in ENDS[1:]]] = -100  # the last word of a document has none
own, target = (pd.take(x, sharding, rank) for x in (words, following))
count = ENDS[-1] - len(ENDS) + 1

optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(5):
    loss = nn.functional.cross_entropy(model(own), target, reduction="sum") / count
    loss.backward()
    for parameter in model.parameters():  # each rank has the gradient of its own tokens
        dist.all_reduce(parameter.grad)
    total = loss.detach().clone()
    dist.all_reduce(total)
    if rank == 0:
        print(f"step {step}: loss {float(total):.4f}")
    optimizer.step()
    optimizer.zero_grad()

cost = posenc.shard_cost(plan, sharding, sharding, mode=mode)
if rank == 0:
    print(
        f"{ranks} ranks, {mode}: {sum(one.forward_sent for one in cost)} bytes sent for a layer, {sum(one.backward_sent for one in cost)} on the way back"
    )
dist.destroy_process_group()
