/** The files of snapshots: sources to read from, compressed or not, and the file that one is written to. */
export {
  gunzip,
  openSource,
  peekGzip,
  readFile,
  sizeOfFile,
  type SnapshotSource,
} from "./snapshot_source.ts";
export type { SpoolOptions } from "./spool.ts";
export { writeFile } from "./write_file.ts";
