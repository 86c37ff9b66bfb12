"""CIFAR-10: found, read without running what is in it, checked, downloaded and unpacked."""

import gzip
import hashlib
import io
import os
import pickle
import runpy
import shutil
import struct
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minifp import data
from minifp.data import DataLoader, cifar, plain_pickle
from minifp.errors import DataError
from minifp.runtime import random

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "cifar10"
NAMES = "airplane automobile bird cat deer dog frog horse ship truck".split()
COUNTS = {**{f"data_batch_{i}": i + 1 for i in range(1, 6)}, "test_batch": 3}
HELD = sum(COUNTS.values()) - 3
PROTOCOLS = [p for p in (2, 3, 4, 5) if p <= pickle.HIGHEST_PROTOCOL]


class Python2:
    """Pickles as Python 2 wrote the canonical files: protocol 2, every object in the memo."""

    def dumps(self, value):
        """The pickle of dicts, lists, bytes, numbers and arrays of bytes."""
        self.count = 0
        return b"\x80\x02" + self.one(value) + b"."

    def put(self):
        self.count += 1
        short = self.count < 256
        return b"q" + bytes([self.count]) if short else b"r" + struct.pack("<I", self.count)

    def one(self, value):
        if isinstance(value, dict):
            head = b"}" + self.put() + b"("
            return head + b"".join(self.one(v) for pair in value.items() for v in pair) + b"u"
        if isinstance(value, list):
            return b"]" + self.put() + b"(" + b"".join(self.one(v) for v in value) + b"e"
        if isinstance(value, bytes):
            short = len(value) < 256
            head = b"U" + bytes([len(value)]) if short else b"T" + struct.pack("<i", len(value))
            return head + value + self.put()
        if isinstance(value, int):
            return b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value)
        return self.array(value)

    def array(self, value):
        made = b"cnumpy.core.multiarray\n_reconstruct\n" + self.put() + b"cnumpy\nndarray\n"
        made += self.put() + b"K\x00\x85" + self.put() + b"U\x01b" + self.put() + b"\x87"
        made += self.put() + b"R" + self.put() + b"(K\x01"
        made += b"".join(self.one(n) for n in value.shape) + b"\x86" + self.put()
        made += b"cnumpy\ndtype\n" + self.put() + b"U\x02u1" + self.put() + b"K\x00K\x01\x87"
        made += self.put() + b"R" + self.put() + b"(K\x03U\x01|" + self.put()
        made += b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t" + self.put() + b"b\x89"
        return made + self.one(value.tobytes()) + b"t" + self.put() + b"b"


def python2(value):
    """A pickle as Python 2 wrote it."""
    return Python2().dumps(value)


def meta(names=NAMES):
    """What batches.meta holds."""
    names = [name.encode() for name in names]
    return {b"num_cases_per_batch": 10000, b"label_names": names, b"num_vis": 3072}


def batch(name, n):
    """What a batch of n pictures holds: they and their labels depend on its name alone."""
    pixels = random.integers(0, 256, (n, 3072), purpose=name, call=0).astype(np.uint8)
    labels = random.integers(0, 10, n, purpose=name + " labels", call=0).tolist()
    return {b"batch_label": name.encode(), b"labels": labels, b"data": pixels}


