import { randomBytes } from "node:crypto";

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

function pathOf(databasePath: string): string {
  return `${databasePath}.owner.json`;
}

/** Writes the file beside the database, readable by its user only, whole or not at all. */
export async function writeOwner(databasePath: string, owner: Owner): Promise<void> {
  const path = pathOf(databasePath);
  const draft = `${path}.${owner.pid}.${randomBytes(4).toString("hex")}`;
  await Deno.writeTextFile(draft, JSON.stringify(owner), { mode: 0o600, createNew: true });
  await Deno.rename(draft, path);
}

/** Reads it; undefined where there is none that can be understood. */
export async function readOwner(databasePath: string): Promise<Owner | undefined> {
  try {
    const { pid, url, token } = JSON.parse(await Deno.readTextFile(pathOf(databasePath)));
    if (typeof pid !== "number" || typeof url !== "string" || typeof token !== "string") return undefined;
    return URL.parse(url)?.hostname === "127.0.0.1" ? { pid, url, token } : undefined;
  } catch {
    return undefined;
  }
}

/** Removes it, if it is still this owner's. */
export async function removeOwner(databasePath: string, owner: Owner): Promise<void> {
  if ((await readOwner(databasePath))?.token !== owner.token) return;
  await Deno.remove(pathOf(databasePath)).catch(() => {});
}
