import { createHmac, randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { isDiskFull, PurserError } from "../errors.ts";
import { systemReason } from "../system_reason.ts";
import { files } from "../files.ts";

/** How the owner of a database file can be reached. */
export interface Owner {
  pid: number;
  /** Its loopback address. */
  url: string;
  /** What it must be shown; new with each owner. */
  token: string;
}

/** A token that can't be guessed: 256 random bits. */
export function newOwnerToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Where an owner shows that it knows its token, without a token being sent to it. */
export const PROOF_PATH = "/owner-proof";

/** What only who knows the token can answer to a nonce: HMAC-SHA256, in hex. */
export function proofOf(token: string, nonce: string): string {
  return createHmac("sha256", token).update(nonce).digest("hex");
}

/** Marks the answer of an owner that is about to end, and has done nothing of what it was asked. */
export const LEFT_HEADER = "purser-owner-left";

/** Names the nonce that a request was announced by. */
export const ANNOUNCED_HEADER = "purser-announced";

/**
 * What only who knows the token can ask with that the owner wait for a request. Of another key than a proof: whoever asks
 * for proofs must not get it by that.
 */
export function announcementOf(token: string, nonce: string): string {
  return proofOf(`${token} announces`, nonce);
}

/** Beside the database itself, whatever link it is reached by. */
async function pathOf(databasePath: string): Promise<string> {
  const inFolder = async () =>
    join(
      await files.realPath(dirname(databasePath)).catch(() => dirname(databasePath)),
      basename(databasePath),
    );
  return `${await files.realPath(databasePath).catch(inFolder)}.owner.json`;
}

/**
 * Writes the file beside the database, readable by its user only, whole or not at all. On a disk that is full it is
 * left out: what is there can be read all the same, only not by two commands at once.
 *
 * @throws {PurserError} `unavailable` when it can't be written for another reason
 */
export async function writeOwner(databasePath: string, owner: Owner): Promise<void> {
  const path = await pathOf(databasePath);
  const draft = `${path}.${owner.pid}.${randomBytes(4).toString("hex")}`;
  try {
    await files.writeNew(draft, JSON.stringify(owner));
    await files.rename(draft, path);
  } catch (error) {
    await files.remove(draft).catch(() => {});
    if (isDiskFull(error)) return;
    throw new PurserError(
      "unavailable",
      `Cannot write ${path}, which tells other commands who owns the database: ${systemReason(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** Reads it; undefined where there is none that can be understood. */
export async function readOwner(databasePath: string): Promise<Owner | undefined> {
  try {
    const { pid, url, token } = JSON.parse(await files.readText(await pathOf(databasePath)));
    if (typeof pid !== "number" || typeof url !== "string" || typeof token !== "string") return undefined;
    return URL.parse(url)?.hostname === "127.0.0.1" ? { pid, url, token } : undefined;
  } catch {
    return undefined;
  }
}

/** Removes it, if it is still this owner's. */
export async function removeOwner(databasePath: string, owner: Owner): Promise<void> {
  if ((await readOwner(databasePath))?.token !== owner.token) return;
  await files.remove(await pathOf(databasePath)).catch(() => {});
}
