import { type Client, KEY } from "./print_client.ts";

/** The key. Its blank isn't encoded, since Claude Code decodes nothing; the exporters of Node.js, Python and Rust take both. */
const HEADERS = `Authorization=Bearer ${KEY}`;

/** Those of one signal win over those of all, so none may be left. */
const OF_ONE_SIGNAL = Object.fromEntries(
  ["TRACES", "LOGS"].flatMap((signal) =>
    ["ENDPOINT", "PROTOCOL", "HEADERS"].map((name) => [`OTEL_EXPORTER_OTLP_${signal}_${name}`, null])
  ),
);

/** A program of one's own: every span is sent, within a second, and none is dropped in a burst. Its metrics would repeat the counts. */
const program = (url: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
  OTEL_EXPORTER_OTLP_HEADERS: HEADERS,
  ...OF_ONE_SIGNAL,
  OTEL_TRACES_EXPORTER: "otlp",
  OTEL_LOGS_EXPORTER: "otlp",
  OTEL_METRICS_EXPORTER: "none",
  OTEL_TRACES_SAMPLER: "always_on",
  OTEL_BSP_SCHEDULE_DELAY: "1000",
  OTEL_BSP_MAX_QUEUE_SIZE: "20000",
  OTEL_BLRP_SCHEDULE_DELAY: "1000",
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: null,
  OPENINFERENCE_HIDE_INPUTS: "true",
  TRACELOOP_TRACE_CONTENT: "false",
});

/** Without that of the process: it sends the command line, which may have the prompt or a secret. */
const DETECTORS = { OTEL_NODE_RESOURCE_DETECTORS: "env,host" };

const NAMED = "Name the program by OTEL_SERVICE_NAME: it is the agent of calls that name none";

/** Every program that the command and the documents have settings for, as recordings of them showed that no count is lost. */
export const OTLP_PROGRAMS: readonly Client[] = [
  {
    name: "claude-code",
    title: "Claude Code",
    // Its logs have every call, with the lifetimes of cache writes; its spans, still in beta, repeat them without.
    variables: (url) => ({
      CLAUDE_CODE_ENABLE_TELEMETRY: "1",
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
      OTEL_EXPORTER_OTLP_HEADERS: HEADERS,
      ...OF_ONE_SIGNAL,
      OTEL_LOGS_EXPORTER: "otlp",
      OTEL_METRICS_EXPORTER: "none",
      OTEL_TRACES_EXPORTER: "none",
      OTEL_LOGS_EXPORT_INTERVAL: "1000",
      // What is left is sent when it ends; it waits two seconds otherwise.
      CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS: "10000",
      OTEL_LOG_USER_PROMPTS: null,
    }),
  },
  {
    name: "codex",
    title: "Codex",
    // Its spans lack compactions and calls that were running when it ended, and a call has hundreds of them. Its config file
    // takes no variables.
    variables: () => ({ OTEL_EXPORTER_OTLP_HEADERS: HEADERS, ...OF_ONE_SIGNAL }),
    file: {
      path: "~/.codex/config.toml",
      text: (url) =>
        `[otel]
log_user_prompt = false
trace_exporter = "none"
metrics_exporter = "none"

[otel.exporter.otlp-http]
endpoint = "${url}/v1/logs"
protocol = "binary"
`,
    },
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    // Its spans lack thoughts and cache reads, which its logs have. It sends all signals or none.
    variables: (url) => ({
      GEMINI_TELEMETRY_ENABLED: "true",
      GEMINI_TELEMETRY_TARGET: "local",
      GEMINI_TELEMETRY_OTLP_ENDPOINT: url,
      GEMINI_TELEMETRY_OTLP_PROTOCOL: "http",
      GEMINI_TELEMETRY_LOG_PROMPTS: "false",
      OTEL_EXPORTER_OTLP_HEADERS: HEADERS,
      ...OF_ONE_SIGNAL,
      ...DETECTORS,
    }),
    file: {
      path: "~/.gemini/settings.json",
      text: (url) =>
        `${
          JSON.stringify(
            {
              telemetry: {
                enabled: true,
                target: "local",
                otlpEndpoint: url,
                otlpProtocol: "http",
                logPrompts: false,
              },
            },
            null,
            2,
          )
        }\n`,
    },
  },
  {
    name: "node",
    title: "Node.js",
    variables: (url) => ({ ...program(url), ...DETECTORS }),
    note: NAMED,
  },
  { name: "python", title: "Python", variables: program, note: NAMED },
];
