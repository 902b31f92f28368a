import assert from "node:assert/strict";
import { LOG_FORMATS } from "../kernel/log.ts";
import { memoryTerminal } from "../../tests/harness/memory_terminal.ts";
import { createCommandLog } from "./run_command.ts";

const TEXT = "info: Answered a request (method: GET, route: /costs, status: 200, duration_ms: 1.5)\n";
const JSON_LINE =
  /^\{"level":"info","at":"[^"]+","message":"Answered a request","method":"GET","route":"\/costs","status":200,"duration_ms":1\.5\}\n$/;

Deno.test("createCommandLog() writes sentences on a terminal and JSON elsewhere, unless it is set", () => {
  for (const format of LOG_FORMATS) {
    for (const columns of [80, undefined]) {
      const terminal = memoryTerminal({ columns });
      const log = createCommandLog({ level: "info", format, stderr: terminal.stderr });
      log.debug("Not important enough");
      log.info("Answered a request", { method: "GET", route: "/costs", status: 200, duration_ms: 1.5 });
      const isText = format === "text" || (format === "auto" && columns !== undefined);
      if (isText) assert.equal(terminal.err, TEXT);
      else assert.match(terminal.err, JSON_LINE);
    }
  }
});
