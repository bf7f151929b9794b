"""Weights of others: files and folders in the layouts that models have, loaded by name into our layers."""

from __future__ import annotations

import json
import os
import pickle
import struct

import numpy as np
import pytest

import fluvial as fl

GOLDEN = os.path.join(os.path.dirname(__file__), "golden", "gguf")


def numbers(sizes, seed=0):
    return np.asarray(np.random.RandomState(seed).randn(*sizes), "float32")


def layout(layer):
    """Arrays for all that a layer holds, by its names."""
    state = layer.state_dict()
    made = {name: numbers(tensor.shape, seed) for seed, (name, tensor) in enumerate(state.items())}
    return {name: value.astype(str(np.dtype(state[name].numpy().dtype))) for name, value in made.items()}


def check(layer, weights, expected):
    loaded = layer.load_state_dict(weights)
    assert not loaded.missing and not loaded.unexpected
    for name, tensor in layer.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), expected[name], err_msg=name)


class Attention(fl.nn.Module):
    def __init__(self, width, names):
        super().__init__()
        for name in names:
            setattr(self, name, fl.nn.Linear(width, width))


class Block(fl.nn.Module):
    """A block with named parts, as model families name them."""

    def __init__(self, /, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


def gpt2():
    block = Block(
        ln_1=fl.nn.LayerNorm(8),
        attn=Block(c_attn=fl.nn.Linear(8, 24), c_proj=fl.nn.Linear(8, 8)),
        ln_2=fl.nn.LayerNorm(8),
        mlp=Block(c_fc=fl.nn.Linear(8, 32), c_proj=fl.nn.Linear(32, 8)),
    )
    body = Block(
        wte=fl.nn.Embedding(11, 8), wpe=fl.nn.Embedding(6, 8), h=fl.nn.ModuleList([block]), ln_f=fl.nn.LayerNorm(8)
    )
    return Block(transformer=body)


def llama():
    def linear(a, b):
        return fl.nn.Linear(a, b, bias=False)

    layer = Block(
        self_attn=Block(q_proj=linear(8, 8), k_proj=linear(8, 4), v_proj=linear(8, 4), o_proj=linear(8, 8)),
        mlp=Block(gate_proj=linear(8, 16), up_proj=linear(8, 16), down_proj=linear(16, 8)),
        input_layernorm=fl.nn.RMSNorm(8),
        post_attention_layernorm=fl.nn.RMSNorm(8),
    )
    body = Block(embed_tokens=fl.nn.Embedding(11, 8), layers=fl.nn.ModuleList([layer]), norm=fl.nn.RMSNorm(8))
    return Block(model=body, lm_head=linear(8, 11))


def bert():
    layer = Block(
        attention=Block(
            self=Attention(8, ["query", "key", "value"]),
            output=Block(dense=fl.nn.Linear(8, 8), LayerNorm=fl.nn.LayerNorm(8)),
        ),
        intermediate=Block(dense=fl.nn.Linear(8, 16)),
        output=Block(dense=fl.nn.Linear(16, 8), LayerNorm=fl.nn.LayerNorm(8)),
    )
    embeddings = Block(
        word_embeddings=fl.nn.Embedding(11, 8), position_embeddings=fl.nn.Embedding(6, 8), LayerNorm=fl.nn.LayerNorm(8)
    )
    return Block(embeddings=embeddings, encoder=Block(layer=fl.nn.ModuleList([layer])))


def resnet():
    block = Block(
        conv1=fl.nn.Conv2d(4, 4, 3, bias=False), bn1=fl.nn.BatchNorm2d(4),
        conv2=fl.nn.Conv2d(4, 4, 3, bias=False), bn2=fl.nn.BatchNorm2d(4),
    )  # fmt: skip
    return Block(
        conv1=fl.nn.Conv2d(3, 4, 7, bias=False), bn1=fl.nn.BatchNorm2d(4), layer1=fl.nn.Sequential(block),
        fc=fl.nn.Linear(4, 10),
    )  # fmt: skip


def whisper_encoder():
    layer = Block(
        self_attn=Block(
            q_proj=fl.nn.Linear(8, 8), k_proj=fl.nn.Linear(8, 8, bias=False), v_proj=fl.nn.Linear(8, 8),
            out_proj=fl.nn.Linear(8, 8),
        ),
        self_attn_layer_norm=fl.nn.LayerNorm(8), fc1=fl.nn.Linear(8, 16), fc2=fl.nn.Linear(16, 8),
        final_layer_norm=fl.nn.LayerNorm(8),
    )  # fmt: skip
    return Block(
        conv1=fl.nn.Conv1d(5, 8, 3), conv2=fl.nn.Conv1d(8, 8, 3), embed_positions=fl.nn.Embedding(12, 8),
        layers=fl.nn.ModuleList([layer]), layer_norm=fl.nn.LayerNorm(8),
    )  # fmt: skip


MODELS = [gpt2, llama, bert, resnet, whisper_encoder]


def as_tensors(arrays):
    return {name: fl.tensor(value) for name, value in arrays.items()}


def write_gguf(path, arrays):
    """A GGUF file of version 3 with floats."""
    kinds = {"float32": 0, "float16": 1, "int64": 27}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(arrays), 1)

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    head += text("general.architecture") + struct.pack("<I", 8) + text("test")
    data = b""
    for name, array in arrays.items():
        head += text(name) + struct.pack("<I", array.ndim)
        head += b"".join(struct.pack("<Q", size) for size in array.shape[::-1])
        head += struct.pack("<IQ", kinds[array.dtype.name], len(data))
        data += array.tobytes() + b"\0" * (-len(array.tobytes()) % 32)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32) + data)


