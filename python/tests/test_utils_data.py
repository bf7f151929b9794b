"""Datasets, samplers and loaders in Python: order, batches, worker processes, exact resume, errors."""

import collections
import os
import random
import signal

import numpy as np
import pytest

import fluvial as fl
from fluvial.utils import data

Point = collections.namedtuple("Point", "x y")


class Noisy(data.Dataset):
    """Draws at random, in three ways."""

    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        noise = random.random() + np.random.rand() + fl.uniform("f32[]").item()
        return np.float32(i), np.float32(noise)


class Broken(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 3:
            raise KeyError("no third")
        return i


class Killed(Broken):
    def __getitem__(self, i):
        if i == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return i


class Counting(data.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __iter__(self):
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from range(start, self.n, step)


@pytest.fixture(autouse=True)
def scope():
    with fl.State():
        yield


def lists(loader):
    return [batch.tolist() for batch in loader]


class TestOrder:
    def test_batches_as_they_stand(self):
        assert lists(data.DataLoader(range(5), 2)) == [[0, 1], [2, 3], [4]]
        assert lists(data.DataLoader(range(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
        assert [int(x) for x in data.DataLoader(range(3), None)] == [0, 1, 2]
        assert len(data.DataLoader(range(5), 2)) == 3 and len(data.DataLoader(range(5), 2, drop_last=True)) == 2

    def test_each_pass_has_an_order_of_its_own_and_the_seed_gives_it_again(self):
        loader = data.DataLoader(range(20), 20, shuffle=True, generator=5)
        first, second = lists(loader)[0], lists(loader)[0]
        assert sorted(first) == sorted(second) == list(range(20)) and first != second
        loader.position = (0, 0)
        assert lists(loader)[0] == first
        assert lists(data.DataLoader(range(20), 20, shuffle=True, generator=6))[0] != first

    def test_the_seed_is_that_of_the_user(self):
        orders = []
        for seed in (1, 2, 1):
            fl.seed(seed)
            orders.append(lists(data.DataLoader(range(20), 20, shuffle=True)))
        assert orders[0] == orders[2] != orders[1]

    def test_the_order_is_that_of_a_reader(self):
        loader = data.DataLoader(range(9), 9, shuffle=True, generator=4)
        reader = fl.reader({"i": np.arange(9)}).shuffle(seed=4).batch(9)
        assert lists(loader)[0] == next(iter(reader)).tolist()

    def test_leaving_the_loop_begins_the_next_pass(self):
        loader = data.DataLoader(range(6), 2)
        for _ in loader:
            break
        assert loader.position == (1, 0) and len(lists(loader)) == 3


class TestSamplers:
    def test_random_with_replacement_and_more_than_there_are(self):
        drawn = list(data.RandomSampler(range(4), replacement=True, num_samples=100, generator=1))
        assert set(drawn) == {0, 1, 2, 3} and len(drawn) == 100
        longer = list(data.RandomSampler(range(4), num_samples=10, generator=1))
        assert sorted(longer[:4]) == [0, 1, 2, 3] and len(longer) == 10

    def test_weights(self):
        sampler = data.WeightedRandomSampler([0.0, 1.0, 3.0], 4000, generator=2)
        counts = collections.Counter(sampler)
        assert counts[0] == 0 and 2800 < counts[2] < 3200 and len(sampler) == 4000
        once = data.WeightedRandomSampler(fl.tensor([0.0, 1.0, 3.0]), 2, replacement=False)
        assert sorted(once) == [1, 2]
        with pytest.raises(ValueError, match="3 samples cannot be drawn from 2"):
            data.WeightedRandomSampler([0.0, 1.0, 3.0], 3, replacement=False)

    def test_parts_of_processes_cover_all(self):
        parts = [list(data.DistributedSampler(range(10), 3, rank, seed=1)) for rank in range(3)]
        assert {len(part) for part in parts} == {4} and set(sum(parts, [])) == set(range(10))
        cut = [list(data.DistributedSampler(range(10), 3, rank, drop_last=True)) for rank in range(3)]
        assert len(set(sum(cut, []))) == 9

    def test_batch_samplers_and_samplers_of_ones_own(self):
        batches = data.BatchSampler(data.SubsetRandomSampler([4, 5, 6], generator=1), 2)
        assert sorted(sum(lists(data.DataLoader(range(9), batch_sampler=batches)), [])) == [4, 5, 6]
        assert lists(data.DataLoader(range(9), 2, sampler=[8, 0, 1])) == [[8, 0], [1]]

    def test_a_sampler_that_draws_by_itself_resumes(self):
        class Mine(data.Sampler):
            def __iter__(self):
                return iter(random.sample(range(8), 8))

            def __len__(self):
                return 8

        loader = data.DataLoader(range(8), 2, sampler=Mine())
        whole = lists(loader)
        loader.position = (0, 2)
        assert lists(loader) == whole[2:]


class TestDatasets:
    def test_random_split_is_a_partition(self):
        parts = data.random_split(range(11), [0.5, 0.3, 0.2], generator=3)
        assert [len(part) for part in parts] == [6, 3, 2]
        assert sorted(sum(map(list, parts), [])) == list(range(11))
        assert list(data.random_split(range(11), [6, 5], generator=3)[0]) == list(parts[0])
        with pytest.raises(ValueError, match="are not those of parts of 11 samples"):
            data.random_split(range(11), [6, 6])

    def test_concatenated_stacked_and_chained(self):
        both = data.ConcatDataset([range(3), range(10, 12)])
        assert [both[i] for i in range(5)] == [0, 1, 2, 10, 11] and both[-1] == 11
        with pytest.raises(IndexError):
            both[5]
        assert data.StackDataset(range(3), range(3))[1] == (1, 1)
        assert data.StackDataset(a=range(3))[2] == {"a": 2}
        assert list(Counting(2) + Counting(3)) == [0, 1, 0, 1, 2]
        x, y = fl.arange(4), np.arange(8.0).reshape(4, 2)
        a, b = next(iter(data.DataLoader(data.TensorDataset(x, y), 4)))
        assert a.tolist() == [0, 1, 2, 3] and b.shape == (4, 2) and b.dtype == fl.float64

    def test_samples_of_every_kind_become_batches(self):
        samples = [
            {"p": Point(1.5, "a"), "q": [True, (np.ones(2, np.int32), fl.tensor([1.0]))]},
            {"p": Point(2.5, "b"), "q": [False, (np.zeros(2, np.int32), fl.tensor([2.0]))]},
        ]
        batch = data.default_collate(samples)
        assert type(batch["p"]) is Point and batch["p"].x.tolist() == [1.5, 2.5] and batch["p"].y == ["a", "b"]
        flags, (ints, floats) = batch["q"]
        assert flags.tolist() == [True, False] and ints.dtype == fl.int32 and floats.shape == (2, 1)

    def test_what_makes_no_batch_says_what_to_do(self):
        with pytest.raises(ValueError, match="different sizes.*\n.*collate_fn"):
            data.default_collate([np.ones(2), np.ones(3)])
        with pytest.raises(TypeError, match="cannot be made of object.*\n.*collate_fn"):
            data.default_collate([object()])
        loader = data.DataLoader([np.ones(2), np.ones(3)], 2, collate_fn=lambda batch: [len(x) for x in batch])
        assert list(loader) == [[2, 3]]


@pytest.mark.parametrize("workers", [0, 2])
class TestResume:
    def test_the_rest_of_a_pass_is_what_would_have_come(self, workers):
        def batches(loader):
            return [(x.tolist(), noise.tolist()) for x, noise in loader]

        def made():
            return data.DataLoader(Noisy(), 3, shuffle=True, generator=7, num_workers=workers, name="noisy")

        loader = made()
        whole = batches(loader) + batches(loader)
        saved = None
        with fl.State():
            for n, _ in enumerate(made()):
                if n == 1:
                    saved = made().state_dict()
                    break
        assert saved == {"epoch": 0, "batch": 2}
        again = made()
        again.load_state_dict(saved)
        assert batches(again) + batches(again) == whole[2:]

    def test_states_bring_the_position_back(self, workers, tmp_path):
        loader = data.DataLoader(range(8), 2, num_workers=workers, name="eight")
        seen = []
        for batch in loader:
            seen.append(batch.tolist())
            if len(seen) == 2:
                fl.save_states(tmp_path / "states.safetensors")
        with fl.State():
            fl.load_states(tmp_path / "states.safetensors")
            assert lists(data.DataLoader(range(8), 2, num_workers=workers, name="eight")) == seen[2:]

    def test_random_states_of_the_process_stay(self, workers):
        random.seed(1), np.random.seed(1), fl.seed(1)
        expected = random.random(), np.random.rand(), fl.uniform("f32[]").item()
        random.seed(1), np.random.seed(1), fl.seed(1)
        list(data.DataLoader(Noisy(), 2, generator=1, num_workers=workers))
        assert (random.random(), np.random.rand(), fl.uniform("f32[]").item()) == expected

    def test_samples_one_after_another(self, workers):
        loader = data.DataLoader(Counting(10), 2, num_workers=workers)
        whole = lists(loader)
        assert sorted(sum(whole, [])) == list(range(10)) and len(loader) == 5
        loader.position = (0, 2)
        assert lists(loader) == whole[2:]

    def test_errors_are_those_of_the_dataset(self, workers):
        with pytest.raises(KeyError, match="no third") as error:
            list(data.DataLoader(Broken(), 2, num_workers=workers))
        if workers:
            assert "in worker process 1" in str(error.value.__cause__) and "__getitem__" in str(error.value.__cause__)


class TestWorkers:
    def test_numbers_do_not_depend_on_how_many_there_are(self):
        found = []
        for workers in (0, 1, 3):
            loader = data.DataLoader(Noisy(), 4, shuffle=True, generator=3, num_workers=workers)
            found.append([noise.tolist() for _, noise in loader])
        assert found[0] == found[1] == found[2]

    def test_a_worker_that_is_killed_is_named(self):
        with pytest.raises(RuntimeError, match="worker process 1 ended by signal SIGKILL\n  remedy"):
            list(data.DataLoader(Killed(), 2, num_workers=2))

    def test_they_stay_for_the_next_pass_if_asked_to(self):
        def processes(loader):
            return {int(pid) for batch in loader for pid in batch.tolist()}

        class Who(Noisy):
            def __getitem__(self, i):
                return os.getpid()

        loader = data.DataLoader(Who(), 2, num_workers=2, persistent_workers=True)
        first = processes(loader)
        assert first == processes(loader) and os.getpid() not in first and len(first) == 2
        loader = data.DataLoader(Who(), 2, num_workers=2)
        assert processes(loader) != processes(loader)

    def test_they_know_themselves(self):
        class Info(Noisy):
            def __getitem__(self, i):
                info = data.get_worker_info()
                return info.id, info.num_workers, len(info.dataset)

        batches = list(data.DataLoader(Info(4), 1, num_workers=2))
        assert [batch[0].item() for batch in batches] == [0, 1, 0, 1]
        assert batches[0][1].item() == 2 and batches[0][2].item() == 4
        assert data.get_worker_info() is None

    def test_kernels_run_in_them(self):
        class Product(Noisy):
            def __getitem__(self, i):
                x = fl.ones((200, 200))
                return (x @ x)[0, 0]

        fl.ones((200, 200)) @ fl.ones((200, 200))
        assert [x.tolist() for x in data.DataLoader(Product(4), 2, num_workers=2)] == [[200.0, 200.0]] * 2

    def test_a_timeout_ends_the_wait(self):
        class Slow(Noisy):
            def __getitem__(self, i):
                import time

                time.sleep(20)

        with pytest.raises(TimeoutError, match="worker process 0 gave nothing for 0.3 seconds"):
            list(data.DataLoader(Slow(), 2, num_workers=1, timeout=0.3))

    def test_spawned_ones_work_too(self):
        loader = data.DataLoader(Noisy(4), 2, num_workers=1, multiprocessing_context="spawn", generator=3)
        here = data.DataLoader(Noisy(4), 2, generator=3)
        assert [noise.tolist() for _, noise in loader] == [noise.tolist() for _, noise in here]


class TestReaders:
    def test_a_dataset_is_a_reader_in_programs(self):
        class Line(Noisy):
            def __getitem__(self, i):
                return {"x": np.float32([i, 1]), "y": np.float32([2 * i + 1]), "text": "unused"}

        fields = {"x": "f32[2]", "y": "f32[1]"}
        points = fl.reader(Line(), fields, name="points").shuffle(seed=7).batch(4).prefetch(2)
        assert repr(points) == "Reader(x: f32[batch, 2], y: f32[batch, 1]; 3 a pass)"

        def total():
            sums = fl.tensor(0.0)
            for x, y in points.iterate():
                sums = sums * 0.5 + fl.sum(x * y)
            return sums

        found = []
        for mode in ("imperative", "program"):
            points.position = (0, 0)
            with fl.mode(mode):
                found.append(fl.function(total)().item())
        assert found[0] == found[1] != 0 and points.position == (1, 0)
        with pytest.raises(TypeError, match="the part `text` of a sample is a str.*\n.*fields="):
            fl.reader(Line())

    @pytest.mark.parametrize("workers", [0, 2])
    def test_workers_make_parts_of_a_batch(self, workers):
        reader = fl.reader(Noisy(), workers=workers, seed=3, name=f"noisy_{workers}").shuffle(seed=1).batch(5)
        found = [(x.tolist(), noise.tolist()) for x, noise in reader]
        reader = fl.reader(Noisy(), seed=3, name="noisy_here").shuffle(seed=1).batch(5)
        assert found == [(x.tolist(), noise.tolist()) for x, noise in reader]
        reader.position = (0, 1)
        assert [noise.tolist() for _, noise in reader.iterate()] == [found[1][1]]

    def test_sizes_that_differ_have_a_name(self):
        class Words(Noisy):
            def __getitem__(self, i):
                return np.arange(i % 3 + 1)

        with pytest.raises(ValueError, match="(?s)gave i64.2. as field `0`.*a name in `fields`"):
            list(fl.reader(Words()).batch(2))
        padded = fl.reader(Words(), {"words": "i64[n]"}, workers=2).pad("words").batch(3)
        assert next(iter(padded)).tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 2]]

    def test_fractions_do_not_become_integers(self, tmp_path):
        for source in (lambda: iter([(1.5,)]), data.TensorDataset(np.float32([1.5]))):
            with pytest.raises(TypeError, match="numbers that are not whole"):
                list(fl.reader(source, {"x": "i64[]"}))
        assert [x.tolist() for x in fl.reader(lambda: iter([(2.0,)]), {"x": "i64[]"})] == [2]
        with fl.RecordWriter(tmp_path / "x.rec", {"x": "i64[]"}) as writer:
            writer.write(2.0)
            with pytest.raises(TypeError, match="numbers that are not whole"):
                writer.write(2.5)

    def test_tables_of_arrow_are_read_by_columns(self):
        class Column(list):
            null_count = 0

            def __array__(self, dtype=None, copy=None):
                if not isinstance(self[0], (list, str)):
                    return np.array(list(self))
                rows = np.empty(len(self), object)
                rows[:] = [np.array(row) if isinstance(row, list) else row for row in self]
                return rows

        class Table:
            column_names, num_rows = ["x", "y"], 2
            columns = {"x": Column([[1.0, 2.0], [3.0, 4.0]]), "y": Column([0, 1])}

            def to_pydict(self):
                return self.columns

            def __getitem__(self, name):
                return self.columns[name]

            def __array__(self):
                raise AssertionError("rows of mixed columns")

        reader = fl.reader(Table())
        assert repr(reader) == "Reader(x: f64[2], y: i64[]; 2 a pass)"
        Table.columns["y"].null_count = 1
        with pytest.raises(ValueError, match="the column `y` has 1 missing values"):
            fl.reader(Table())
        Table.columns = {"x": Column(["a", "b"]), "y": Column([0, 1])}
        with pytest.raises(TypeError, match="the column `x` is neither of numbers"):
            fl.reader(Table())

    def test_a_loader_in_a_program_says_what_to_do(self):
        loader = data.DataLoader(range(4), 2)

        @fl.function
        def total():
            sums = fl.tensor(0)
            for x in loader:
                sums = sums + fl.sum(x)
            return sums

        with pytest.raises(RuntimeError, match="runs Python for each batch.*\n.*fl.reader"):
            total()

    def test_images_are_edited_on_the_way(self):
        pixels = np.arange(2 * 8 * 6 * 3, dtype=np.uint8).reshape(2, 8, 6, 3)
        reader = (
            fl.reader({"x": pixels})
            .resize("x", 8, 8)
            .random_crop("x", 6, 6, padding=1, seed=1)
            .random_resized_crop("x", 5, 5, seed=2)
            .flip("x", seed=3)
            .color_jitter("x", brightness=0.2, hue=0.1, seed=4)
            .center_crop("x", 4, 4)
            .normalize("x", [127.5], [127.5])
            .channels_first("x")
            .batch(2)
        )
        assert repr(reader) == "Reader(x: f32[2, 3, 4, 4]; 1 a pass)"
        first, again = next(iter(reader)).numpy(), next(iter(reader)).numpy()
        assert np.array_equal(first, again) and np.abs(first).max() <= 1
        with pytest.raises(ValueError, match="put the stage before `batch`"):
            reader.flip("x").fields


@pytest.mark.parametrize(
    "options, text",
    [
        ({"batch_size": 0}, "must be an int above 0"),
        ({"sampler": [1], "shuffle": True}, "both `sampler` and `shuffle`"),
        ({"batch_sampler": [[1]], "batch_size": 3}, "leave those out"),
        ({"batch_size": None, "drop_last": True}, "none is the last"),
        ({"num_workers": -1}, "must be an int from 0 on"),
        ({"persistent_workers": True}, "give `num_workers`"),
        ({"generator": "x"}, "give a seed"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        data.DataLoader(range(4), **options)


def test_an_iterable_has_no_order():
    with pytest.raises(ValueError, match="have no numbers to order them by"):
        data.DataLoader(Counting(4), shuffle=True)
