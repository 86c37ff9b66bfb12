// The folder in which programs write. Each file is posted as it is closed, so that the page has it
// whatever becomes of the program: "file" (path, bytes), and "removed" (path).

export const FOLDER = "/files";

/** Post what becomes of a folder's files from now on; what puts and removes some without a word. */
export function keepFiles(FS, post, folder = FOLDER) {
  FS.mkdir(folder);
  const inside = (path) => (path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null);
  const { close, rename, unlink } = FS;
  let told = (path) => {
    const name = inside(path);
    if (name === null || !FS.analyzePath(path).exists || !FS.isFile(FS.stat(path).mode)) return;
    const bytes = FS.readFile(path);
    post("file", { path: name, bytes }, [bytes.buffer]);
  };
  let gone = (path) => inside(path) !== null && post("removed", { path: inside(path) });
  const full = (path) => FS.lookupPath(path, { follow: false }).path;

  FS.close = (stream) => {
    const writes = stream.flags & 3, path = writes ? FS.getPath(stream.node) : "";
    close(stream);
    if (writes) told(path);
  };
  FS.unlink = (path) => {
    const from = full(path);
    unlink(path);
    gone(from);
  };
  FS.rename = (from, to) => {
    const before = full(from);
    rename(from, to);
    gone(before);
    below(full(to)).forEach((path) => told(path));
  };

  /** The files of a path: itself, or all in that folder. */
  function below(path) {
    if (!FS.isDir(FS.stat(path).mode)) return [path];
    return FS.readdir(path).filter((name) => name !== "." && name !== "..").flatMap((name) => below(`${path}/${name}`));
  }

  function silently(does) {
    const held = [told, gone];
    told = gone = () => {};
    try { does(); } finally { [told, gone] = held; }
  }

  return {
    put: (files) => silently(() => files.forEach(({ path, bytes }) => {
      FS.mkdirTree(`${folder}/${path}`.replace(/\/[^/]*$/, ""));
      FS.writeFile(`${folder}/${path}`, bytes);
    })),
    remove: (path) => silently(() => FS.analyzePath(`${folder}/${path}`).exists && FS.unlink(`${folder}/${path}`)),
  };
}
