"""Fluid's names for inference with a saved model: a predictor takes and gives tensors in order. It runs on the executor."""

from __future__ import annotations

import enum
from typing import Any

from .._fault import fault
from ._lists import listed

__all__ = ["AnalysisConfig", "NativeConfig", "PaddleBuf", "PaddleDType", "PaddlePredictor", "PaddleTensor",
           "create_paddle_predictor"]  # fmt: skip


class PaddleDType(enum.Enum):
    """The element type of a `PaddleTensor`."""

    FLOAT32 = "float32"
    INT64 = "int64"
    INT32 = "int32"


class PaddleBuf:
    """The elements of a `PaddleTensor`.

    Args:
        data: An array, or a list of numbers.
    """

    def __init__(self, data: Any) -> None:
        import numpy as np

        self._array = np.asarray(data)

    def length(self) -> int:
        """The number of bytes."""
        return int(self._array.nbytes)

    def tolist(self) -> list[Any]:
        """The elements in order."""
        return list(self._array.ravel().tolist())

    float_data = int64_data = int32_data = tolist


class PaddleTensor:
    """What a predictor takes and gives.

    Args:
        data: The elements.
    """

    def __init__(self, data: Any = None, name: str = "") -> None:
        import numpy as np

        self.name = name
        self.lod: list[list[int]] = []
        self.data = PaddleBuf(np.zeros(0, "float32") if data is None else data)
        self.shape = [int(size) for size in self.data._array.shape]
        self.dtype = next((kind for kind in PaddleDType if kind.value == self.data._array.dtype.name), PaddleDType.FLOAT32)

    def as_ndarray(self) -> Any:
        """The elements as an array of its sizes."""
        return self.data._array.reshape(listed(self.shape, "sizes"))


class NativeConfig:
    """Where a model is.

    Args:
        model_dir: The folder that `save_inference_model` wrote.
    """

    def __init__(self, model_dir: str = "") -> None:
        self.model_dir = model_dir
        self.prog_file: str | None = None
        self.param_file: str | None = None
        self.use_gpu = False
        self.device = 0
        self.fraction_of_gpu_memory = 0.0


class AnalysisConfig(NativeConfig):
    """Where a model is. The program is compiled in any case.

    Args:
        model_dir: The folder that `save_inference_model` wrote; or the file of the program, if a second one is given.
        params_file: The file of the parameters.
    """

    def __init__(self, model_dir: str = "", params_file: str | None = None) -> None:
        import os

        super().__init__(model_dir if params_file is None else os.path.dirname(model_dir))
        if params_file is not None:
            self.prog_file, self.param_file = os.path.basename(model_dir), os.path.basename(params_file)

    def disable_gpu(self) -> None:
        """Uses the CPU, which is the one place."""
        self.use_gpu = False


class PaddlePredictor:
    """Runs a saved model.

    Args:
        config: Where it is.
    """

    def __init__(self, config: NativeConfig) -> None:
        from .core import CPUPlace
        from .executor import Executor, Scope, scope_guard
        from .io import load_inference_model

        if not isinstance(config, NativeConfig):
            raise fault(TypeError, f"{type(config).__name__} says not where a model is", "give an `AnalysisConfig`")
        if config.use_gpu:
            raise fault(ValueError, "there are no GPUs", "set `use_gpu = False`")
        self._scope, self._exe = Scope(), Executor(CPUPlace())
        with scope_guard(self._scope):
            self._program, self._names, self._targets = load_inference_model(
                config.model_dir, self._exe, config.prog_file, config.param_file
            )

    def run(self, inputs: Any) -> list[PaddleTensor]:
        """The results of a model.

        Args:
            inputs: A `PaddleTensor` for each input of the model, in order.
        """
        from .lod_tensor import LoDTensor

        given = listed(inputs, "tensors")
        if len(given) != len(self._names) or not all(isinstance(tensor, PaddleTensor) for tensor in given):
            raise fault(
                ValueError, f"the model takes {len(self._names)} tensors: {', '.join(self._names)}",
                "give a `PaddleTensor` for each",
            )  # fmt: skip
        feed: dict[str, Any] = {}
        for name, tensor in zip(self._names, given):
            feed[name] = fed = LoDTensor()
            fed.set(tensor.as_ndarray())
            fed.set_lod(tensor.lod)
        found = self._exe.run(
            self._program, feed=feed, fetch_list=self._targets, scope=self._scope, return_numpy=False
        )
        results = []
        for value, target in zip(found, self._targets):
            made = PaddleTensor(value.numpy(), target.name)
            made.lod = value.lod()
            results.append(made)
        return results


def create_paddle_predictor(config: NativeConfig) -> PaddlePredictor:
    """A predictor of a saved model.

    Args:
        config: Where it is.
    """
    return PaddlePredictor(config)
