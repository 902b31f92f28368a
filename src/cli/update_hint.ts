import { dirname } from "node:path";
import { z } from "zod";
import { type Environment, findUpdateFile } from "../config/mod.ts";
import { toIso } from "../kernel/clock.ts";
import { PurserError } from "../kernel/errors.ts";
import { download, type DownloadContext } from "../kernel/files/download.ts";
import { readTextFile } from "../kernel/files/read_text_file.ts";
import { replaceFile } from "../kernel/files/replace_file.ts";
import { mayAskAndKeep } from "../kernel/this_process.ts";
import { type Release, VERSION } from "../kernel/version.ts";

/** The parts of a process that look for a newer release. */
interface UpdateContext extends DownloadContext {
  env: Environment;
  release: Release;
  /** The address of the npm registry. */
  registry: string;
}

/** A hint at a newer release. */
export interface UpdateHint {
  text: string;
  /** Stores that the hint was shown, so that it isn't again for a day. Returns false if that fails: then it isn't shown. */
  remember(): Promise<boolean>;
}

const DAY_MS = 86_400_000;

/** A command that is over before the registry has answered leaves the question to one of the next hours. */
const HOUR_MS = 3_600_000;

const TIMEOUT_MS = 10_000;

/** One version of a package has some KB, with its description. */
const MAX_ANSWER_BYTES = 1024 * 1024;

const Version = z.string().regex(/^\d{1,9}\.\d{1,9}\.\d{1,9}$/);

/** The file in the cache folder: when the registry was asked and has answered, its answer, and when that was shown. */
const Known = z.object({
  asked_at: z.iso.datetime().optional(),
  answered_at: z.iso.datetime().optional(),
  latest: Version.optional(),
  told_at: z.iso.datetime().optional(),
});

/** A version of a package, as an npm registry describes it. */
const Answer = z.object({ version: Version, repository: z.object({ url: z.string() }) });

/**
 * Returns the hint at a newer release, unless one was told within a day; undefined if there is none. Asks the registry if it
 * has not answered within a day, and believes only a package of the same repository: another one could have its name.
 * Rejects if nothing can be kept, or the command is over.
 */
export async function findUpdate(ctx: UpdateContext): Promise<UpdateHint | undefined> {
  const { clock, env, release, registry } = ctx;
  const path = findUpdateFile(env);
  const url = new URL(`${registry}/purser/latest`);
  if (path === undefined || !mayAskAndKeep(url.host, dirname(path))) return undefined;
  let known: z.infer<typeof Known> = await readTextFile(path)
    .then((text) => Known.parse(JSON.parse(text))).catch(() => ({}));
  const isWithin = (ms: number, time: string | undefined) => {
    const age = clock.now() - Date.parse(time ?? "");
    return age >= 0 && age < ms; // a clock that was set back keeps nothing silent
  };
  const now = () => toIso(clock.now());
  const keep = async (changed: z.infer<typeof Known>) =>
    await replaceFile(path, `${JSON.stringify(known = { ...known, ...changed })}\n`);
  if (!isWithin(DAY_MS, known.answered_at) && !isWithin(HOUR_MS, known.asked_at)) {
    await keep({ asked_at: now() }); // before the request: one that can't be kept would be made by each command
    const latest = await askLatest(ctx, url).catch((error) => {
      // An answer that can't be used is one for today; a command that is over has none.
      if (ctx.signal?.aborted) throw error;
      return known.latest;
    });
    await keep({ answered_at: now(), latest });
  }
  const { latest } = known;
  if (latest === undefined || !isNewer(latest, VERSION) || isWithin(DAY_MS, known.told_at)) return undefined;
  return {
    text: `purser ${latest} is available, this is ${VERSION}: ${commandOf(release, latest, env)}`,
    remember: () => keep({ told_at: now() }).then(() => true, () => false),
  };
}

/** Asks for the latest version; undefined if the package is of another repository. */
async function askLatest(ctx: UpdateContext, url: URL): Promise<string | undefined> {
  const text = await download(ctx, {
    url,
    accept: "application/json",
    maxBytes: MAX_ANSWER_BYTES,
    tooLarge: () => new PurserError("too_large", `Cannot read ${url.href}: it has over 1 MB`),
    timeoutMs: TIMEOUT_MS,
  });
  const { version, repository } = Answer.parse(JSON.parse(text));
  return addressOf(repository.url) === addressOf(ctx.release.repository) ? version : undefined;
}

/** Returns the address of a repository without what npm adds to it. */
function addressOf(repository: string): string {
  return repository.replace(/^git\+/, "").replace(/\/?(?:\.git)?\/?$/, "").toLowerCase();
}

function isNewer(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split(".").map(Number));
  const differing = a!.findIndex((part, i) => part !== b![i]);
  return differing >= 0 && a![differing]! > b![differing]!;
}

/** Returns how a release is updated. */
function commandOf({ kind, repository }: Release, version: string, env: Environment): string {
  // npm tells a program by which of its commands it was started.
  const isNpx = env.npm_command === "exec";
  const isScript = env.npm_command === "run-script" || env.npm_command === "run";
  switch (kind) {
    case "npm":
      return isNpx ? `npx purser@${version}` : `npm install ${isScript ? "" : "--global "}purser@${version}`;
    case "bundle":
      return `deno task bundle in version ${version} of ${addressOf(repository)}, then install it again`;
    case "binary":
      return `replace this file by that of version ${version}, from ${addressOf(repository)}`;
    case "image":
      return `pull the image of version ${version}, and start it over the same volume`;
  }
}