@pytest.mark.parametrize("make", MODELS)
def test_layouts_load_by_name(make, tmp_path):
    arrays = layout(make())
    fl.save_safetensors(as_tensors(arrays), tmp_path / "model.safetensors")
    np.savez(tmp_path / "model.npz", **arrays)
    write_gguf(tmp_path / "model.gguf", arrays)
    with open(tmp_path / "model.pdparams", "wb") as file:
        pickle.dump({**arrays, "StructuredToParameterName@@": {name: name for name in arrays}}, file, protocol=4)
    for path in ("model.safetensors", "model.npz", "model.gguf", "model.pdparams", "."):
        check(make(), fl.load_weights(tmp_path / path), arrays)


@pytest.mark.parametrize("make", MODELS)
def test_folders_with_several_files(make, tmp_path):
    arrays = layout(make())
    names = sorted(arrays)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, chosen in parts.items():
        fl.save_safetensors(as_tensors({name: arrays[name] for name in chosen}), tmp_path / file)
    index = {"metadata": {}, "weight_map": {name: file for file, chosen in parts.items() for name in chosen}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "config.json").write_text('{"model_type": "test"}')
    check(make(), fl.load_weights(tmp_path), arrays)
    index["weight_map"]["missing.weight"] = "model-00001-of-00002.safetensors"
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(Exception, match="missing.weight"):
        fl.load_weights(tmp_path)
    index["weight_map"] = {"a": "../other.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(Exception, match="leads out of the folder"):
        fl.load_weights(tmp_path)


def test_quantised_numbers_are_those_of_the_reference():
    expected = np.load(os.path.join(GOLDEN, "quants.npz"))
    found = fl.load_weights(os.path.join(GOLDEN, "quants.gguf"))
    assert sorted(found) == sorted(expected.files)
    for name in expected.files:
        np.testing.assert_allclose(found[name].numpy(), expected[name], rtol=2e-6, atol=1e-6, err_msg=name)


def test_damaged_gguf_files_are_errors(tmp_path):
    with open(os.path.join(GOLDEN, "quants.gguf"), "rb") as file:
        whole = file.read()
    path = tmp_path / "damaged.gguf"
    random = np.random.RandomState(0)
    for end in [*range(0, 200, 7), len(whole) // 2, len(whole) - 64]:
        path.write_bytes(whole[:end])
        with pytest.raises(Exception):
            fl.load_weights(path)
    for _ in range(200):
        changed = bytearray(whole)
        changed[random.randint(0, 900)] ^= 1 << random.randint(0, 8)
        path.write_bytes(bytes(changed))
        try:
            fl.load_weights(path)
        except (ValueError, RuntimeError, OSError, MemoryError):
            pass
    # Two tensors over the same bytes, and one of enormous sizes.
    write_gguf(path, {"a": np.ones((2, 16), "float32")})
    data = path.read_bytes()
    path.write_bytes(data.replace(struct.pack("<QQ", 16, 2), struct.pack("<QQ", 1 << 40, 1 << 40)))
    with pytest.raises(Exception, match="`a`"):
        fl.load_weights(path)


def test_pickles_call_nothing(tmp_path):
    path = tmp_path / "evil.pdparams"

    class Evil:
        def __reduce__(self):
            return (os.system, ("touch " + str(tmp_path / "called"),))

    path.write_bytes(pickle.dumps({"a": Evil()}, protocol=4))
    with pytest.raises(ValueError, match="not part of weights"):
        fl.load_weights(path)
    assert not (tmp_path / "called").exists()
    path.write_bytes(pickle.dumps({"a": np.array([{}], dtype=object)}, protocol=4))
    with pytest.raises(ValueError, match="elements of the type"):
        fl.load_weights(path)
    path.write_bytes(pickle.dumps({"a": np.asfortranarray(numbers((2, 3)))}, protocol=4))
    np.testing.assert_array_equal(fl.load_weights(path)["a"].numpy(), numbers((2, 3)))
    path.write_bytes(pickle.dumps([1, 2], protocol=4))
    with pytest.raises(ValueError, match="something else than tensors by name"):
        fl.load_weights(path)


def test_what_is_not_known_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(Exception, match="nothing says what it holds"):
        fl.load_weights(tmp_path / "a.txt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Exception, match="neither"):
        fl.load_weights(tmp_path / "folder")
