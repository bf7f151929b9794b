"""Runs transforms and mixed precision with PyTorch, and writes what they give: the file for `test_transforms.py` and `test_precision.py`."""

import json
import sys

import torch
from torch.func import vmap, grad, jacrev, jacfwd, hessian, jvp, vjp
torch.manual_seed(0)
T = torch.float64
def r(*s): return torch.randn(*s, dtype=T)
A = {"x": r(5, 3), "y": r(5, 3), "m": r(5, 3, 4), "w": r(4, 3), "img": r(2, 3, 6, 6), "k": r(4, 3, 3, 3), "v": r(3), "q": r(5, 4, 8), "idx": torch.tensor([[0, 2], [1, 1], [2, 0], [0, 0], [2, 1]])}
F = {}
import torch.nn.functional as f
F["sum"] = vmap(lambda x: x.sum())(A["x"])
F["softmax"] = vmap(lambda x: torch.softmax(x, -1))(A["x"])
F["outer"] = vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(A["v"], A["w"][:, 0])
F["matvec"] = vmap(lambda m, x: x @ m)(A["m"], A["x"])
F["matmul_shared"] = vmap(lambda m: m @ A["w"])(A["m"])
F["matmul_left"] = vmap(lambda m: A["w"] @ m)(A["m"])
F["in_axes"] = vmap(lambda c: c.cumsum(0), in_dims=1)(A["x"])
F["out_axes"] = vmap(lambda c: c * 2, out_dims=1)(A["x"])
F["sort"] = vmap(lambda x: torch.sort(x, -1).values)(A["x"])
F["gather"] = vmap(lambda x, i: x[i])(A["x"], A["idx"])
F["gather_shared"] = vmap(lambda i: A["v"][i])(A["idx"])
F["logsumexp"] = vmap(lambda m: torch.logsumexp(m, 0))(A["m"])
F["conv"] = vmap(lambda i: f.conv2d(i[None], A["k"]))(A["img"])
F["conv_weights"] = vmap(lambda k: f.conv2d(A["img"], k[None]))(A["k"])
F["layer_norm"] = vmap(lambda x: f.layer_norm(x, (3,)))(A["x"])
F["inverse"] = vmap(torch.linalg.inv)(A["m"][:, :, :3] + 4 * torch.eye(3, dtype=T))
F["attention"] = vmap(lambda q: f.scaled_dot_product_attention(q, q, q))(A["q"])
g = lambda x: (torch.sin(x) * x ** 2).sum()
F["grad"] = grad(g)(A["v"])
F["vmap_grad"] = vmap(grad(g))(A["x"])
F["grad_vmap"] = grad(lambda x: vmap(g)(x).pow(2).sum())(A["x"])
F["grad_grad"] = grad(lambda v: grad(g)(v).pow(2).sum())(A["v"])
h = lambda x: torch.stack([x[0] * x[1], torch.sin(x[2]), (x ** 2).sum(), x[0] ** 3])
F["jacrev"] = jacrev(h)(A["v"]); F["jacfwd"] = jacfwd(h)(A["v"])
F["hessian"] = hessian(g)(A["v"])
F["vmap_jacrev"] = vmap(jacrev(h))(A["x"])
F["vmap_hessian"] = vmap(hessian(g))(A["x"])
F["jvp"] = torch.stack([t for t in [jvp(h, (A["v"],), (A["y"][0],))[1]]])
F["vjp"] = vjp(h, A["v"])[1](r(4) * 0 + torch.arange(4, dtype=T))[0]
F["hvp"] = jvp(grad(g), (A["v"],), (A["y"][0],))[1]
W = {"w1": r(8, 3), "b1": r(8), "w2": r(1, 8)}
def loss(p, x, y): return ((torch.tanh(x @ p["w1"].T + p["b1"]) @ p["w2"].T).squeeze() - y.sum()) ** 2
ps = vmap(grad(loss), (None, 0, 0))(W, A["x"], A["y"])
for n, t in ps.items(): F["per_sample_" + n] = t
def maml(p, x, y):
    inner = grad(lambda p: vmap(loss, (None, 0, 0))(p, x, y).mean())(p)
    q = {n: p[n] - 0.1 * inner[n] for n in p}
    return vmap(loss, (None, 0, 0))(q, x, y).mean()
for n, t in grad(maml)(W, A["x"], A["y"]).items(): F["maml_" + n] = t
# mixed precision: element types
B = {}
x32, w32 = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
import torch.nn as nn
with torch.autocast("cpu", dtype=torch.bfloat16):
    B["matmul"] = x32 @ w32; B["linear"] = f.linear(x32, w32, torch.zeros(4)); B["add"] = x32 + w32; B["softmax"] = torch.softmax(x32 @ w32, -1)
    B["mse_loss"] = f.mse_loss(x32 @ w32, x32); B["cross_entropy"] = f.cross_entropy(x32 @ w32, torch.tensor([0, 1, 2, 3]))
    B["conv2d"] = f.conv2d(torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3)); B["cat"] = torch.cat([x32 @ w32, x32]); B["layer_norm"] = f.layer_norm(x32 @ w32, (4,))
    B["gelu"] = f.gelu(x32 @ w32); B["prod"] = torch.prod(x32 @ w32); B["l1_loss"] = f.l1_loss(x32 @ w32, x32); B["bce"] = f.binary_cross_entropy_with_logits(x32 @ w32, torch.sigmoid(x32))
    B["einsum"] = torch.einsum("ij,jk->ik", x32, w32); B["sdpa"] = f.scaled_dot_product_attention(x32[None], x32[None], x32[None]); B["sum"] = (x32 @ w32).sum(); B["prelu"] = f.prelu(x32, torch.tensor([0.25]))
    B["inverse"] = torch.linalg.inv(x32 @ w32); B["double"] = x32.double() @ w32.double(); B["kl_div"] = f.kl_div(x32 @ w32, x32.abs()); B["conv_transpose2d"] = f.conv_transpose2d(torch.randn(1, 3, 5, 5), torch.randn(3, 2, 3, 3))
    B["exp"] = torch.exp(x32 @ w32); B["max_pool2d"] = f.max_pool2d((torch.randn(1, 2, 4, 4).bfloat16()), 2); B["mul_scalar"] = (x32 @ w32) * 2.0
    B["bmm"] = torch.bmm(x32[None], w32[None]); B["nll_loss"] = f.nll_loss(x32 @ w32, torch.tensor([0, 1, 2, 3])); B["smooth_l1"] = f.smooth_l1_loss(x32 @ w32, x32); B["huber"] = f.huber_loss(x32 @ w32, x32)
    B["trace"] = torch.trace(x32 @ w32); B["norm"] = torch.linalg.norm(x32 @ w32); B["dot"] = torch.dot(x32[0], x32[1]); B["vecdot"] = torch.linalg.vecdot(x32, x32); B["mv"] = x32 @ x32[0]
    B["cumsum"] = torch.cumsum(x32 @ w32, 0); B["outer"] = torch.outer(x32[0], x32[1]); B["tensordot"] = torch.tensordot(x32, w32, 1)
    B["lstm"] = nn.LSTM(4, 4)(x32[None])[0]; B["embedding"] = f.embedding(torch.tensor([0, 1]), x32); B["quantile"] = None
B.pop("quantile")
out = {"inputs": {k: v.tolist() for k, v in A.items()}, "weights": {k: v.tolist() for k, v in W.items()}, "values": {k: v.detach().tolist() for k, v in F.items()}, "types": {k: str(v.dtype).split(".")[1] for k, v in B.items()}}
with open(sys.argv[1], "w") as file:
    json.dump(out, file)