def write(folder, dumps=python2):
    """The seven files with a few pictures."""
    folder.mkdir(parents=True)
    for name, n in COUNTS.items():
        (folder / name).write_bytes(dumps(batch(name, n)))
    (folder / "batches.meta").write_bytes(dumps(meta()))
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of such files, which MINIFP_DATA names."""
    found = write(tmp_path / "own" / "cifar-10-batches-py")
    monkeypatch.setenv("MINIFP_DATA", str(found))
    return found


def expected(names):
    """The pixels (n, 3, 32, 32) of these batches, uint8, and their labels."""
    batches = [batch(name, COUNTS[name]) for name in names]
    pixels = np.concatenate([b[b"data"] for b in batches]).reshape(-1, 3, 32, 32)
    return pixels, np.concatenate([b[b"labels"] for b in batches])


# ---- what is read -------------------------------------------------------------------------------


def test_it_is_pictures_of_three_channels_and_classes_in_the_order_of_the_batches(folder):
    parts = data.cifar10()
    for part, names, said in zip(parts, ([*COUNTS][:5], ["test_batch"]), ("train", "test")):
        pixels, labels = expected(names)
        x, t = part.arrays
        mean, deviation = np.reshape([0.4914, 0.4822, 0.4465, 0.2470, 0.2435, 0.2616], (2, 3, 1, 1))
        assert (x.dtype, t.dtype, len(part)) == (np.float32, np.int64, len(pixels))
        np.testing.assert_array_equal(x, ((pixels / 255 - mean) / deviation).astype(np.float32))
        np.testing.assert_array_equal(t, labels)
        assert part.classes == NAMES and part.name == f"CIFAR-10, {said}"
    raw, _ = data.cifar10(normalize=False)
    assert raw.arrays[0].dtype == np.float32
    np.testing.assert_array_equal(raw.arrays[0], expected([*COUNTS][:5])[0])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_files_that_python_3_wrote_are_read_too(tmp_path, monkeypatch, protocol, order):
    def dumps(record):
        record = {k: np.asarray(v, order=order) if k == b"data" else v for k, v in record.items()}
        return pickle.dumps(record, protocol)

    monkeypatch.setenv("MINIFP_DATA", str(write(tmp_path / "py3", dumps)))
    assert len(data.cifar10(normalize=False)[0]) == HELD
    np.testing.assert_array_equal(
        data.cifar10(normalize=False)[1].arrays[0], expected(["test_batch"])[0]
    )


def test_text_keys_and_arrays_of_labels_are_read_too(folder):
    record = {k.decode(): v for k, v in batch("test_batch", 3).items()}
    labels = record["labels"]
    record["labels"] = np.array(labels)
    (folder / "test_batch").write_bytes(pickle.dumps(record))
    assert data.cifar10()[1].arrays[1].tolist() == labels


@pytest.mark.parametrize("named", ["own/cifar-10-batches-py", "own", "."])
@pytest.mark.parametrize("inside", ["own", "cifar10"])
def test_it_is_found_in_the_folder_or_in_its_own_inside_it(
    folder, tmp_path, monkeypatch, named, inside
):
    if inside != "own":
        shutil.move(folder.parent, tmp_path / inside)
        named = named.replace("own", inside)
    elif named == ".":
        shutil.move(folder, tmp_path)
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path / named))
    assert len(data.cifar10()[0]) == HELD


def test_compressed_files_are_found_too(folder):
    for path in list(folder.iterdir()):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert len(data.cifar10()[1]) == 3


def test_the_canonical_names_file_is_read():
    """Its 158 bytes, which have the published checksum."""
    content = python2(meta())
    assert hashlib.md5(content).hexdigest() == cifar.CIFAR10_SUMS["batches.meta"]
    assert plain_pickle.loads(content, "batches.meta") == meta()


def test_batches_of_it_are_stored_in_the_format_of_the_precision(folder):
    from minifp.numerics import policy

    for name in ("float32", "mixed"):
        with policy.precision(name) as p:
            x, t = next(iter(DataLoader(data.cifar10()[0], 8)))
            assert (x.shape, x.dtype, t.dtype) == ((8, 3, 32, 32), p.activations, np.int64)


@pytest.mark.skipif(not REAL.is_dir(), reason="no CIFAR-10 in ../shared/data")
def test_real_pictures_are_read(tmp_path, monkeypatch, capsys):
    pytest.importorskip("PIL", reason="Pillow unpacks the pictures")
    script = str(REAL / "unpack.py")
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path), "--train", "2000", "--test", "500"])
    runpy.run_path(script, run_name="__main__")
    monkeypatch.setenv("MINIFP_DATA", str(tmp_path))
    train, test = data.cifar10()
    x, t = train.arrays
    assert (x.shape, test.arrays[0].shape) == ((2000, 3, 32, 32), (500, 3, 32, 32))
    assert train.classes == NAMES
    assert abs(x.mean(axis=(0, 2, 3))).max() < 0.05 and abs(x.std(axis=(0, 2, 3)) - 1).max() < 0.05
    assert abs(np.bincount(t, minlength=10) - 200).max() < 50


# ---- what is refused ----------------------------------------------------------------------------


def changed(folder, name="data_batch_2", **fields):
    """Change fields of a file; None removes one."""
    record = meta() if name == "batches.meta" else batch(name, COUNTS[name])
    record.update({key.encode(): value for key, value in fields.items()})
    record = {key: value for key, value in record.items() if value is not None}
    (folder / name).write_bytes(pickle.dumps(record))


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"data": None}, r"expected in 'data' an array uint8\[n, 3072\], got nothing"),
        ({"data": b"abc"}, r"'data' an array uint8\[n, 3072\], got a bytes"),
        ({"data": np.zeros((3, 3071), np.uint8)}, r"got an array uint8\[3, 3071\]"),
        ({"data": np.zeros((3, 3072), np.int8)}, r"got an array int8\[3, 3072\]"),
        ({"data": np.zeros(3072, np.uint8)}, r"got an array uint8\[3072\]"),
        ({"labels": None}, "expected in 'labels' a list of 3, one for each picture, got nothing"),
        ({"labels": [1, 2]}, "got a list of 2"),
        ({"labels": np.zeros((3, 1), int)}, r"got an array int64\[3, 1\]"),
        ({"labels": [1, 10, 2]}, "label 1 is 10, expected a class from 0 to 9"),
        ({"labels": [1, 2, -1]}, "label 2 is -1"),
        ({"labels": [1.0, 2, 3]}, "label 0 is a float"),
        ({"labels": [True, 2, 3]}, "label 0 is a bool"),
        ({"labels": np.array([1.0, 2, 3])}, "label 0 is a float"),
        ({"labels": [[1], 2, 3]}, "label 0 is a list of 1"),
    ],
)
def test_a_batch_of_another_layout_is_named_and_what_is_wrong_with_it(folder, fields, message):
    changed(folder, **fields)
    with pytest.raises(DataError, match=message) as raised:
        data.cifar10()
    assert str(folder / "data_batch_2") in str(raised.value)


@pytest.mark.parametrize(
    "names", [None, NAMES[:9], [*NAMES[:9], "airplane"], b"abc", [1] * 10, [[b"a"]] * 10]
)
def test_names_of_classes_must_be_ten_different_ones(folder, names):
    changed(folder, "batches.meta", label_names=names)
    with pytest.raises(DataError, match="batches.meta: expected in 'label_names' a list of ten"):
        data.cifar10()


def test_what_is_no_dict_or_has_no_picture_is_refused(folder):
    (folder / "test_batch").write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(DataError, match="test_batch holds a list, expected a dict"):
        data.cifar10()
    (folder / "test_batch").write_bytes(python2(batch("test_batch", 0)))
    with pytest.raises(DataError, match="no picture to test with"):
        data.cifar10()


def test_a_file_that_is_too_long_is_refused_before_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(cifar, "LARGEST", 5000)
    with pytest.raises(DataError, match="data_batch_1 has more than 5000 bytes"):
        data.cifar10()


def test_files_that_are_missing_are_named(folder):
    (folder / "data_batch_3").unlink()
    with pytest.raises(DataError, match=r"cifar10: the folder .* lacks data_batch_3 \(each"):
        data.cifar10()


# ---- pickles: what is plain ---------------------------------------------------------------------

keys = st.binary(max_size=9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
leaves = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | keys
)
plain = st.recursive(
    leaves,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.lists(inner).map(tuple),
)


@given(plain, st.sampled_from(PROTOCOLS))
def test_plain_data_is_read_back_as_pickle_reads_it(value, protocol):
    content = pickle.dumps(value, protocol)
    assert plain_pickle.loads(content, "test") == pickle.loads(content)


DTYPES = st.sampled_from("b1 i1 u1 <i2 >i4 i8 >u2 u4 u8 f2 <f4 >f8".split())


@given(
    DTYPES,
    st.lists(st.integers(0, 4), max_size=4),
    st.sampled_from(["C", "F", "A"]),
    st.sampled_from(PROTOCOLS),
    st.booleans(),
)
def test_arrays_of_numbers_are_read_back(dtype, shape, order, protocol, old):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    array = array[..., ::2] if order == "A" and shape else np.asarray(array, order=order)
    content = pickle.dumps([array, array], protocol)
    if old and protocol < 4:  # NumPy 1 has another name for it
        content = content.replace(b"numpy._core.", b"numpy.core.")
    first, second = plain_pickle.loads(content, "test")
    assert first is second and first.dtype.newbyteorder("=") == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(first, array)


# ---- pickles: what is hostile -------------------------------------------------------------------


class Calls:
    """What is pickled as a call."""

    def __init__(self, function, *arguments, state=None):
        self.call = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self.call


class Persistent(pickle.Pickler):
    """Pickles an object by a persistent id."""

    def persistent_id(self, value):
        return "stolen" if value == "this" else None


def persistent(protocol):
    """A pickle that asks for an object by its id."""
    out = io.BytesIO()
    Persistent(out, protocol).dump({"data": "this"})
    return out.getvalue()


class Plain:
    """A class of one's own."""


