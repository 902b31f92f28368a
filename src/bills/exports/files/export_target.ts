import { join, resolve } from "node:path";
import type { Environment } from "../../../config/mod.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { systemCodeOf, systemReason } from "../../../kernel/system_errors.ts";
import { writeFile } from "../../../snapshots/files/mod.ts";

/** The place that an export is written to: a folder, or a prefix of a bucket. */
export interface ExportTarget {
  /** Its name in messages. */
  readonly where: string;
  /** Returns the text of a file; undefined if there is none. */
  readText(name: string): Promise<string | undefined>;
  /** Writes a file whole or not at all, in place of an earlier one. */
  put(name: string, bytes: Uint8Array<ArrayBuffer>, sha256: string): Promise<void>;
  remove(name: string): Promise<void>;
}

export interface TargetContext {
  env: Environment;
  clock: Pick<Clock, "now" | "sleep">;
  fetch: typeof globalThis.fetch;
}

/**
 * Opens the target of `--to`: `s3://BUCKET/PREFIX`, or a folder, which is created.
 *
 * @throws {PurserError} `invalid` for another URL, or where credentials are missing; `unavailable` where no folder can be created
 */
export async function openTarget(ctx: TargetContext, to: string): Promise<ExportTarget> {
  if (to.startsWith("s3://")) return (await import("./s3_target.ts")).openBucket(ctx, to);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(to)) {
    throw new PurserError(
      "invalid",
      `Cannot export to ${to}: only a folder or s3://BUCKET/PREFIX can be written to`,
    );
  }
  return await openFolder(resolve(to), to);
}

async function openFolder(folder: string, where: string): Promise<ExportTarget> {
  const { mkdir, readFile, rm } = await import("node:fs/promises"); // an edge runtime has none
  const attempt = async <T>(verb: string, name: string, task: () => Promise<T>): Promise<T> => {
    try {
      return await task();
    } catch (error) {
      throw new PurserError("unavailable", `Cannot ${verb} ${join(where, name)}: ${systemReason(error)}`, {
        cause: error,
      });
    }
  };
  await attempt("create", "", () => mkdir(folder, { recursive: true }));
  return {
    where,
    readText: (name) =>
      attempt("read", name, () =>
        readFile(join(folder, name), "utf8").catch((error) => {
          if (systemCodeOf(error) === "ENOENT") return undefined;
          throw error;
        })),
    // Its temporary file is renamed after it is on the disk.
    put: (name, bytes) => writeFile(join(folder, name), ReadableStream.from([bytes])),
    remove: (name) => attempt("remove", name, () => rm(join(folder, name), { force: true })),
  };
}
