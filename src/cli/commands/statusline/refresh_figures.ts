import { DAY_MS } from "../../../kernel/clock.ts";
import { files } from "../../../kernel/files/files.ts";
import { readStatusLineWindows, windowToWire } from "../../../plans/sources/mod.ts";
import { createInstanceLocks } from "../../../store/mod.ts";
import type { BareContext, CommandContext, OpenContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import hooks from "../gate/hooks/claude_code.ts";
import { findSessionLogs, importSession } from "../gate/import_session.ts";
import { readFileStates } from "../import/import_books.ts";
import { readPlanAccount } from "../import/read_plan_account.ts";
import { AGENT, figuresPath } from "./figures.ts";
import { pathOfKept, readKept, stateOf, sweepKept, writeKept } from "./kept_figures.ts";
import { folderOfKept, readSettings, targetOf } from "./run_status_line.ts";

/** The time for which the figures of a session are kept. */
const KEPT_MS = 7 * DAY_MS;

/**
 * `purser statusline --refresh LOG`: imports the log of a session with those of its sub-agents, records the windows of the plan, reads the
 * figures and keeps them. One process of a user does so at a time; it prints nothing.
 */
export async function refreshFigures(ctx: BareContext, open: OpenContext, log: string): Promise<number> {
  const { env, clock } = ctx;
  const folder = folderOfKept(env);
  const sessionId = /([^/\\]+)\.jsonl$/.exec(log)?.[1];
  if (folder === undefined || sessionId === undefined) return EXIT.failed;
  await files.makeFolder(folder);
  const locks = await createInstanceLocks(`${folder}/refresh`);
  if (!await locks.hold("statusline")) return EXIT.failed;
  try {
    const target = targetOf(await readSettings(ctx));
    const path = pathOfKept(folder, sessionId);
    const { limits } = await readKept(path, target);
    const state = await stateOf(log, limits);
    await using opened = await open();
    const isDone = await importAll(opened, { log, sessionId, limits }).then(() => true, () => false);
    const connection = await opened.connect();
    const response = await connection.send(new Request(`http://purser.invalid${figuresPath(sessionId)}`));
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const figures = await response.json();
    const kept = await readKept(path, target);
    await writeKept(folder, path, { ...kept, figures, at: clock.now(), ...(isDone && { done: state }) });
    await sweepKept(folder, clock.now() - KEPT_MS);
    return EXIT.done;
  } finally {
    await locks.close();
  }
}

async function importAll(
  ctx: CommandContext,
  { log, sessionId, limits }: { log: string; sessionId: string; limits: unknown },
): Promise<void> {
  const connection = await ctx.connect();
  const logs = await findSessionLogs(ctx, hooks, { transcript: log, session: sessionId });
  const { machineName: machine, importer } = logs;
  await importSession(
    ctx,
    connection,
    logs,
    await readFileStates(connection, { machine, importer: importer.name }),
  );
  const windows = readStatusLineWindows({ rate_limits: limits }).map(windowToWire);
  if (windows.length === 0) return;
  const account = await readPlanAccount(AGENT, ctx.env);
  await connection.api.plans.$post({
    json: { agent_id: AGENT, source: "statusline", machine, account, windows },
  });
}