def nested(value, depth):
    """It in many lists."""
    for _ in range(depth):
        value = [value]
    return value


def laughs(use):
    """A tuple of two of a tuple of two of ... and what is done with it."""
    body = b"(U\x01at" + b"".join(b"q%cK\x02h%ch%c\x86" % (i, i, i) for i in range(60))
    return b"\x80\x02}" + body + use + b"."


SHAPE = b"\x80\x04cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
HOSTILE = {
    "a shell": (Calls(os.system, "touch {}"), "(posix|nt).system'"),
    "eval": (Calls(eval, "open({!r}, 'w')"), r"'(builtins|__builtin__).eval'"),
    "exec": (Calls(exec, "open({!r}, 'w')"), r"exec'"),
    "open": (Calls(open, "{}", "w"), r"'_?io.open'"),
    "getattr": (Calls(getattr, np.ndarray, "tofile"), "'(builtins|__builtin__).getattr'"),
    "numpy.load": (Calls(np.load, "{}"), r"'numpy.load'|numpy.lib"),
    "numpy.fromfile": (Calls(np.fromfile, "{}"), r"fromfile'"),
    "numpy.memmap": (Calls(np.memmap, "{}"), "memmap'"),
    "a lambda's way": (Calls(__import__, "os"), "__import__'"),
    "a class": (Plain(), "Plain'|copyreg|copy_reg"),
    "a set": ({1, 2}, "code 0x8f|set'"),
    "a complex number": (1j, "complex'"),
    "an object array": (np.array([{}, []], object), "the number format 'O8'"),
    "text in an array": (np.array(["ab"]), "the number format 'U2'"),
    "records": (np.zeros(2, "i4,f4"), "the number format 'V8'"),
    "another kind of array": (np.arange(3).view(np.recarray), "recarray'"),
    "a NumPy scalar": (np.float32(1), r"scalar'"),
    "a dtype of NumPy's choice": (Calls(np.dtype, "i4,i4"), "the number format 'i4,i4'"),
    "an array of a size": (Calls(np.ndarray, (10**12,)), "a call of numpy.ndarray"),
    "a date": (Calls(Path, "/"), r"pathlib"),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("depth", [0, 30])
def test_what_could_run_is_refused_by_name_and_not_run(tmp_path, protocol, name, depth):
    value, message = HOSTILE[name]
    trace = tmp_path / "trace"
    if isinstance(value, Calls):
        function, arguments, *rest = value.call
        filled = [a.format(str(trace)) if isinstance(a, str) else a for a in arguments]
        value = Calls(function, *filled)
    content = pickle.dumps({"labels": nested(value, depth)}, protocol)
    with pytest.raises(DataError, match="(?s)test.*refused.*" + message):
        plain_pickle.loads(content, "test")
    assert not trace.exists()


BOMBS = {
    "a shape of more than the memory": SHAPE
    + b"(K\x01\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x10\x85"
    + b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R\x89U\x00tb.",
    "a shape of no numbers": SHAPE
    + b"(K\x01\x8a\x04\x00\x00\x00\x40U\x03abc\x86"
    + b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R\x89U\x00tb.",
    "a shape of a thousand dimensions": SHAPE
    + b"(K\x01("
    + b"\x8a\x07\xff\xff\xff\xff\xff\xff\x7f" * 1000
    + b"tcnumpy\ndtype\nU\x02u1K\x00K\x01\x87R\x89U\x00tb.",
    "a text of more than the memory": b"\x80\x04\x8e" + b"\xff" * 7 + b"\x0f.",
    "a negative length": b"\x80\x02T\xff\xff\xff\xffabc.",
    "a negative long": b"\x80\x02\x8b\xff\xff\xff\xffabc.",
    "a long of a kilobyte": b"\x80\x02\x8b\x00\x04\x00\x00" + b"\x01" * 1024 + b".",
    "the last place of the memo": b"\x80\x02]r\xff\xff\xff\xffh\x05.",
    "keys that take for ever": laughs(b"K\x01s"),
    "a call of what takes for ever": laughs(b")R"),
    "a format that takes for ever": laughs(b"cnumpy\ndtype\nh\x3b\x85R"),
    "two million lists": b"\x80\x02(" + b"]" * 2_000_000 + b"t.",
    "a deep list": b"\x80\x02" + b"]" * 900_000 + b"a" * 899_999 + b"Q.",
    "one text encoded again and again": b"\x80\x02X\x00\x10\x00\x00"
    + b"a" * 4096
    + b"q\x00"
    + b"c_codecs\nencode\nh\x00U\x06latin1\x86R" * 50
    + b".",
    "an empty pickle": b"",
    "a pickle of nothing": b".",
    "more marks than closed": b"(((.",
    "closed before it began": b"\x80\x02te.",
    "no end": b"\x80\x02]",
    "a name without an end": b"\x80\x02c" + b"a" * 10_000,
    "a codec": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aU\x05rot13\x86R.",
    "a name inside a name": b"\x80\x02cnumpy.core.multiarray\n_reconstruct.__globals__\n.",
    "a name from a text": b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R.",
    "an array without its class": b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nK\x01\x85R.",
    "an array of another class": b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n"
    + b"cnumpy\ndtype\nK\x00\x85U\x01b\x87R.",
    "a state for a list": b"\x80\x02]K\x01b.",
    "a state for a name": b"\x80\x02cnumpy\nndarray\n}b.",
    "protocol 0": pickle.dumps({"labels": [1]}, 0),
    "an instance": b"(S'ls'\nios\nsystem\n.",
    "an instance of what is known": b"\x80\x02(inumpy\nndarray\n.",
    "an object": b"\x80\x02(cnumpy\nndarray\no.",
    "a new object": b"\x80\x02cnumpy\nndarray\n)\x81.",
    "an extension": b"\x80\x02\x82\x01.",
    "a buffer outside": b"\x80\x05\x97.",
    "an id": persistent(2),
    "an id in protocol 0": persistent(0),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_would_take_the_memory_or_the_time_is_refused(name):
    with pytest.raises(DataError, match="^test") as raised:
        plain_pickle.loads(BOMBS[name], "test")
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("name", ["a shell", "eval", "numpy.load"])
@pytest.mark.parametrize("file", ["data_batch_4", "batches.meta"])
def test_a_hostile_file_is_named(folder, name, file):
    (folder / file).write_bytes(pickle.dumps(HOSTILE[name][0]))
    with pytest.raises(DataError, match=f"(?s){file} is refused.*{HOSTILE[name][1]}"):
        data.cifar10()


# ---- downloading --------------------------------------------------------------------------------


def tar(path, files):
    """A compressed archive of files by name; None is a link to /etc/passwd."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content or b""))


@pytest.fixture
def network(tmp_path, monkeypatch):
    """Pooch with a temporary cache and a folder for the mirror; what is asked, and `pack`."""
    pooch = pytest.importorskip("pooch", reason="pooch downloads")
    pytest.importorskip("requests", reason="pooch downloads with it")
    monkeypatch.delenv("MINIFP_DATA", raising=False)
    source = write(tmp_path / "source" / cifar.CIFAR10_FOLDER)
    files = {f"{source.name}/{path.name}": path.read_bytes() for path in source.iterdir()}
    archive = source.parent / cifar.CIFAR10_ARCHIVE

    class Network:
        asked, cache = [], tmp_path / "cache" / "minifp" / "cifar10"

        def pack(self, **changes):
            tar(archive, {**files, "../outside": b"!", f"{source.name}/more": b"!", **changes})
            checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
            monkeypatch.setattr(cifar, "CIFAR10_CHECKSUM", checksum)

    def choose_downloader(address, **_):
        def download(address, output, _):
            Network.asked.append(address)
            shutil.copy(address, output)

        return download

    Network.asked.clear()
    Network().pack()
    sums = {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in source.iterdir()}
    monkeypatch.setattr(pooch.core, "choose_downloader", choose_downloader)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(cifar, "CIFAR10_MIRRORS", (f"{tmp_path}/down/", f"{source.parent}/"))
    monkeypatch.setattr(cifar, "CIFAR10_SUMS", sums)
    return Network()


def below(folder):
    """All files under a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_it_is_downloaded_once_and_only_its_files_are_unpacked(network, tmp_path):
    train, _ = data.cifar10()
    assert len(train) == HELD
    assert [address.rpartition("/")[2] for address in network.asked] == [cifar.CIFAR10_ARCHIVE] * 2
    names = sorted(f"{cifar.CIFAR10_FOLDER}/{name}" for name in cifar.CIFAR10_SUMS)
    assert below(tmp_path / "cache") == [f"minifp/cifar10/{name}" for name in names]
    network.asked.clear()
    assert data.cifar10()[0].fingerprint() == train.fingerprint() and network.asked == []


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"damaged")])
def test_a_cached_file_that_is_lost_or_damaged_is_got_again(network, harm):
    first = data.cifar10()[0].fingerprint()
    harm(network.cache / cifar.CIFAR10_FOLDER / "data_batch_1")
    assert data.cifar10()[0].fingerprint() == first


