/** Models by name: the built-in providers, the config's servers and the library's own. */
export { checkModelName, createModelResolver, type ModelResolver, type ResolvedModel } from "./models.ts";
