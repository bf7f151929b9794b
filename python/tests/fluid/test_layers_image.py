"""Images of `fluid.layers`: other sizes, places and channels."""

import numpy as np
import pytest
from layer_checks import check, numbers, run

import fluvial as fl
from fluvial.fluid.layers import nn

IMAGE = numbers(2, 3, 4, 6)


def resized(x, axis, size, nearest, corners, mode):
    old = x.shape[axis]
    ratio = ((old - 1) / (size - 1) if size > 1 else 0.0) if corners else old / size
    out = []
    for k in range(size):
        if nearest:
            out.append(x.take(int(ratio * k + 0.5) if corners else int(ratio * k), axis))
            continue
        place = max(ratio * (k + 0.5) - 0.5, 0) if mode == 0 and not corners else ratio * k
        low = int(place)
        high = min(low + 1, old - 1)
        out.append(x.take(low, axis) * (1 - (place - low)) + x.take(high, axis) * (place - low))
    return np.stack(out, axis)


@pytest.mark.parametrize("corners, mode", [(True, 1), (False, 0), (False, 1)])
@pytest.mark.parametrize("size", [(8, 9), (3, 2), (1, 6)])
def test_resizing(corners, mode, size):
    for name in ("BILINEAR", "NEAREST"):
        wanted = IMAGE.astype(np.float64)
        for axis, length in zip((2, 3), size):
            wanted = resized(wanted, axis, length, name == "NEAREST", corners, mode)
        options = {"out_shape": list(size), "resample": name, "align_corners": corners, "align_mode": mode}
        check(nn.image_resize, [IMAGE], wanted, options, rtol=1e-4, atol=1e-5, gradient=size == (8, 9))


def test_other_ways_to_say_a_size():
    wanted = run(nn.image_resize, [IMAGE], {"out_shape": [8, 12]})[0]
    for function, options in [
        (nn.resize_bilinear, {"scale": 2.0}), (nn.interpolate, {"scale": 2}), (nn.image_resize_short, {"out_short_len": 8}),
    ]:  # fmt: skip
        assert run(function, [IMAGE], options)[0].tobytes() == wanted.tobytes()
    sizes = np.array([8, 12], np.int32)
    found = run(lambda x, s: nn.resize_bilinear(x, actual_shape=s), [IMAGE, sizes], open_batch=False)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    last = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    assert run(nn.resize_nearest, [last], {"out_shape": [2, 3], "data_format": "NHWC"})[0].shape == (2, 2, 3, 3)
    assert run(nn.resize_trilinear, [numbers(1, 2, 2, 3, 4)], {"out_shape": [4, 4, 4]})[0].shape == (1, 2, 4, 4, 4)
    with pytest.raises(ValueError, match="give `out_shape` or `scale`"):
        nn.image_resize(fl.tensor(IMAGE))


def test_grids():
    theta = np.array([[[1, 0, 0], [0, 1, 0]], [[0, 1, 0.5], [1, 0, 0]]], np.float32)
    x, y = np.meshgrid(np.linspace(-1, 1, 6), np.linspace(-1, 1, 4))
    places = np.stack([x, y, np.ones_like(x)], -1)
    grid = np.einsum("hwk,bjk->bhwj", places, theta)
    check(nn.affine_grid, [theta], grid, {"out_shape": [2, 3, 4, 6]})
    check(nn.grid_sampler, [IMAGE[:1], grid[:1].astype(np.float32)], IMAGE[:1], open_batch=False, gradient=False, atol=1e-5)


def test_channels():
    x = numbers(2, 4, 2, 2)
    scale, bias = numbers(4, seed=1), numbers(4, seed=2)
    check(nn.affine_channel, [x, scale, bias], x * scale[:, None, None] + bias[:, None, None])
    check(nn.maxout, [x], x.reshape(2, 2, 2, 2, 2).max(2), {"groups": 2})
    check(nn.shuffle_channel, [x], x[:, [0, 2, 1, 3]], {"group": 2})
    wanted = x.reshape(2, 1, 2, 2, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 4, 4)
    check(nn.pixel_shuffle, [x], wanted, {"upscale_factor": 2})


def test_space_to_depth_in_fluids_order():
    b, c, h, w, size = 2, 4, 4, 4, 2
    x = np.arange(b * c * h * w, dtype=np.float32).reshape(b, c, h, w)
    out = np.zeros(x.size, np.float32)
    part = c // size**2
    for n, k, j, i in np.ndindex(b, c, h, w):
        c2, offset = k % part, k // part
        w2, h2 = i * size + offset % size, j * size + offset // size
        out[w2 + w * size * (h2 + h * size * (c2 + part * n))] = x[n, k, j, i]
    check(nn.space_to_depth, [x], out.reshape(b, c * 4, 2, 2), {"blocksize": 2}, gradient=False)


def test_frames_that_move():
    x = numbers(6, 4, 2, 2)
    frames = x.reshape(2, 3, 4, 2, 2)
    wanted = np.zeros_like(frames)
    wanted[:, 1:, :1] = frames[:, :-1, :1]
    wanted[:, :-1, 1:2] = frames[:, 1:, 1:2]
    wanted[:, :, 2:] = frames[:, :, 2:]
    for open_batch in (False, True):
        check(nn.temporal_shift, [x], wanted.reshape(x.shape), {"seg_num": 3}, open_batch=open_batch)


def test_positions():
    x = numbers(2, 5, 6)
    rates = 10000.0 ** (np.arange(3) / 2)
    angles = np.arange(5)[:, None] / rates
    waves = np.concatenate([np.sin(angles), np.cos(angles)], 1)
    check(nn.add_position_encoding, [x], 2 * x + 0.5 * waves, {"alpha": 2.0, "beta": 0.5})
    with pytest.raises(ValueError, match="give an even number"):
        nn.add_position_encoding(fl.tensor(x[..., :5]), 1.0, 1.0)


def test_shows_and_clicks():
    x = numbers(3, 5, low=0.5, high=2.0)
    show, click = np.log(x[:, :1] + 1), np.log(x[:, 1:2] + 1) - np.log(x[:, :1] + 1)
    check(nn.continuous_value_model, [x, x[:, :2].copy()], np.concatenate([show, click, x[:, 2:]], 1), gradient=False)
    check(nn.continuous_value_model, [x, x[:, :2].copy()], x[:, 2:], {"use_cvm": False}, gradient=False)


def test_similarity_focus():
    x = np.array([[[[0.8, 0.1], [0.4, 0.5]], [[0.9, 0.7], [0.9, 0.9]]]], np.float32)
    mask = np.zeros((2, 2))
    mask[0, 0] = mask[1, 1] = 1
    check(nn.similarity_focus, [x], np.stack([mask, mask])[None], {"axis": 1, "indexes": [0]}, open_batch=False, gradient=False)
