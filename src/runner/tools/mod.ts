/** Tools by name: the built-in ones and those of modules. */
export { createToolbox, loadToolModules, type Toolbox, type ToolKit } from "./toolbox.ts";
