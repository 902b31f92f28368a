/** The ledger: stores booked calls, rolls them up, and sums and lists costs. */
export {
  addCalendar,
  calendarLogic,
  daysIn,
  DROP_CALENDARS,
  extendCalendars,
  hasToExtend,
  KNOWN_UNTIL,
  readWindows,
  startIn,
  windowEnd,
  windowStart,
} from "./calendars.ts";
export { listCalls, recordCalls, recordPrices, TOKEN_COLUMNS, toModelCall } from "./calls.ts";
export {
  type AnswerIds,
  type BilledUpstream,
  idsIn,
  listUpstreams,
  readBilledUpstreams,
  recordUpstreams,
  setUpstreamKey,
  type Upstream,
  upstreamIdOf,
} from "./upstreams.ts";
export { sumSteps, toCostEvent } from "./cost_events.ts";
export { partsFromWire, toOtherModels, usageFromWire } from "./other_models.ts";
export { MAX_AHEAD_MS, type ModelCall, valueOf } from "./model_call.ts";
export { ENTRY, isStanding, withAdjustments, withEntries } from "./adjustments.ts";
export { detailsOf } from "./call_details.ts";
export { readStatedApart } from "./stated_costs.ts";
export { type CachingGroup, describeCaching, priceRows, whatIfNotes } from "./estimates.ts";
export type { CostEvent, TokenUsage } from "../contract/usage.ts";
export {
  costUsd,
  hasPartlyPricedCall,
  planUsd,
  readAgentUsage,
  readRunUsage,
  readRunUsages,
  readSessionModels,
  readSessionsOfRuns,
  readSessionUsage,
  sessionUsageStatement,
  toSessionUsage,
} from "./token_usage.ts";
export {
  ADD_TO_COUNTER,
  atMost64Bits,
  COST_COLUMNS,
  countersOf,
  counterSum,
  counterValue,
  countQuiet,
  countWithoutRules,
  DECIDED_POSITION,
  HAS_ENABLED_RULES,
  IS_UNDECIDED,
  isInScope,
  isShaped,
  markQuiet,
  MOVE_COUNTERS,
  MOVE_DECIDED_COUNTERS,
  runCost,
  sumOfAmounts,
  sumOfCalls,
  sumOfCounters,
  sumOfKind,
  sumOfTail,
  sweepWindows,
  TAIL_WITH_RULES,
  UNDECIDED,
} from "./spend_counters.ts";
export { addShapes, DROP_SHAPES, shapeLogic } from "./spend_shapes.ts";
export {
  ALL_CALLS,
  ALL_SEEING,
  amountIn,
  BY,
  callScopes,
  columnOf,
  type Counted,
  COUNTED_COLUMNS,
  countedOf,
  countedValuesOf,
  counterIn,
  entityOf,
  idInScope,
  idOfScope,
  IN_WINDOWS,
  isOfPlan,
  isScopeBy,
  isScopeOf,
  keyScopeIn,
  kindOfScope,
  nameAfter,
  ownsScope,
  partsBy,
  rangeOf,
  SCOPE_COLUMNS,
  scopeBy,
  scopeFields,
  scopeIn,
  scopeOf,
  type Scopes,
  scopesOf,
  scopeSql,
  scopeText,
  scopeValuesOf,
  SEES_NOTHING,
  shapedScopeOf,
  shapeIn,
  shapeOf,
  STORED,
  subjectsIn,
  toName,
  treeOf,
  type Viewer,
  viewerOf,
  widthOf,
} from "./scopes/mod.ts";
export {
  firstAgentsOf,
  IS_LOWER_BOUND,
  MACHINE,
  rollUpTotals,
  tailEntries,
  textAt,
  TOTALS_POSITION,
  usageIncrements,
  usageOfIds,
  usageViews,
} from "./usage_sql.ts";
export { readRootSession, readSessionTree } from "./session_tree.ts";
export { type CostFilter, type CostScope, isEntity, isTimed } from "./cost_filter.ts";
export { describePace, type Pace, PACED_WINDOWS, readMinutes, readPaces } from "./pace.ts";
export { forecastCosts } from "./forecast_costs.ts";
export {
  type IndexedCalls,
  keyColumnsOf,
  listCosts,
  listTopCosts,
  readCostTotal,
  readStartOfNewest,
} from "./list_costs.ts";
export { listTagKeys, MAX_TAGGED_CALLS } from "./tag_keys.ts";
export { ALL_TAGS } from "./cost_conditions.ts";
export type { CostRow } from "../contract/costs.ts";
