export {
  createConfig,
  lintFromString,
  loadConfig,
  type NormalizedProblem,
} from "npm:@redocly/openapi-core@2.64.0";
