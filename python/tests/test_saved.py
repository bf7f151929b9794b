"""Trees of tensors in files."""

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn


class TestTrees:
    def test_what_was_saved_is_loaded(self, tmp_path):
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        optimizer = fl.optimizer.Adam(net.parameters(), 0.1)
        optimizer.minimize(fl.sum(net(fl.ones((4, 2)))))
        shared = fl.tensor([1.0])
        tree = {
            "model": net.state_dict(),
            "optimizer": optimizer.state_dict(),
            "step": 3,
            "notes": ["a", 1.5, None, True, (fl.tensor([1, 2]), np.arange(3))],
            7: {"empty": {}, "half": fl.tensor([1.0], "float16"), "bf16": fl.tensor([2.0], "bfloat16")},
            "twice": [shared, shared],
        }
        path = tmp_path / "checkpoint.pt"
        fl.save(tree, path)
        found = fl.load(path)
        assert list(found) == list(tree) and found["step"] == 3 and found["notes"][:4] == tree["notes"][:4]
        for key, value in tree["model"].items():
            assert found["model"][key].tolist() == value.tolist() and found["model"][key].dtype == value.dtype
        assert isinstance(found["notes"][4], tuple) and isinstance(found["notes"][4][1], np.ndarray)
        assert found[7]["half"].dtype == fl.float16 and found[7]["empty"] == {}
        assert found["twice"][0] is found["twice"][1]
        other = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        other.load_state_dict(found["model"])
        again = fl.optimizer.Adam(other.parameters(), 0.1)
        again.load_state_dict(found["optimizer"])

    def test_plain_dicts_are_what_other_readers_know(self, tmp_path):
        path = tmp_path / "weights"
        fl.save({"a.weight": fl.ones(2)}, path)
        assert fl.load_safetensors(path)["a.weight"].tolist() == [1.0, 1.0]
        assert list(fl.load(path)) == ["a.weight"]
        fl.save_safetensors({"x": fl.zeros(1)}, path)
        assert fl.load(path)["x"].tolist() == [0.0]
        fl.save(fl.ones(3), path)
        assert fl.load(path).tolist() == [1.0, 1.0, 1.0]

    def test_graphs_are_programs(self, tmp_path):
        path = tmp_path / "mygraph"
        (fl.Variable("A", shape=("n",)) * 2).save(path)
        assert fl.compile(fl.load(path))(A=np.ones(2, np.float32)).tolist() == [2.0, 2.0]

    def test_what_cannot_be_saved_is_told(self, tmp_path):
        with pytest.raises(TypeError, match="(?s)Linear at `net` cannot be saved.*state_dict"):
            fl.save({"net": nn.Linear(1, 1)}, tmp_path / "x")
        loop = []
        loop.append(loop)
        with pytest.raises(ValueError, match="inside of itself"):
            fl.save(loop, tmp_path / "x")
        with pytest.raises(TypeError, match="the key"):
            fl.save({(1, 2): fl.ones(1)}, tmp_path / "x")
        with pytest.raises(RuntimeError, match="while a program is built"):
            fl.function(lambda x: fl.save({"x": x}, tmp_path / "x"))(fl.ones(1))

    def test_a_damaged_file_says_so(self, tmp_path):
        path, rng = tmp_path / "tree", np.random.default_rng(3)
        fl.save({"a": fl.ones(30), "notes": ["text", 1]}, path)
        whole = path.read_bytes()
        for _ in range(60):
            at, data = int(rng.integers(8, len(whole))), bytearray(whole)
            data[at] ^= 1 << int(rng.integers(8))
            path.write_bytes(data)
            with pytest.raises((ValueError, OSError)) as caught:
                fl.load(path)
            assert not isinstance(caught.value, UnicodeError) and str(path) in str(caught.value)

    @pytest.mark.parametrize("form", ["[", "{}", '{"tensor": "b"}', '{"dict": 3}', "3", "[" * 50_000])
    def test_a_note_that_is_none_of_ours(self, tmp_path, form):
        from fluvial import _core, _saved

        path = tmp_path / "tree"
        _core.write_safetensors(path, {"a": fl.ones(1)}, [(_saved._FORM, form)])
        with pytest.raises(ValueError, match="does not say what it holds"):
            fl.load(path)
