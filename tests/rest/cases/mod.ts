import type { RestCase } from "../rest_case.ts";
import { agentCases } from "./agents.ts";
import { alertCases } from "./alerts.ts";
import { anomalyCases } from "./anomalies.ts";
import { budgetCases } from "./budgets.ts";
import { channelCases } from "./channels.ts";
import { costCases } from "./costs.ts";
import { eventCases } from "./events.ts";
import { exportCases } from "./exports.ts";
import { gatewayCases } from "./gateway.ts";
import { listCases } from "./lists.ts";
import { billCases } from "./bills.ts";
import { importCases } from "./imports.ts";
import { liveCases } from "./live.ts";
import { keyCases } from "./keys.ts";
import { otlpCases } from "./otlp.ts";
import { planCases } from "./plans.ts";
import { priceCases } from "./prices.ts";
import { reconciliationCases } from "./reconciliations.ts";
import { refusalCases } from "./refusals.ts";
import { runCases } from "./runs.ts";
import { serviceCases } from "./service.ts";
import { sessionCases } from "./sessions.ts";
import { snapshotCases } from "./snapshots.ts";
import { tagCases } from "./tags.ts";

/** All cases of the API, by resource. */
export const restCases: Readonly<Record<string, readonly RestCase[]>> = {
  agents: agentCases,
  runs: runCases,
  sessions: sessionCases,
  costs: costCases,
  bills: billCases,
  imports: importCases,
  exports: exportCases,
  plans: planCases,
  otlp: otlpCases,
  tags: tagCases,
  prices: priceCases,
  reconciliations: reconciliationCases,
  snapshots: snapshotCases,
  budgets: budgetCases,
  alerts: alertCases,
  channels: channelCases,
  anomalies: anomalyCases,
  events: eventCases,
  live: liveCases,
  lists: listCases,
  keys: keyCases,
  gateway: gatewayCases,
  service: serviceCases,
  refusals: refusalCases,
};
