// @ts-types="./parse_prometheus.d.ts"
export { default } from "npm:parse-prometheus-text-format@1.1.1";
