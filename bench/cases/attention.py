"""Attention and cells of recurrent networks; PyTorch computes cells with small functions."""

import torch
import torch.nn.functional as F


def rows():
    for batch, heads, size, width, causal in [
        (8, 12, 128, 64, 0),
        (4, 12, 512, 64, 0),
        (4, 12, 512, 64, 1),
        (1, 8, 2048, 64, 0),
    ]:
        q, k, v, grad = (torch.rand(batch, heads, size, width) * 2 - 1 for _ in range(4))
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]

        def forward(q=q, k=k, v=v, causal=bool(causal)):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

        def both(leaves=leaves, grad=grad, causal=bool(causal)):
            with torch.enable_grad():
                y = F.scaled_dot_product_attention(*leaves, is_causal=causal)
                return torch.autograd.grad(y, leaves, grad)

        name = f"{batch}x{heads}x{size}x{width}{' causal' if causal else ''}"
        sizes = f"{batch} {heads} {size} {width} {causal}"
        yield f"attention {name}", f"attention {sizes}", forward, 1.0
        yield f"attention+grad {name}", f"attention_grad {sizes}", both, 1.0

    for hidden in (256, 1024):
        gates, c = torch.rand(64, 4 * hidden) * 2 - 1, torch.rand(64, hidden) * 2 - 1
        x, r = torch.rand(64, 3 * hidden) * 2 - 1, torch.rand(64, 3 * hidden) * 2 - 1

        def lstm(gates=gates, c=c):
            enter, forget, new, leave = gates.chunk(4, 1)
            c = forget.sigmoid() * c + enter.sigmoid() * new.tanh()
            return leave.sigmoid() * c.tanh(), c

        def gru(x=x, r=r, h=c):
            (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), r.chunk(3, 1)
            new = (xn + (xr + hr).sigmoid() * hn).tanh()
            return new + (xz + hz).sigmoid() * (h - new)

        yield f"LSTM cell 64x{hidden}", f"lstm_cell 64 {hidden}", lstm, 1.5
        yield f"GRU cell 64x{hidden}", f"gru_cell 64 {hidden}", gru, 1.5
