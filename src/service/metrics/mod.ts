/** Metrics of the whole service, for Prometheus. */
export { readTotals, type ServiceTotals, totalsStatements } from "./read_totals.ts";
export { EXPOSITION_TYPE, type Family, renderFamilies, type Sample } from "./render_families.ts";
export { type ProcessState, serviceFamilies } from "./service_families.ts";
