"""`fl.load_torch`: PyTorch's files, and files that want to do harm."""

import io
import json
import pickle
import random
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fluvial as fl
from fluvial import nn

FILES = Path(__file__).parent / "torch_files"


class Model(nn.Layer):
    """The model of `make.py`."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)
        self.lstm = nn.LSTM(8, 3, layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        x = fl.relu(self.norm(self.conv(x)))
        x, *_ = self.lstm(x.permute(0, 2, 1, 3).reshape(x.shape[0], 4, -1))
        return self.head(x[:, -1])


class TestFiles:
    @pytest.mark.parametrize("name", ["model.pt", "legacy.pth"])
    def test_a_model_gives_what_it_gave(self, name):
        golden = json.loads((FILES / "model.json").read_text())
        with fl.State():
            model = Model().eval()
            state = fl.load_torch(FILES / name)
            loaded = model.load_state_dict(state)
            assert loaded.missing == loaded.unexpected == []
            fl.testing.assert_close(model(fl.tensor(golden["x"])), golden["y"], rtol=1e-5, atol=1e-6)
            assert model.norm.num_batches_tracked.item() == 3

    @pytest.mark.parametrize("name", ["kinds.pt", "kinds_protocol4.pt", "kinds_legacy.pt"])
    def test_everything_that_weights_need(self, name):
        found = fl.load_torch(FILES / name)
        kinds = found["kinds"]
        for kind, tensor in kinds.items():
            assert tensor.dtype.name == kind
            numbers = [True, False] if kind == "bool" else [0, 1, 2, 100]
            assert tensor.tolist() == numbers and not tensor.is_tracked
        base = np.arange(24, dtype=np.float32)
        assert found["strided"].tolist() == base[2:22:2].tolist()
        assert found["transposed"].tolist() == base.reshape(4, 6).T.tolist()
        assert found["expanded"].tolist() == [[7.0, 7.0]] * 3
        assert found["scalar"].shape == () and found["scalar"].item() == 2.5
        assert found["empty"].shape == (0, 3)
        assert found["parameter"].tolist() == [1.5, -1.5]
        assert found["tied"][0] is found["tied"][1]
        assert found["nested"]["a"] == [1, 2.5, True, None, "text"]
        assert found["nested"]["b"] == ((2, 3), fl.bfloat16)
        assert found["epoch"] == 3 and found["large"] == 2**40
        assert found["marked"].tolist() == [4.0]
        assert type(found["nested"]) is dict and len(found) == 12

    def test_checksums_can_be_left_out(self):
        assert fl.load_torch(FILES / "no_checksums.pt")["x"].tolist() == [1.0, 2.0, 3.0]

    @pytest.mark.parametrize(
        "name, said",
        [
            ("whole_model.pt", "call `torch.nn.modules.linear.Linear`"),
            ("sparse.pt", "call `torch._utils._rebuild_sparse_tensor`"),
            ("complex.pt", "type `torch.ComplexFloatStorage`"),
            ("float8.pt", "type `torch.float8_e4m3fn`"),
        ],
    )
    def test_what_is_refused_is_named(self, name, said):
        with pytest.raises(ValueError) as caught:
            fl.load_torch(FILES / name)
        text = str(caught.value)
        assert said in text and "remedy: in PyTorch, " in text
        assert text.startswith(f"{__file__}:") and name in text

    def test_no_such_file(self):
        with pytest.raises(FileNotFoundError):
            fl.load_torch(FILES / "nothing.pt")


def value(x):
    """Plain values, pickled."""
    return pickle.dumps(x, 2)[2:-1]


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def tensor(
    count=6,
    offset=0,
    sizes=(3, 2),
    strides=(2, 1),
    key="0",
    storage=("torch", "FloatStorage"),
    rebuild="_rebuild_tensor_v2",
    rest=b"",
):
    """A pickled tensor that claims what it likes."""
    identity = b"(" + value("storage") + name(*storage) + value(key) + value("cpu") + value(count)
    arguments = value(offset) + value(sizes) + value(strides) + b"\x89}" + rest
    return name("torch._utils", rebuild) + b"(" + identity + b"tQ" + arguments + b"tR"


def archive(content, records=None, compression=zipfile.ZIP_STORED):
    """The bytes of a file with this pickle."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file:
        file.writestr("archive/data.pkl", b"\x80\x02" + content + b".")
        for key, data in (records or {"0": np.arange(6, dtype="<f4").tobytes()}).items():
            file.writestr(f"archive/data/{key}", data)
    return out.getvalue()


