import { createHash } from "node:crypto";
import type { z } from "zod";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import type { ExportTarget } from "./export_target.ts";

/** The rows of one file: some tens of megabytes while it is made. */
export const ROWS_PER_FILE = 100_000;

/** Writes a file; returns its entry in a manifest. */
export async function putFile(target: ExportTarget, name: string, bytes: Uint8Array<ArrayBuffer>) {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  await target.put(name, bytes, sha256);
  return { name, bytes: bytes.length, sha256 };
}

export const putManifest = (target: ExportTarget, name: string, manifest: object) =>
  putFile(target, name, new TextEncoder().encode(JSON.stringify(manifest, null, 2) + "\n"));

export const refuse = ({ where }: ExportTarget, state: string) =>
  new PurserError("conflict", `Cannot export to ${where}: ${state}; name another folder`);

/** Reads a manifest; undefined if there is none. Throws `conflict` on a file that isn't one. */
export async function readManifest<Manifest>(
  target: ExportTarget,
  name: string,
  schema: z.ZodType<Manifest>,
  what: string,
): Promise<Manifest | undefined> {
  const text = await target.readText(name);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    const fault = messageOf(error).split("\n")[0];
    throw refuse(target, `${name} there is not that of an export of ${what} (${fault})`);
  }
}
