"""Writes small files of other formats by numpy and Pillow: python make_files.py, in this folder."""

import gzip
import struct

import numpy as np
from PIL import Image

x = np.arange(24, dtype="f4").reshape(4, 3, 2) / 2
y = np.arange(4, dtype="i8") * 3
np.save("x.npy", x)
np.save("fortran.npy", np.asfortranarray(x))
np.savez("plain.npz", x=x, y=y)
np.savez_compressed("packed.npz", x=x, y=y, seen=np.array([True, False, True, True]))

images = (np.arange(5 * 4 * 3) % 251).astype("u1").reshape(5, 4, 3)
with open("images.idx", "wb") as file:
    file.write(struct.pack(">BBBB3I", 0, 0, 8, 3, 5, 4, 3) + images.tobytes())
with gzip.GzipFile("labels.idx.gz", "wb", mtime=0) as file:
    file.write(struct.pack(">BBBBI", 0, 0, 8, 1, 5) + bytes([4, 3, 2, 1, 0]))
with open("floats.idx", "wb") as file:
    file.write(struct.pack(">BBBB2I", 0, 0, 0x0D, 2, 2, 2) + np.array([1.5, -2, 3, 4], ">f4").tobytes())
with open("shorts.idx", "wb") as file:
    file.write(struct.pack(">BBBBI", 0, 0, 0x0B, 1, 3) + np.array([-1, 2, 300], ">i2").tobytes())

ramp = np.zeros((4, 6, 3), "u1")
ramp[..., 0] = np.arange(6) * 40
ramp[..., 1] = np.arange(4)[:, None] * 60
ramp[..., 2] = 100
Image.fromarray(ramp).save("rgb.png")
Image.fromarray(ramp[..., 0]).save("gray.png")
Image.fromarray(ramp).quantize(8).save("palette.png")
Image.fromarray((ramp[..., 0] > 100)).save("bits.png")
Image.fromarray(np.dstack([ramp, np.full((4, 6, 1), 7, "u1")])).save("rgba.png")
Image.fromarray(np.full((9, 17, 3), (200, 30, 60), "u1")).save("flat.jpg", quality=95)
Image.fromarray(np.full((8, 8), 90, "u1")).save("gray.jpg", quality=95, progressive=True)