@pytest.fixture
def load(tmp_path):
    """Loads bytes as a file, and checks that what it took of memory is explained by them."""

    def load(data):
        path = tmp_path / "file.pt"
        path.write_bytes(data)
        tracemalloc.start()
        try:
            return fl.load_torch(path)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 100 * len(data) + (1 << 22)

    return load


class TestHostile:
    def test_the_helpers_make_good_files(self, load):
        assert load(archive(tensor())).tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        third = tensor(24, sizes=(2,), strides=(3,), storage=("torch.storage", "UntypedStorage"),
                       rebuild="_rebuild_tensor_v3", rest=name("torch", "float32"))
        assert load(archive(third)).tolist() == [0.0, 3.0]
        assert load(archive(name("collections", "OrderedDict") + value(([["a", 1]],)) + b"R")) == {"a": 1}

    @pytest.mark.parametrize(
        "content, said",
        [
            (tensor(7), "has 24 bytes, but claims 28"),
            (tensor(2**60, sizes=(2**59,), strides=(1,)), "has 24 bytes, but claims"),
            (tensor(sizes=(4, 2)), "needs element 7 of a storage of 6"),
            (tensor(offset=1), "needs element 6 of a storage of 6"),
            (tensor(offset=2**63), "of a storage of 6"),
            (tensor(offset=-1), "described wrongly"),
            (tensor(strides=(2, -1)), "described wrongly"),
            (tensor(sizes=(3,)), "described wrongly"),
            (tensor(sizes=(3.0, 2)), "described wrongly"),
            (tensor(sizes=[3, 2]), "described wrongly"),
            (tensor(sizes=(2**70, 0)), "axes of up to"),
            (tensor(sizes=(1,) * 99, strides=(1,) * 99), "99 axes"),
            (tensor(sizes=(2**20, 2**20), strides=(0, 0)), "more memory than a file of"),
            (tensor(key="9"), "`archive/data/9` is missing"),
            (tensor(key="../data.pkl"), "is missing"),
            (tensor(storage=("torch.storage", "UntypedStorage")), "no element type"),
            (
                tensor(6, sizes=(6,), strides=(1,), rebuild="_rebuild_tensor_v3",
                       rest=name("torch", "float64")),
                "needs element 5 of a storage of 3",
            ),
            (tensor(rest=value({"neg": True})), "conjugate or negative"),
            (name("torch", "FloatStorage"), "a bare storage or a class"),
            (name("os", "system") + value(("echo harm",)) + b"R", "call `os.system`"),
            (name("builtins", "eval") + value(("1",)) + b"R", "call `builtins.eval`"),
            (name("torch", "load"), "call `torch.load`"),
            (name("numpy.core.multiarray", "scalar"), "call `numpy.core.multiarray.scalar`"),
            (b"\x8c\x02os\x8c\x06system\x93", "call `os.system`"),
            (name("collections", "OrderedDict") + b")\x81", "uses NEWOBJ"),
            (name("collections", "OrderedDict") + value(1) + b"R", "not a function"),
            (b"K\x01)R", "not a function"),
            (b"cos\n", "damaged"),
            (b"h\x05", "damaged, after BINGET"),
            (b"t", "damaged, after TUPLE"),
            (b"\x86", "damaged, after TUPLE2"),
            (b"", "damaged"),
            (b"}" + value((1,)) + b"K\x01s", "neither a string nor a number"),
            (b"}(K\x01u", "a key has no value"),
            (b"K\x01K\x02a", "a list was expected"),
            (b"\x8e" + struct.pack("<Q", 2**50) + b"short", "damaged"),
            (b"X" + struct.pack("<I", 2**32 - 1) + b"short", "damaged"),
            (b"\x8b" + struct.pack("<i", 2**31 - 1) + b"short", "damaged"),
            (b"I" + b"9" * 5000 + b"\n", "damaged"),
            (b"]" + b"\x85" * 100_000, "more than 100 deep"),
            (b"]" * 200 + b"a" * 199, "more than 100 deep"),
            (b"]q\x00h\x00a", "more than 100 deep"),
            (value(("module", 1)) + b"Q", "a whole model"),
            (value(("storage", 1)) + b"Q", "described wrongly"),
            (name("torch._utils", "_rebuild_tensor_v2") + b"(K\x01K\x01K\x01K\x01tR", "damaged"),
            (name("torch._utils", "_rebuild_parameter") + value((1, True, {})) + b"R", "no tensor"),
        ],
        ids=lambda x: x if isinstance(x, str) else "",
    )
    def test_refused(self, load, content, said):
        with pytest.raises(ValueError) as caught:
            load(archive(content))
        assert said in str(caught.value) and "\n  remedy: " in str(caught.value)

    def test_shared_parts_are_read_once(self, load):
        """Each level holds the one below twice: 2**60 parts, if they were copied."""
        found = load(archive(b"]" + b"q\x00h\x00\x86" * 60))
        for _ in range(60):
            assert found[0] is found[1]
            found = found[0]

    def test_views_may_not_multiply_a_file(self, load):
        many = b"(" + b"".join(
            tensor(2**18, offset=i, sizes=(2**17,), strides=(1,)) for i in range(64)
        )
        with pytest.raises(ValueError, match="more memory than a file of"):
            load(archive(many + b"t", {"0": bytes(2**20)}))

    def test_views_may_not_multiply_reading(self, load):
        many = b"(" + b"".join(
            tensor(2**18, offset=i, sizes=(2,), strides=(2**17,)) for i in range(200)
        )
        with pytest.raises(ValueError, match="more memory than a file of"):
            load(archive(many + b"t", {"0": bytes(2**20)}))

    def test_lists_may_not_multiply_a_file(self, load):
        pairs = b"](" + b"".join(value([i, i]) for i in range(2000)) + b"e\x85q\x00"
        copies = b"(" + (name("collections", "OrderedDict") + b"h\x00R") * 500 + b"t"
        with pytest.raises(ValueError, match="more often than its size explains"):
            load(archive(pairs + copies))

    def test_texts_may_not_multiply_a_file(self, load):
        """A long text that is named once, and copied by each call."""
        text = b"X" + struct.pack("<I", 50_000) + b"a" * 50_000 + b"\x85q\x00"
        copies = b"(" + (name("torch", "device") + b"h\x00R") * 5_000 + b"t"
        with pytest.raises(ValueError, match="more often than its size explains"):
            load(archive(text + copies))
        assert load(archive(name("torch", "device") + value(("cuda", 1)) + b"R")) == "cuda:1"

    def test_records_may_not_share_bytes(self, load):
        """Thousands of names for one record, which would be read and checked for each of them."""
        data = archive(value([]), {"0": bytes(2**18)})
        start = data.rindex(b"PK\x01\x02")
        entry, end = data[start : data.rindex(b"PK\x05\x06")], bytearray(data[data.rindex(b"PK\x05\x06") :])
        names = [f"archive/data/{i}".encode() for i in range(3_000)]
        more = b"".join(
            entry[:28] + struct.pack("<H", len(name)) + entry[30:46] + name for name in names
        )
        count, size, at = struct.unpack_from("<HII", end, 10)
        struct.pack_into("<HHII", end, 8, count + len(names), count + len(names), size + len(more), at)
        with pytest.raises(ValueError, match="overlap"):
            load(data[:start] + entry + more + bytes(end))

    def test_compressed_records(self, load):
        data = archive(tensor(2**24), {"0": bytes(2**26)}, zipfile.ZIP_DEFLATED)
        assert len(data) < 2**17
        with pytest.raises(ValueError, match="compressed or encrypted"):
            load(data)

    def test_records_larger_than_the_file(self, load):
        data = bytearray(archive(tensor(2**28, sizes=(2**28,), strides=(1,))))
        at = data.rindex(b"PK\x01\x02")
        assert struct.unpack_from("<II", data, at + 20) == (24, 24)
        struct.pack_into("<II", data, at + 20, 2**30, 2**30)
        with pytest.raises(ValueError, match="claims 1073741824 bytes, but the file ends"):
            load(bytes(data))

    def test_changed_bytes(self, load):
        data = bytearray(archive(tensor()))
        data[data.index(np.float32(5).tobytes())] ^= 1
        with pytest.raises(ValueError, match="checksum of its record `archive/data/0` is wrong"):
            load(bytes(data))

    def test_no_archives(self, load):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            file.writestr("hello.txt", "hello")
        scripted = io.BytesIO(archive(tensor()))
        with zipfile.ZipFile(scripted, "a") as file:
            file.writestr("archive/constants.pkl", b"")
        for data, said in [
            (b"", "not a file of PyTorch"),
            (b"\x93NUMPY\x01\x00", "not a file of PyTorch"),
            (b"\x80\x02K\x01.", "not a file of PyTorch"),
            (b"PK\x03\x04", "list of records is damaged"),
            (out.getvalue(), "no record `data.pkl`"),
            (scripted.getvalue(), "TorchScript"),
        ]:
            with pytest.raises(ValueError, match=said):
                load(data)

    def legacy(self, content, keys, storages):
        magic = [pickle.dumps(x, 2) for x in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
        return b"".join(magic) + b"\x80\x02" + content + b"." + pickle.dumps(keys, 2) + storages

    def test_legacy_storages(self, load):
        data = struct.pack("<q", 6) + np.arange(6, dtype="<f4").tobytes()
        assert load(self.legacy(tensor(), ["0"], data)).tolist()[2] == [4.0, 5.0]
        big = struct.pack("<q", 2**60)
        for keys, storages, said in [
            (["0"], big, "claims 1152921504606846976 elements"),
            (["0"], struct.pack("<q", -1), "claims -1 elements"),
            (["0"], data[:-1], "claims 6 elements"),
            (["0"], b"", "`0` is missing"),
            ([], data, "`0` is missing"),
            (["1"], data, "`1` is missing"),
            ("0", data, "list of storages is damaged"),
            (["0"], struct.pack("<q", 5) + bytes(20), "has 20 bytes, but claims 24"),
        ]:
            with pytest.raises(ValueError, match=said):
                load(self.legacy(tensor(), keys, storages))

    @pytest.mark.parametrize("name", ["kinds.pt", "kinds_protocol4.pt", "kinds_legacy.pt"])
    def test_any_bytes_are_a_value_or_an_error(self, load, name):
        good = (FILES / name).read_bytes()
        chance = random.Random(name)
        outcomes = {True: 0, False: 0}
        for i in range(250):
            data = bytearray(good)
            if i % 5 == 0:
                del data[chance.randrange(len(data)) :]
            for _ in range(chance.choice([1, 1, 3, 20])):
                if data:
                    data[chance.randrange(len(data))] = chance.choice([0, 1, 127, 255, 46, 40, 82])
            try:
                load(bytes(data))
                outcomes[True] += 1
            except ValueError as error:
                assert "\n  remedy: " in str(error)
                outcomes[False] += 1
        assert min(outcomes.values()) > 10


def test_folders_with_several_files(tmp_path):
    def pickled(key):
        return archive(b"}" + value(key) + tensor() + b"s")

    files = {"pytorch_model-00001-of-00002.bin": "a.weight", "pytorch_model-00002-of-00002.bin": "b.weight"}
    for file, key in files.items():
        (tmp_path / file).write_bytes(pickled(key))
    index = tmp_path / "pytorch_model.bin.index.json"

    def with_map(places):
        index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
        return fl.load_weights(tmp_path)

    places = {key: file for file, key in files.items()}
    found = with_map(places)
    assert sorted(found) == ["a.weight", "b.weight"]
    assert found["b.weight"].tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    with pytest.raises(ValueError, match="lists 'c.weight', which pytorch_model-00001-of-00002.bin does not have"):
        with_map({**places, "c.weight": "pytorch_model-00001-of-00002.bin"})
    for outside in ("../other.bin", "/tmp/other.bin", "..", "", 3):
        with pytest.raises(ValueError, match="not a file of its folder|not an index of weights"):
            with_map({"a.weight": outside})
    index.write_text("[]")
    with pytest.raises(ValueError, match="is not an index of weights"):
        fl.load_weights(tmp_path)
