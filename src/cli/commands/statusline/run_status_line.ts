import { findDefaultDatabase, readKeyFile, withDefaults } from "../../../config/mod.ts";
import { readTarget, type TargetSettings } from "../../../config/target/mod.ts";
import { parseDatabaseUrl } from "../../../kernel/database_url.ts";
import { messageOf } from "../../../kernel/errors.ts";
import { escapeText, shorten } from "../../../kernel/text.ts";
import type { BareContext } from "../../command.ts";
import type { Options } from "../../parse/options.ts";
import {
  AGENT,
  type Figures,
  figuresPath,
  formatAge,
  formatBudget,
  formatSpending,
  formatWindows,
  shortName,
} from "./figures.ts";
import { type Kept, pathOfKept, readKept, stateOf, writeKept } from "./kept_figures.ts";
import { INPUT_MS, readStatusInput, type StatusInput } from "./status_input.ts";
import { renderTemplate } from "./template.ts";

/** The time after the start of the process at which a server's answer is no longer awaited. */
const ANSWER_MS = 130;
/** The longest message in place of figures. */
const MAX_MESSAGE = 100;
/** After it, work in the background is begun again, though the log is the same. */
const REPEAT_MS = 30_000;

/** The part of a command's context that a status line uses. */
export type LineContext = Pick<BareContext, "options" | "terminal" | "clock" | "env" | "print">;

/** Reads the figures from the file of a database. */
type ReadSummary = typeof import("../../../budgets/summary/mod.ts").readSummary;

/** Prints one line whatever happens, and never fails. */
export async function runStatusLine(ctx: LineContext, readSummary: ReadSummary): Promise<void> {
  let line: string;
  try {
    line = await makeLine(ctx, readSummary);
  } catch (error) {
    line = `purser: ${escapeText(shorten(messageOf(error).replaceAll(/\s+/g, " "), MAX_MESSAGE))}`;
  }
  ctx.print(line);
}

/** The options that name the ledger, by their names in a configuration. */
export const OF_TARGET = {
  db: "dbUrl",
  server: "server",
  "api-key": "apiKey",
  profile: "profile",
  config: "configPath",
};

/** Returns the options that name the ledger. */
export const optionsOfTarget = (options: Options) =>
  Object.fromEntries(Object.entries(OF_TARGET).map(([name, key]) => [key, options.text(name)]));

/** Returns them as arguments. */
export const targetArguments = (options: Options) =>
  Object.keys(OF_TARGET).flatMap((name) => options.has(name) ? [`--${name}=${options.text(name)}`] : []);

/** Reads the settings of a status line. */
export const readSettings = (
  { env, options }: Pick<BareContext, "env" | "options">,
): Promise<TargetSettings> => readTarget({ env, options: optionsOfTarget(options) });

/** Returns the folder in which figures are kept; undefined where the home folder is not known. */
export function folderOfKept(env: BareContext["env"]): string | undefined {
  return findDefaultDatabase(env)?.replace(/[^/\\]+$/, "statusline");
}

/** Returns the ledger that figures are of, for people and for the file that keeps them. */
export const targetOf = ({ server, dbUrl }: TargetSettings) => server ?? dbUrl;

async function makeLine(ctx: LineContext, readSummary: ReadSummary): Promise<string> {
  const { terminal, clock, env, options } = ctx;
  const settings = await readSettings(ctx);
  const template = options.text("template") ?? settings.template ?? withDefaults({}).statuslineTemplate;
  // Of an interactive terminal nothing is read.
  const input = terminal.keys ? undefined : await readStatusInput(terminal.stdin(), clock.sleep(INPUT_MS));
  const now = clock.now();
  const folder = folderOfKept(env);
  const path = folder && pathOfKept(folder, input?.sessionId);
  const kept = path === undefined ? undefined : await readKept(path, targetOf(settings));
  const sessionId = input?.sessionId ?? null;
  const { figures, why } = await readFigures(ctx, settings, { sessionId, now }, readSummary);
  if (folder !== undefined && path !== undefined && kept) {
    const limits = input?.limits ?? kept.limits;
    const begun = input?.transcript === undefined
      ? undefined
      : findWork(await stateOf(input.transcript, limits), kept, now, figures !== undefined);
    const next = {
      ...kept,
      ...(figures && { figures, at: now }),
      ...(begun !== undefined && { begun, begunAt: now }),
      limits,
    };
    const hasChanged = JSON.stringify(figures ?? kept.figures) !== JSON.stringify(kept.figures);
    if (begun !== undefined || hasChanged) await writeKept(folder, path, next);
    const words = ["statusline", `--refresh=${input?.transcript}`, ...targetArguments(options)];
    if (begun !== undefined) await terminal.startAgain?.(words);
  }
  const shown = figures ?? kept?.figures;
  if (!shown) return `purser: ${why}`;
  const line = renderLine(template, shown, { input, now });
  return figures ? line : `${line} · ${formatAge(now - kept!.at)}`;
}

/** Reads the figures from the file of the database, or from the server if it answers in time; else says why there are none. */
async function readFigures(
  { clock }: LineContext,
  settings: TargetSettings,
  of: { sessionId: string | null; now: number },
  readSummary: ReadSummary,
): Promise<{ figures?: Figures; why: string }> {
  const { server, dbUrl } = settings;
  if (server !== undefined) {
    const figures = await askServer(server, settings, { ...of, clock });
    return { figures, why: `no answer from ${new URL(server).host} yet` };
  }
  const address = parseDatabaseUrl(dbUrl);
  if (address.kind !== "file") return { why: "no figures yet" };
  try {
    const figures = await readSummary(address.path, { ...of, agentId: AGENT, timeZone: settings.timeZone });
    return { figures, why: "no calls yet" };
  } catch (error) {
    if ((error as Error).name !== "StoreBusyError") throw error;
    return { why: "another process has locked the database" };
  }
}

/** The least time that a server gets, where the process has started slowly. */
const LEAST_MS = 30;

async function askServer(
  server: string,
  { apiKey, apiKeyFile }: TargetSettings,
  { clock, sessionId }: { sessionId: string | null; clock: LineContext["clock"] },
): Promise<Figures | undefined> {
  const key = apiKeyFile === undefined ? apiKey : await readKeyFile(apiKeyFile, () => {});
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const late = new AbortController();
  void clock.sleep(Math.max(LEAST_MS, ANSWER_MS - clock.monotonic())).then(() => late.abort());
  try {
    const response = await fetch(server + figuresPath(sessionId), {
      headers,
      signal: late.signal,
      redirect: "error",
    });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined; // the last figures are shown
  }
}

/**
 * Returns the state if work in the background is to begin for it: the log or the limits have changed since they were imported, or the
 * figures could not be read. Undefined where there is nothing to do, or it has just begun.
 */
function findWork(
  state: string,
  { done, begun, begunAt }: Kept,
  now: number,
  isFresh: boolean,
): string | undefined {
  if (isFresh && state === done) return undefined;
  return state === begun && now - begunAt < REPEAT_MS ? undefined : state;
}

/** Renders figures by a template. */
export function renderLine(
  template: string,
  figures: Figures,
  { input, now }: { input?: StatusInput | undefined; now: number },
): string {
  return renderTemplate(template, {
    session: figures.session ? formatSpending(figures.session) : "",
    today: formatSpending(figures.today),
    budget: formatBudget(figures.budget),
    plan: formatWindows(input?.limits, now),
    model: shortName(input?.model ?? ""),
    project: shortName(input?.folder?.split(/[\\/]/).findLast((name) => name !== "") ?? ""),
  });
}
