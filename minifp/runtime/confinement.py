"""What a process may no longer do, once it has given it up: before code of a stranger runs in it.

Everywhere but on Windows: no more than so many seconds of processor time and bytes of memory (on
macOS the system does not enforce the latter), and not one byte written into any file. On Linux the
kernel holds more: Landlock (5.13; network 6.7, signals 6.12) keeps the process from files outside
of some folders and from other processes, and a filter of system calls (x86-64 and ARM) from
starting processes, from the network, and from changing the rights of files. What could be given up
is returned, so that whoever relies on it can say what is not.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

TIME, MEMORY, WRITING = "processor time", "memory", "writing into files"
FILES, CHILDREN, NETWORK = "files elsewhere", "child processes", "the network"
ALL = (TIME, MEMORY, WRITING, FILES, CHILDREN, NETWORK)
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/dev", "/proc", "/sys", "/nix", "/opt")


def confine(folder: Path, readable: Iterable[Path], memory: int, seconds: int) -> list[str]:
    """Give it all up, for good; which of ALL this system holds. Call it on one thread only.

    folder: the one in which files may be made, which stay empty. readable: what may be read beside
    it and SYSTEM. memory: bytes, beside what the process has already. seconds: of processor time.
    """
    found = limited(memory, seconds)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS: no program gives any rights back
        found += landlocked(libc, folder, readable)
        found += filtered(libc)
    return [what for what in ALL if what in found]


# ---- limits of POSIX -----------------------------------------------------------------------------


def limited(memory: int, seconds: int) -> list[str]:
    """Set the limits of this process."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    found = []
    for what, name, limit in (
        (TIME, "RLIMIT_CPU", seconds),
        (MEMORY if sys.platform == "linux" else "", "RLIMIT_AS", memory + in_use()),
        (WRITING, "RLIMIT_FSIZE", 0),
        ("", "RLIMIT_CORE", 0),
        ("", "RLIMIT_NOFILE", 64),
        (CHILDREN if os.getuid() else "", "RLIMIT_NPROC", 0),  # root is not held to it
    ):
        with suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (limit, limit))
            found.append(what)
    return found


def in_use() -> int:
    """The bytes of address space that this process has, 0 where the system does not tell."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    return 0


# ---- Landlock ------------------------------------------------------------------------------------

CREATE, ADD, RESTRICT = 444, 445, 446  # system calls, on all processors
READS = 0b1101  # execute, read files, list folders
WRITES = {1: 0b1_1111_1111_0010, 2: 1 << 13, 3: 1 << 14}  # by the version that has them


def landlocked(libc, folder: Path, readable: Iterable[Path]) -> list[str]:
    """Let this process read what it may, write below one folder, and reach no other process."""
    version = libc.syscall(CREATE, None, 0, 1)
    if version < 1:
        return []
    writes = sum(bits for since, bits in WRITES.items() if since <= version)
    attributes = struct.pack(
        "QQQ", READS | writes, 3 if version >= 4 else 0, 3 if version >= 6 else 0
    )
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = libc.syscall(CREATE, attributes, size, 0)
    if rules < 0:
        return []
    may = [(Path(os.devnull), 0b110)]  # read and write
    may += [(path, READS) for path in (*map(Path, SYSTEM), *readable)]
    for path, allowed in ((folder, READS | writes), *may):
        with suppress(OSError):  # there is no such folder here
            below = os.open(path, os.O_PATH)
            libc.syscall(ADD, rules, 1, struct.pack("=Qi", allowed, below), 0)
            os.close(below)
    is_held = libc.syscall(RESTRICT, rules, 0) == 0
    os.close(rules)
    is_alone = len(os.listdir("/proc/self/task")) == 1  # another thread would be free
    return [FILES] if is_held and is_alone else []


# ---- a filter of system calls --------------------------------------------------------------------

CLONE, CLONE3, KILL, TGKILL, CAPSET, SECCOMP = "clone", "clone3", "kill", "tgkill", "capset", "own"
CALLS = {  # by processor: how the kernel names it, and the numbers of calls
    "x86_64": (
        0xC000003E,
        {CLONE: 56, CLONE3: 435, KILL: 62, TGKILL: 234, CAPSET: 126, SECCOMP: 317},
        # Those that start or reach processes: fork, vfork, ptrace, tkill, rt_*sigqueueinfo,
        # process_vm_*, pidfd_*; socket; io_uring_setup; those that change what Landlock does not
        # know: *chmod*, *chown*, *utime*, *setxattr*, *removexattr*; unshare, setns, mount.
        (57, 58, 101, 200, 129, 297, 310, 311, 434, 424, 438, 41, 425)
        + (90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280, *range(188, 191))
        + (*range(197, 200), 463, 466, 272, 308, 165),
    ),
    "aarch64": (
        0xC00000B7,
        {CLONE: 220, CLONE3: 435, KILL: 129, TGKILL: 131, CAPSET: 91, SECCOMP: 277},
        (117, 130, 138, 240, 270, 271, 434, 424, 438, 198, 425)
        + (52, 53, 452, 54, 55, 88, *range(5, 8), *range(14, 17), 463, 466, 97, 268, 40),
    ),
}
LOAD, EQUAL, AT_LEAST, HAS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, REFUSE, UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # EPERM, ENOSYS
NUMBER, PROCESSOR, FIRST = 0, 4, 16  # where the kernel puts them
THREAD = 0x10000  # the flag of a clone that is a thread


def filtered(libc) -> list[str]:
    """Drop all rights of root, and refuse calls that start, reach or signal other processes."""
    if platform.machine() not in CALLS:
        return []
    name, known, refused = CALLS[platform.machine()]
    libc.syscall(known[CAPSET], struct.pack("Ii", 0x20080522, 0), bytes(24))
    own = os.getpid()
    steps = [
        (LOAD, 0, 0, PROCESSOR), (EQUAL, 1, 0, name), (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, 1 << 30), (RETURN, 0, 0, REFUSE),  # of another ABI
        (EQUAL, 0, 1, known[CLONE3]), (RETURN, 0, 0, UNKNOWN),  # then clone is called instead
    ]  # fmt: skip
    for number in refused:
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]
    for call, test, value in ((CLONE, HAS, THREAD), (KILL, EQUAL, own), (TGKILL, EQUAL, own)):
        steps += [(EQUAL, 0, 4, known[call]), (LOAD, 0, 0, FIRST), (test, 1, 0, value)]
        steps += [(RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    steps.append((RETURN, 0, 0, ALLOW))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    whole = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(program))
    is_held = libc.syscall(known[SECCOMP], 1, 1, whole) == 0  # for all threads
    return [CHILDREN, NETWORK] if is_held else []
