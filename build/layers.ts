/** The folders of `src/` by layer, lowest first: a folder imports those of the layers before its own only. */
export const LAYERS: readonly Readonly<Record<string, string>>[] = [
  {
    kernel: "money, clock, ids, log, errors, files, JSON: no Purser concept, no database",
  },
  {
    contract:
      "the wire format: one schema per resource, each enumeration and limit once; tags; a log's steps (`replay/`)",
  },
  {
    config:
      "settings from options, environment, config file and profiles; the only reader of the environment",
    store:
      "the database port, its three drivers, the write queue, migrations, tables, the statements of authored resources",
    pricing: "the price catalog and its updates, overrides, usage of each provider, cost of a call",
    bus: "events within one process",
    telemetry: "OpenTelemetry spans and metrics",
    redaction: "finds and replaces credentials in text: by format, and configured secrets by value",
    ui:
      "the dashboard: a static page in Preact, one more client of the API; from `contract/` it imports only types, and files that use no zod",
  },
  {
    ledger:
      "rows of calls, the totals of reports, the counters on which rules and budgets are decided; `scopes/`: the " +
      "dimensions of spending, and what a key may see",
  },
  {
    agents: "stored definitions of agents",
    price_rows: "the prices that people set",
    anomalies: "the anomalies that the monitor has recorded",
    keys:
      "API keys: creation, authentication, cache; `idempotency/`: claims of requests under an `Idempotency-Key`",
  },
  {
    sessions: "sessions and the life of a run in the database: start, append, lease, end, recover, cancel",
    budgets: "budgets, their raises and states; the decision on the next call, and its reservation",
    delivery: "the outbox, its dispatcher, the retry policy, and the contract of channels",
  },
  {
    alerts: "alert rules, their firing (triggers), the history",
    monitor: "detection of anomalies in the behavior of agents",
  },
  {
    calls:
      "the life of a model call, the same for every caller; the commit that books it, the spool, and the roll-up that follows",
    plans:
      "the windows of plans, such as subscriptions, as their providers measure them; `sources/`: their readers",
    snapshots: "export and import of a session as one document",
  },
  {
    runner: "the loop of a run: model, tools, metering",
    gateway: "calls of any client, passed on to the providers: paths, wires, streams, attribution",
    ingest:
      "calls that others have made and recorded; `logs/`: importers of the logs of coding agents, and their import; `otlp/`: the telemetry that programs export",
  },
  {
    bills: "the bills of providers, and their comparison with the calls of the ledger",
  },
  {
    service: "composition of a process or a request, its background work, doctor and metrics",
  },
  {
    http: "the HTTP API: routes, access check, problems, OpenAPI document",
  },
  {
    client:
      "a typed client of the API, over the network or in this process; `library/` has the typed reads of a program",
  },
  {
    cli: "the command line",
    edge: "the API on platforms where nothing runs between requests",
  },
];

/** Folders of which any file may be imported; others by their `mod.ts` or by that of one of their own folders. */
export const WITHOUT_MOD: readonly string[] = ["kernel", "contract"];
