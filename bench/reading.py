"""How fast shuffled batches of 128 come, beside PyTorch's DataLoader on arrays of the same sizes.

Both sides take turns, pass by pass, ours in a process of its own; the fastest pass counts. PyTorch reads
in the process (0 workers) and with 2 workers, which stay alive between the passes. Figures are gigabytes
of delivered elements per second; the ratio is ours with a thread that reads ahead to the better of PyTorch.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

try:
    import torch
except ImportError:
    torch = None

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Ours:
    """The Rust side, which makes a pass for each line that it is sent."""

    def __init__(self, profile, source):
        command = ["cargo", "bench", "-q", "-p", "fluvial-data", "--bench", "reading"]
        command += ["--profile", profile, "--", "serve", source]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)

    def rate(self, case):
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit("the Rust side ended")
        return float(answer[1]) / float(answer[0]) / 1e9

    def close(self):
        # Workers that were forked hold the pipe, too, so closing it would not end the other side.
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.process.wait()


class Theirs:
    """A DataLoader over a TensorDataset."""

    def __init__(self, is_u8, n_workers):
        images = torch.randint(0, 256, (60_000, 784), dtype=torch.uint8)
        images = images if is_u8 else images.float()
        labels = torch.randint(0, 10, (60_000,))
        dataset = torch.utils.data.TensorDataset(images, labels)
        self.loader = torch.utils.data.DataLoader(
            dataset,
            batch_size=128,
            shuffle=True,
            num_workers=n_workers,
            persistent_workers=n_workers > 0,
        )

    def rate(self):
        n_bytes = 0
        start = time.perf_counter()
        for batch in self.loader:
            n_bytes += sum(x.numel() * x.element_size() for x in batch)
        return n_bytes / (time.perf_counter() - start) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="memory", help="`memory`, or a record file")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--profile", default="bench", help="the profile that Rust is built with")
    options = parser.parse_args()

    heads = ["same thread", "prefetch"]
    if torch is None:
        print("PyTorch is not installed here: ours only, in GB/s")
    else:
        torch.set_num_threads(1)
        print(f"PyTorch {torch.__version__}, {os.cpu_count()} cores, GB/s")
        heads += ["torch, 0", "torch, 2", "ratio"]
    ours = Ours(options.profile, options.source)
    print(f"{'':20}" + "".join(f"{head:>14}" for head in heads))
    for name in ["f32", "u8"] if options.source == "memory" else [options.source]:
        workers = [] if torch is None else [0, 2]
        loaders = [Theirs(name == "u8", n_workers) for n_workers in workers]
        best = [0.0] * (2 + len(loaders))
        for _ in range(options.passes):
            rates = [ours.rate(f"{name}, same thread"), ours.rate(f"{name}, prefetch")]
            rates += [loader.rate() for loader in loaders]
            best = [max(pair) for pair in zip(best, rates)]
        row = f"{name[-20:]:20}" + "".join(f"{rate:14.3f}" for rate in best)
        print(row + (f"{best[1] / max(best[2:]):14.1f}" if loaders else ""))
    ours.close()


if __name__ == "__main__":
    main()
