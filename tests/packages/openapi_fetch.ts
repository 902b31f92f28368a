import "npm:openapi-fetch@0.17.0";

/** The path of its module, for a project that has it in `node_modules`. */
export const OPENAPI_FETCH = import.meta.resolve("npm:openapi-fetch@0.17.0");