def test_an_archive_that_is_in_the_cache_already_is_used(network, tmp_path, monkeypatch):
    network.cache.mkdir(parents=True)
    shutil.copy(tmp_path / "source" / cifar.CIFAR10_ARCHIVE, network.cache)
    monkeypatch.setattr(cifar, "CIFAR10_MIRRORS", ("nowhere/",))
    assert len(data.cifar10()[0]) == HELD and network.asked == []


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"cifar-10-batches-py/data_batch_1": None}, "data_batch_1 is no file"),
        ({"cifar-10-batches-py/test_batch": b"other"}, "test_batch has another checksum"),
    ],
)
def test_an_archive_with_other_files_is_refused_and_none_of_them_kept(network, changes, message):
    network.pack(**changes)
    with pytest.raises(DataError, match=f"(?s)could not be unpacked: .*{message}.*MINIFP_DATA"):
        data.cifar10()
    assert below(network.cache) == [cifar.CIFAR10_ARCHIVE]


def test_an_archive_that_lacks_a_file_or_is_none_is_refused(network, tmp_path, monkeypatch):
    archive = tmp_path / "source" / cifar.CIFAR10_ARCHIVE
    for content in (gzip.compress(b""), b"no archive", archive.read_bytes()[:3000]):
        archive.write_bytes(content)
        monkeypatch.setattr(cifar, "CIFAR10_CHECKSUM", hashlib.sha256(content).hexdigest())
        with pytest.raises(DataError, match="could not be unpacked"):
            data.cifar10()


def test_a_download_with_another_checksum_is_refused_and_not_kept(network, monkeypatch):
    monkeypatch.setattr(cifar, "CIFAR10_CHECKSUM", "0" * 64)
    with pytest.raises(DataError, match="(?s)could not be downloaded.*hash.*MINIFP_DATA"):
        data.cifar10()
    assert below(network.cache) == []


def test_without_pooch_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.delenv("MINIFP_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match="pip install pooch.*put data_batch_1, .*MINIFP_DATA"):
        data.cifar10()
