"""Runs the scripts of `python/tests/user_scripts.py` with PyTorch, and writes their losses."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors.torch import load_file

tests = Path(__file__).parents[2] / "python" / "tests"
sys.path.insert(0, str(tests))
from user_scripts import SCRIPTS  # noqa: E402

TORCH = SimpleNamespace(
    Module=torch.nn.Module,
    nn=torch.nn,
    optim=torch.optim,
    compiled=lambda function: function,
    clip_grad_norm_=torch.nn.utils.clip_grad_norm_,
    StepLR=torch.optim.lr_scheduler.StepLR,
    grad=torch.autograd.grad,
    tensor=torch.tensor,
    no_grad=torch.no_grad,
    softmax=torch.softmax,
    log_softmax=torch.log_softmax,
    matmul=torch.matmul,
    relu=torch.relu,
    tanh=torch.tanh,
    amax=torch.amax,
    load=torch.load,
    load_file=load_file,
)

if __name__ == "__main__":
    losses = {script.__name__: script(TORCH) for script in SCRIPTS}
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else tests / "golden" / "scripts.json"
    path.write_text(json.dumps(losses, indent=1) + "\n")
