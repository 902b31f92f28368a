import { PurserError } from "../../kernel/errors.ts";
import type { CommandContext } from "../command.ts";
import { type Answer, nextCursor } from "./print_answer.ts";

/** The most rows of a page. */
const MAX_PAGE = 1_000;

/** Prints the API's CSV of a list: without a limit all its pages, under the header of the first. */
export async function printCsvPages(
  ctx: CommandContext,
  limit: number | undefined,
  read: (
    page: { limit: string; cursor: string | undefined },
    options: { headers: { accept: string } },
  ) => Promise<Answer<unknown> & { headers: Headers }>,
  from?: string,
): Promise<void> {
  const { stdout } = ctx.terminal;
  let cursor = from;
  let isFirst = true;
  do {
    const page = { limit: String(limit ?? MAX_PAGE), cursor };
    const answer = await read(page, { headers: { accept: "text/csv" } });
    if (!answer.headers.get("content-type")?.startsWith("text/csv")) {
      throw new PurserError(
        "unavailable",
        "Cannot print CSV: this version of the server doesn't support it; upgrade the server",
      );
    }
    const text = await answer.text();
    stdout.write(isFirst ? text : text.slice(text.indexOf("\r\n") + 2), "document");
    isFirst = false;
    cursor = nextCursor(answer);
  } while (cursor !== undefined && limit === undefined);
  if (cursor !== undefined) ctx.say("There are more rows; all of them without --limit");
}
