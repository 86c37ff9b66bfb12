// node compile.mjs PYODIDE FOLDER: compiles all Python of a folder with Pyodide's Python, for where
// its packages are installed. The bytecode is not held against the time of its source, which a
// wheel does not keep.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, folder] = process.argv.slice(2).map((name) => path.resolve(name));
const { loadPyodide } = await import(pathToFileURL(path.join(pyodide, "pyodide.mjs")));
const python = await loadPyodide({ indexURL: `${pyodide}/` });
python.FS.mkdir("/compiled");
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, "/compiled");
const done = python.runPython(`
import compileall, py_compile, sysconfig
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
compileall.compile_dir("/compiled", ddir=sysconfig.get_path("purelib"), quiet=1,
                       invalidation_mode=mode)`);
process.exit(done ? 0 : 1);
