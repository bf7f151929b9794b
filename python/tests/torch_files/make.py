"""Writes the files beside it, with PyTorch: weights in its formats, and what its layers give.

Run as `python make.py` with PyTorch installed; the tests need only the files.
"""

import json
from collections import OrderedDict

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)
        self.lstm = nn.LSTM(8, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x, _ = self.lstm(x.permute(0, 2, 1, 3).reshape(x.shape[0], 4, -1))
        return self.head(x[:, -1])


model = Model()
for _ in range(3):
    model(torch.randn(5, 1, 4, 4) * 2 + 1)
model.eval()
x = torch.randn(2, 1, 4, 4)
torch.save(model.state_dict(), "model.pt")
torch.save(model.state_dict(), "legacy.pth", _use_new_zipfile_serialization=False)
json.dump(
    {"x": x.tolist(), "y": model(x).tolist()}, open("model.json", "w"), separators=(",", ":")
)
torch.save(nn.Sequential(nn.Linear(4, 2), nn.Tanh()).state_dict(), "linear.pt")

base = torch.arange(24, dtype=torch.float32)
shared = torch.tensor([1.0, 2.0, 3.0])
kinds = {
    str(dtype).removeprefix("torch."): torch.tensor([0, 1, 2, 100], dtype=dtype)
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
    )
}
content = {
    "kinds": {**kinds, "bool": torch.tensor([True, False])},
    "strided": base[2:22:2],
    "transposed": base.reshape(4, 6).T,
    "expanded": torch.tensor([7.0]).expand(3, 2),
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
    "parameter": nn.Parameter(torch.tensor([1.5, -1.5])),
    "tied": [shared, shared],
    "nested": OrderedDict(a=[1, 2.5, True, None, "text"], b=(torch.Size([2, 3]), torch.bfloat16)),
    "epoch": 3,
    "large": 2**40,
}
marked = torch.tensor([4.0])
marked.note = "an attribute"
content["marked"] = marked
torch.save(content, "kinds.pt")
torch.save(content, "kinds_protocol4.pt", pickle_protocol=4)
torch.save(content, "kinds_legacy.pt", _use_new_zipfile_serialization=False)
torch.serialization.set_crc32_options(False)
torch.save({"x": shared}, "no_checksums.pt")
torch.serialization.set_crc32_options(True)
torch.save(nn.Linear(2, 2), "whole_model.pt")
torch.save({"x": torch.zeros(2, dtype=torch.complex64)}, "complex.pt")
torch.save({"x": torch.zeros(2, dtype=torch.float8_e4m3fn)}, "float8.pt")
torch.save({"x": torch.eye(2).to_sparse()}, "sparse.pt")
