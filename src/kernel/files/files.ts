/**
 * The file system calls of every command. In Deno its own, since its `node:fs` takes as long to load as all else of a
 * short command. Errors have the system's code in both; see `systemCodeOf`.
 */
export interface Files {
  /** Reads a file as text in UTF-8. */
  readText(path: string): Promise<string>;
  /** Writes a file that only its user can read. Rejects with `EEXIST` if it exists. */
  writeNew(path: string, text: string): Promise<void>;
  /** Creates a folder that only its user can enter, and its parents; nothing if it exists. */
  makeFolder(path: string): Promise<void>;
  /** Creates a folder with a unique name in the system's temporary directory; returns its path. */
  makeTemporaryFolder(prefix: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Removes a folder with everything in it. */
  removeFolder(path: string): Promise<void>;
  /** Removes a folder. Rejects if anything is in it. */
  removeEmptyFolder(path: string): Promise<void>;
  /** Resolves all symbolic links of a path. */
  realPath(path: string): Promise<string>;
  isFolder(path: string): Promise<boolean>;
  /** Lists the names in a folder, in no order. */
  list(folder: string): Promise<string[]>;
  /**
   * Returns the time of a file's last change, in milliseconds since the epoch, its size and its number; undefined without one.
   */
  stampOf(path: string): Promise<FileStamp | undefined>;
  /** Loads a synchronous function that identifies the file of a path. */
  loadIdentify(): Promise<IdentifyFile>;
  /** Loads synchronous functions, for reading thousands of small files: each call takes a tenth of the time of the others. */
  loadFilesSync(): Promise<FilesSync>;
  /**
   * Calls a listener after something has changed below a folder, until the signal aborts. Throws where the system can't say so,
   * such as on a network file system.
   */
  watch(folder: string, listener: () => void, signal: AbortSignal): Promise<void>;
  /** Returns what a path leads to, without opening it. */
  kindOf(path: string): Promise<FileKind>;
  /** Opens a file to read it from its beginning. */
  openToRead(path: string): Promise<FileReader>;
  readBytes(path: string): Promise<Uint8Array>;
  /** Creates a file that only its user can read, and opens it. Rejects with `EEXIST` if it exists. */
  createFile(path: string): Promise<OpenFile>;
  /** Flushes the names in a folder to the disk; nothing where the system doesn't support it. */
  syncFolder(path: string): Promise<void>;
}

/** Synchronous calls that read files; each throws with the system's code. */
export interface FilesSync {
  entriesOf(folder: string): FolderEntry[];
  /** Returns what a path leads to, through symbolic links. */
  stampOf(path: string): FileStamp & { isFolder: boolean; isFile: boolean };
  realPath(path: string): string;
  /** Opens a file to read it from an offset on. */
  open(path: string, offset?: number): FileReaderSync;
}

/** A name in a folder. */
export interface FolderEntry {
  name: string;
  isFolder: boolean;
  /** A symbolic link, of which only the target is a folder or a file. */
  isLink: boolean;
}

/** An open file that is read synchronously. */
export interface FileReaderSync {
  /** Reads the next bytes; returns their number, 0 at the end. */
  read(into: Uint8Array): number;
  close(): void;
}

/** The kind of a file: one that isn't a file with a size is a pipe or a device. */
export interface FileKind {
  isFile: boolean;
  isFolder: boolean;
  size: number;
}

/** An open file that is read. */
export interface FileReader {
  /** Reads the next bytes; returns their number, 0 at the end. */
  read(into: Uint8Array): Promise<number>;
  close(): Promise<void>;
}

/** An open file that is written in place. Its calls may not overlap. */
export interface OpenFile {
  /** Writes all bytes from an offset on. */
  write(bytes: Uint8Array, offset: number): Promise<void>;
  /** Resolves once everything written is on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** The facts of a file of which one differs after it was written or replaced. */
export interface FileStamp {
  modifiedAt: number;
  size: number;
  inode: number | null;
}

/** The identity of a file: no two files of a system have the same pair at the same time. */
export interface FileIdentity {
  device: number;
  inode: number | null;
}

/** Returns the identity of the file of a path; throws with the system's code if it doesn't exist. */
export type IdentifyFile = (path: string) => FileIdentity;

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Lazy: an edge runtime has no files. */
const node = () => import("node:fs/promises");

export const nodeFiles: Files = {
  readText: async (path) => await (await node()).readFile(path, "utf8"),
  writeNew: async (path, text) => await (await node()).writeFile(path, text, { mode: FILE_MODE, flag: "wx" }),
  makeFolder: async (path) => void await (await node()).mkdir(path, { recursive: true, mode: FOLDER_MODE }),
  async makeTemporaryFolder(prefix) {
    const [{ mkdtemp }, { tmpdir }, { join }] = await Promise.all([
      node(),
      import("node:os"),
      import("node:path"),
    ]);
    return await mkdtemp(join(tmpdir(), prefix));
  },
  rename: async (from, to) => await (await node()).rename(from, to),
  remove: async (path) => await (await node()).rm(path),
  removeFolder: async (path) => await (await node()).rm(path, { recursive: true }),
  removeEmptyFolder: async (path) => await (await node()).rmdir(path),
  realPath: async (path) => await (await node()).realpath(path),
  isFolder: async (path) => (await (await node()).stat(path)).isDirectory(),
  list: async (folder) => await (await node()).readdir(folder),
  async stampOf(path) {
    const stat = await (await node()).stat(path).catch(() => undefined);
    return stat && { modifiedAt: stat.mtimeMs, size: stat.size, inode: stat.ino };
  },
  async loadIdentify() {
    const { statSync } = await import("node:fs");
    return (path) => {
      const { dev, ino } = statSync(path);
      return { device: dev, inode: ino };
    };
  },
  async loadFilesSync() {
    const { closeSync, openSync, readdirSync, readSync, realpathSync, statSync } = await import("node:fs");
    return {
      entriesOf: (folder) =>
        readdirSync(folder, { withFileTypes: true }).map((entry) => ({
          name: entry.name,
          isFolder: entry.isDirectory(),
          isLink: entry.isSymbolicLink(),
        })),
      stampOf(path) {
        const stat = statSync(path);
        const { mtimeMs, size, ino } = stat;
        return {
          modifiedAt: Math.floor(mtimeMs),
          size,
          inode: ino,
          isFolder: stat.isDirectory(),
          isFile: stat.isFile(),
        };
      },
      realPath: (path) => realpathSync(path),
      open(path, offset = 0) {
        const file = openSync(path, "r");
        return {
          read(into) {
            const count = readSync(file, into, 0, into.length, offset);
            offset += count;
            return count;
          },
          close: () => closeSync(file),
        };
      },
    };
  },
  async watch(folder, listener, signal) {
    const { watch } = await node();
    for await (const _ of watch(folder, { recursive: true, signal })) listener();
  },
  async kindOf(path) {
    const stat = await (await node()).stat(path);
    return { isFile: stat.isFile(), isFolder: stat.isDirectory(), size: stat.size };
  },
  async openToRead(path) {
    const file = await (await node()).open(path);
    return {
      read: async (into) => (await file.read(into, 0, into.length, null)).bytesRead,
      close: () => file.close(),
    };
  },
  readBytes: async (path) => await (await node()).readFile(path),
  async createFile(path) {
    const file = await (await node()).open(path, "wx", FILE_MODE);
    return {
      async write(bytes, offset) {
        for (let done = 0; done < bytes.length;) {
          done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
        }
      },
      sync: () => file.datasync(),
      close: () => file.close(),
    };
  },
  async syncFolder(path) {
    try {
      await using folder = await (await node()).open(path);
      await folder.sync();
    } catch {
      // Windows opens no folder
    }
  },
};

export function denoFiles(deno: typeof Deno): Files {
  return {
    readText: (path) => deno.readTextFile(path),
    writeNew: (path, text) => deno.writeTextFile(path, text, { mode: FILE_MODE, createNew: true }),
    makeFolder: (path) => deno.mkdir(path, { recursive: true, mode: FOLDER_MODE }),
    makeTemporaryFolder: (prefix) => deno.makeTempDir({ prefix }),
    rename: (from, to) => deno.rename(from, to),
    remove: (path) => deno.remove(path),
    removeFolder: (path) => deno.remove(path, { recursive: true }),
    removeEmptyFolder: (path) => deno.remove(path),
    realPath: (path) => deno.realPath(path),
    isFolder: async (path) => (await deno.stat(path)).isDirectory,
    list: async (folder) => (await Array.fromAsync(deno.readDir(folder))).map(({ name }) => name),
    async stampOf(path) {
      const stat = await deno.stat(path).catch(() => undefined);
      return stat && { modifiedAt: stat.mtime?.getTime() ?? 0, size: stat.size, inode: stat.ino };
    },
    loadIdentify: () =>
      Promise.resolve((path) => {
        const { dev, ino } = deno.statSync(path);
        return { device: dev, inode: ino };
      }),
    loadFilesSync: () =>
      Promise.resolve({
        entriesOf: (folder) =>
          Array.from(deno.readDirSync(folder), ({ name, isDirectory, isSymlink }) => ({
            name,
            isFolder: isDirectory,
            isLink: isSymlink,
          })),
        stampOf(path) {
          const { mtime, size, ino, isDirectory, isFile } = deno.statSync(path);
          return { modifiedAt: mtime?.getTime() ?? 0, size, inode: ino, isFolder: isDirectory, isFile };
        },
        realPath: (path) => deno.realPathSync(path),
        open(path, offset = 0) {
          const file = deno.openSync(path);
          if (offset > 0) file.seekSync(offset, deno.SeekMode.Start);
          return { read: (into) => file.readSync(into) ?? 0, close: () => file.close() };
        },
      }),
    async watch(folder, listener, signal) {
      const watcher = deno.watchFs(folder);
      const close = () => watcher.close();
      signal.addEventListener("abort", close, { once: true });
      for await (const { kind } of watcher) if (kind !== "access") listener();
    },
    async kindOf(path) {
      const { isFile, isDirectory, size } = await deno.stat(path);
      return { isFile, isFolder: isDirectory, size };
    },
    async openToRead(path) {
      const file = await deno.open(path);
      return { read: async (into) => await file.read(into) ?? 0, close: () => Promise.resolve(file.close()) };
    },
    readBytes: (path) => deno.readFile(path),
    async createFile(path) {
      const file = await deno.open(path, { write: true, createNew: true, mode: FILE_MODE });
      return {
        async write(bytes, offset) {
          await file.seek(offset, deno.SeekMode.Start);
          for (let done = 0; done < bytes.length;) done += await file.write(bytes.subarray(done));
        },
        sync: () => file.syncData(),
        close: () => Promise.resolve(file.close()),
      };
    },
    async syncFolder(path) {
      try {
        using folder = await deno.open(path);
        await folder.sync();
      } catch {
        // Windows opens no folder
      }
    },
  };
}

/** The file system of this process. */
export const files: Files = globalThis.Deno === undefined ? nodeFiles : denoFiles(globalThis.Deno);
