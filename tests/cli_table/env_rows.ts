import type { Row } from "./row.ts";

/** The commands that set up other programs, and run them. */
export const ENV_ROWS: readonly Row[] = [
  {
    line: "gateway env openai --server https://purser.example.com",
    out:
      /^export OPENAI_BASE_URL=https:\/\/purser\.example\.com\/openai\/v1\nexport OPENAI_API_KEY="\$PURSER_API_KEY"\n$/,
    isOffline: true,
  },
  { line: "capture", code: 2, err: /^error: Cannot capture without a COMMAND/, isOffline: true },
  { line: "statusline --check --template {today}", out: /^\$0\n$/ },
  { line: "statusline --check --template {tody}", code: 2, err: /did you mean \{today\}/, isOffline: true },
  { line: "gateway env opnai", code: 2, err: /not one of openai, .*did you mean openai\?/, isOffline: true },
  {
    line: "otlp env gemini --server https://purser.example.com",
    out: /^export GEMINI_TELEMETRY_ENABLED=true\n[^]*="Authorization=Bearer \$PURSER_API_KEY"\n/,
    isOffline: true,
  },
  {
    line: "otlp env claude",
    code: 2,
    err: /not one of claude-code, codex, gemini, node, python/,
    isOffline: true,
  },
];
