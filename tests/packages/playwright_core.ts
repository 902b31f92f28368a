import "./hide_proc.ts";
export {
  type Browser,
  type BrowserContext,
  chromium,
  type ConsoleMessage,
  type Page,
  type Request,
} from "npm:playwright-core@1.65.1";
