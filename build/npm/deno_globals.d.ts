/** All that the library and the command line use of Deno; undefined on other runtimes. Other uses do not compile. */
interface UsedOfDeno {
  readonly args: string[];
  exit(code: number): never;
  addSignalListener(signal: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGWINCH", listener: () => void): void;
  removeSignalListener(signal: "SIGWINCH", listener: () => void): void;
  readonly stdin: {
    isTerminal(): boolean;
    readonly readable: AsyncIterable<Uint8Array<ArrayBuffer>>;
    read(buffer: Uint8Array): Promise<number | null>;
    setRaw(isRaw: boolean): void;
  };
  readonly stdout: { isTerminal(): boolean; writeSync(bytes: Uint8Array): number };
  readonly stderr: { isTerminal(): boolean; writeSync(bytes: Uint8Array): number };
  consoleSize(): { readonly columns: number; readonly rows: number };
  createHttpClient(options: { poolMaxIdlePerHost: number }): Deno.HttpClient;
  makeTempDir(options: { prefix: string }): Promise<string>;
  readonly permissions: {
    querySync(
      descriptor: { name: "run" } | { name: "net"; host: string } | { name: "read" | "write"; path: string },
    ): { readonly state: string };
    request(descriptor: { name: "run" }): Promise<{ readonly state: string }>;
  };
  readonly env: { toObject(): Record<string, string> };
  readonly build: { readonly os: string; readonly standalone: boolean };
  readonly mainModule: string;
  execPath(): string;
  readTextFile(path: string): Promise<string>;
  readFile(path: string): Promise<Uint8Array>;
  open(path: string, options?: { write?: boolean; createNew?: boolean; mode?: number }): Promise<
    Disposable & {
      seek(offset: number, whence: number): Promise<number>;
      read(into: Uint8Array): Promise<number | null>;
      write(bytes: Uint8Array): Promise<number>;
      sync(): Promise<void>;
      syncData(): Promise<void>;
      close(): void;
    }
  >;
  readonly SeekMode: { readonly Start: number };
  writeTextFile(path: string, text: string, options: { mode: number; createNew: boolean }): Promise<void>;
  mkdir(path: string, options: { recursive: boolean; mode: number }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string, options?: { recursive?: boolean }): Promise<void>;
  realPath(path: string): Promise<string>;
  stat(path: string): Promise<{
    readonly isFile: boolean;
    readonly isDirectory: boolean;
    readonly mtime: Date | null;
    readonly size: number;
    readonly ino: number | null;
  }>;
  statSync(path: string): {
    readonly dev: number;
    readonly ino: number | null;
    readonly mtime: Date | null;
    readonly size: number;
    readonly isDirectory: boolean;
    readonly isFile: boolean;
  };
  readDirSync(path: string): Iterable<
    { readonly name: string; readonly isDirectory: boolean; readonly isSymlink: boolean }
  >;
  realPathSync(path: string): string;
  openSync(path: string): {
    seekSync(offset: number, whence: number): number;
    readSync(into: Uint8Array): number | null;
    close(): void;
  };
  watchFs(path: string): AsyncIterable<{ readonly kind: string }> & { close(): void };
  readDir(path: string): AsyncIterable<{ readonly name: string }>;
  test(name: string, run: () => void | Promise<void>): void;
}
// deno-lint-ignore no-var -- only so is it a property of `globalThis`
declare var Deno: UsedOfDeno;
declare namespace Deno {
  type HttpClient = object;
}
