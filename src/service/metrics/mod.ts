/** Metrics of the whole service for Prometheus. */
export { readTotals, totalsStatements } from "./read_totals.ts";
export { EXPOSITION_TYPE, renderFamilies } from "./render_families.ts";
export { serviceFamilies } from "./service_families.ts";
