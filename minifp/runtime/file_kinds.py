"""What a file is by its first bytes, in words, for messages about files that are something else."""

from pathlib import Path
from typing import Any

HEAD = 512  # bytes that tell
PICTURE = "a picture"
SOUND = "a sound"
WAV = f"{SOUND} (WAV)"
PICKLE = "a pickle, and unpickling can run any code: in the program that wrote it, save arrays by "
PICKLE += "np.savez, or in PyTorch torch.save(model.state_dict(), path)"
PYTORCH = "a file of PyTorch's (.pt): read it by fp.load(path), and write safetensors by "
PYTORCH += "fp.save(other_path, model)"
KINDS: tuple[tuple[int, bytes, str, str], ...] = (  # (position, bytes, what begins so, what to do)
    (0, b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "a file in PyTorch's format of before 1.6",
     "in PyTorch, torch.save(torch.load(path, weights_only=True), path) writes it anew"),
    (0, b"version https://git-lfs.github.com/", "a Git LFS pointer instead of the file",
     "fetch the file itself: git lfs pull"),
    (0, b"\x93NUMPY", "an array of NumPy's (.npy)", "read it by np.load(path)"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras and MATLAB write them",
     "read it by h5py, and give its arrays by name"),
    (0, b"GGUF", "a GGUF file, of llama.cpp", "get the same weights as safetensors"),
    (0, b"%!PS", "PostScript", "convert it, to PNG say"),
    (0, b"%PDF", "a PDF", "convert its pages to pictures"),
    (4, b"ftypavif", f"{PICTURE} (AVIF)", "convert it, to JPEG or PNG"),
    (4, b"ftypmif1", f"{PICTURE} (HEIF)", "convert it, to JPEG or PNG"),
    (4, b"ftyphei", f"{PICTURE} (HEIC)", "convert it, to JPEG or PNG"),
    (4, b"ftyphev", f"{PICTURE} (HEIC)", "convert it, to JPEG or PNG"),
    (4, b"ftypM4A", f"{SOUND} (M4A)", "convert it, to WAV or FLAC"),
    (4, b"ftyp", "a film or sound (MP4)", "convert it"),
    (0, b"\x89PNG", f"{PICTURE} (PNG)", ""),
    (0, b"\xff\xd8\xff", f"{PICTURE} (JPEG)", ""),
    (0, b"GIF8", f"{PICTURE} (GIF)", ""),
    (8, b"WEBP", f"{PICTURE} (WebP)", ""),
    (0, b"\0\0\0\x0cjP  ", f"{PICTURE} (JPEG 2000)", "convert it, to JPEG or PNG"),
    (0, b"\xff\x0a", f"{PICTURE} (JPEG XL)", "convert it, to JPEG or PNG"),
    (128, b"DICM", f"{PICTURE} (DICOM)", "read it by pydicom, and give its arrays"),
    (8, b"WAVE", WAV, ""),
    (0, b"fLaC", f"{SOUND} (FLAC)", "convert it to WAV"),
    (0, b"OggS", f"{SOUND} (Ogg)", "convert it to WAV"),
    (0, b"ID3", f"{SOUND} (MP3)", "convert it to WAV"),
    (0, b"\xff\xfb", f"{SOUND} (MP3)", "convert it to WAV"),
    (0, b"FORM", f"{SOUND} (AIFF)", "convert it to WAV"),
    (0, b"\x1f\x8b", "compressed by gzip", "unpack it first"),
    (0, b"BZh", "compressed by bzip2", "unpack it first"),
    (0, b"\xfd7zXZ", "compressed by xz", "unpack it first"),
    (0, b"7z\xbc\xaf", "a 7z archive", "unpack it first"),
    (0, b"Rar!", "a RAR archive", "unpack it first"),
    (0, b"\0\x05\x16\x07", "a macOS companion file (._name)", "give the file itself"),
    (0, b"<!DOCTYPE", "a web page, perhaps an error page", "download the file again"),
    (0, b"<!doctype", "a web page, perhaps an error page", "download the file again"),
    (0, b"<html", "a web page, perhaps an error page", "download the file again"),
    (0, b"{", "text in JSON, such as the list of files that hold weights", "load those by name"),
    (0, b"<svg", "a drawing (SVG)", "draw it as PNG first"),
)  # fmt: skip


def kind_of(head: bytes) -> str:
    """What a file that begins so is, and what to do; "" where nobody knows."""
    if not head.strip(b"\0"):
        return "only zeros: download it again" if head else "an empty file: download it again"
    for at, magic, what, advice in KINDS:
        if head[at : at + len(magic)] == magic:
            return f"{what}: {advice}" if advice else what
    if head[:2] == b"PK":
        return kind_of_zip(head)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return PICKLE
    return ""


def kind_of_zip(head: bytes) -> str:
    """What a zip that begins so is: that of its first file tells."""
    size = int.from_bytes(head[26:28], "little")
    name = head[30 : 30 + size]
    if name.endswith(b".npy"):
        return "arrays of NumPy's (.npz): read them by dict(np.load(path))"
    if name.endswith(b"data.pkl"):
        return PYTORCH
    return "a zip archive: unpack it first"


def kind_of_file(path: Any) -> str:
    """What a file is; "" where nobody knows, or it cannot be read."""
    try:
        with open(Path(path), "rb") as file:
            return kind_of(file.read(HEAD))
    except (OSError, TypeError, ValueError):
        return ""
