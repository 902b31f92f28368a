import assert from "node:assert/strict";
import type { Page } from "#dev/playwright_core.ts";

/** Returns the text of the file that a table downloads, which has the name of the table. */
export async function downloaded(page: Page, type: "CSV" | "JSON", table: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: `Download as ${type}: ${table}` }).click(),
  ]);
  const name = table.toLowerCase().replaceAll(" ", "-");
  assert.equal(download.suggestedFilename(), `${name}.${type.toLowerCase()}`);
  return await Deno.readTextFile(await download.path());
}
