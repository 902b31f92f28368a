import {
  createScanner,
  findNodeAtLocation,
  type JSONPath,
  type Node,
  parseTree,
  stripComments,
} from "jsonc-parser";
import { parseJsonc } from "../../../kernel/json/parse_jsonc.ts";
import { isRecord } from "../../../kernel/records.ts";

/*
 * Edits the text of an agent's settings: JSON, with comments or without. Whatever is not the gate's own stays as it is written.
 * Each function throws an error that says why settings can't be edited.
 */

/** Values by the name of a setting or an event. */
type Named = Readonly<Record<string, unknown>>;

/** Returns whether a hook in settings is the gate's own. */
export type IsOwn = (hook: unknown) => boolean;

/**
 * Returns settings with hooks, each the item of the list of an event, in place of earlier ones of the gate. `rest` are settings
 * that are added where they are missing.
 */
export function addHooks(text: string, hooks: Named, isOwn: IsOwn, rest: Named = {}): string {
  let edited = text.trim() === "" ? "{}\n" : text;
  for (const [key, value] of Object.entries(rest)) {
    if (!Object.hasOwn(settingsOf(edited), key)) edited = insert(edited, [], key, value);
  }
  for (const [event, hook] of Object.entries(hooks)) {
    const own = findOwn(edited, isOwn).filter(([, name]) => name === event);
    if (own.length === 1 && JSON.stringify(valueAt(edited, own[0]!.slice(0, 3))) === JSON.stringify(hook)) {
      continue;
    }
    edited = removeAll(edited, own);
    const settings = settingsOf(edited);
    if (!Object.hasOwn(settings, "hooks")) edited = insert(edited, [], "hooks", { [event]: [hook] });
    else if (!Object.hasOwn(hooksOf(settings), event)) edited = insert(edited, ["hooks"], event, [hook]);
    else edited = insert(edited, ["hooks", event], undefined, hook);
  }
  edited = removeAll(
    edited,
    findOwn(edited, isOwn).filter(([, event]) => !Object.hasOwn(hooks, String(event))),
  );
  if (text.trim() !== "" && othersIn(edited, isOwn, rest) !== othersIn(text, isOwn, rest)) {
    throw new Error("other settings would change");
  }
  return edited;
}

/** Returns settings with a value under a name, in place of an earlier one; without a value, none has the name. */
export function setSetting(text: string, name: string, value: unknown): string {
  const settings = text.trim() === "" ? "{}\n" : text;
  checkOnce(settings, []);
  const without = Object.hasOwn(settingsOf(settings), name) ? remove(settings, [name]) : settings;
  return value === undefined ? without : insert(without, [], name, value);
}

/** Returns the value that settings have under a name; undefined without one. */
export function settingIn(text: string, name: string): unknown {
  return text.trim() === "" ? undefined : settingsOf(text)[name];
}

/** Returns settings without the hooks of the gate, and without the lists and objects that have become empty by it. */
export function removeHooks(text: string, isOwn: IsOwn): string {
  return text.trim() === "" ? text : removeAll(text, findOwn(text, isOwn));
}

/** Returns all settings that are not the gate's own, but for empty lists of hooks. */
function othersIn(text: string, isOwn: IsOwn, rest: Named): string {
  const settings = settingsOf(removeHooks(text, isOwn));
  const { hooks: _, ...others } = settings;
  const hooks = Object.entries(hooksOf(settings)).filter(([, items]) => (items as unknown[]).length > 0);
  return JSON.stringify([{ ...rest, ...others }, hooks]);
}

/** Returns the gate's own hooks, each by its event, as `addHooks` takes them. */
export function ownHooks(text: string, isOwn: IsOwn): Named {
  return Object.fromEntries(
    findOwn(text, isOwn).map((path) => [path[1], valueAt(text, path.slice(0, 3))]),
  );
}

/** Returns the settings as a value. */
function settingsOf(text: string): Record<string, unknown> {
  const settings = parseJsonc(text, (reason) => new Error(reason));
  if (!isRecord(settings)) throw new Error("it is no JSON object");
  return settings;
}

function hooksOf(settings: Record<string, unknown>): Record<string, unknown> {
  const hooks = Object.hasOwn(settings, "hooks") ? settings.hooks : {};
  if (!isRecord(hooks)) throw new Error("its hooks are no JSON object");
  const bad = Object.keys(hooks).find((event) => !Array.isArray(hooks[event]));
  if (bad !== undefined) throw new Error(`its hooks of ${bad} are no list`);
  return hooks;
}

/** Returns the paths of the gate's own hooks: items of the list of an event, or of the `hooks` of one. */
function findOwn(text: string, isOwn: IsOwn): JSONPath[] {
  checkOnce(text, []);
  checkOnce(text, ["hooks"]);
  return Object.entries(hooksOf(settingsOf(text))).flatMap(([event, items]) =>
    (items as unknown[]).flatMap((item, at): JSONPath[] => {
      if (isOwn(item)) return [["hooks", event, at]];
      if (!isRecord(item) || !Array.isArray(item.hooks)) return [];
      return item.hooks.flatMap((hook, inner) => isOwn(hook) ? [["hooks", event, at, "hooks", inner]] : []);
    })
  );
}

/** Throws if an object has a key twice, of which agents may read either. */
function checkOnce(text: string, path: JSONPath): void {
  const keys = nodeAt(text, path)?.children?.map(({ children }) => children?.[0]?.value) ?? [];
  const twice = keys.find((key, index) => key !== undefined && keys.indexOf(key) !== index);
  if (twice !== undefined) throw new Error(`it has the key ${twice} twice`);
}

function valueAt(text: string, path: JSONPath): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], settingsOf(text));
}

/** Removes hooks, the last first, each with what has nothing else in it, not even a comment. */
function removeAll(text: string, paths: readonly JSONPath[]): string {
  return paths.toReversed().reduce((edited, path) => {
    const isAlone = (parent: JSONPath) => {
      const { offset, length, children } = nodeAt(edited, parent)!;
      const written = edited.slice(offset, offset + length);
      return children?.length === 1 && stripComments(written) === written;
    };
    let at = path;
    // A group without hooks is none, whatever it matches.
    if (at.length === 5 && isAlone(at.slice(0, 4))) at = at.slice(0, 3);
    if (at.length === 3 && isAlone(at.slice(0, 2))) at = at.slice(0, 2);
    if (at.length === 2 && isAlone(at.slice(0, 1))) at = at.slice(0, 1);
    return remove(edited, at);
  }, text);
}

function nodeAt(text: string, path: JSONPath): Node | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return root && findNodeAtLocation(root, path);
}

const endOf = ({ offset, length }: Node) => offset + length;
const isBlank = (character: string | undefined) => character !== undefined && /\s/.test(character);

/** Returns the end of a text without the white space after it. */
function trimEnd(text: string, end: number): number {
  while (isBlank(text[end - 1])) end--;
  return end;
}

/** Returns the offset of the comma between two offsets with no value between them; undefined without one. */
function commaIn(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text.slice(0, to), true);
  scanner.setPosition(from);
  scanner.scan();
  const at = scanner.getTokenOffset();
  return text[at] === "," && at < to ? at : undefined;
}

/** Adds a property to an object, or an item to a list, as its last one, in the style of the text. */
function insert(text: string, path: JSONPath, key: string | undefined, value: unknown): string {
  const container = nodeAt(text, path)!;
  const children = container.children ?? [];
  const close = endOf(container) - 1;
  const [, eol = "\n"] = /(\r?\n)/.exec(text) ?? [];
  const [, unit = "  "] = /\n([ \t]+)\S/.exec(text) ?? [];
  const isFlat = !text.slice(container.offset, close).includes("\n") &&
    (children.length > 0 || path.length > 0);
  const base = eol + unit.repeat(path.length + 1);
  const written = isFlat ? JSON.stringify(value) : JSON.stringify(value, null, unit).replaceAll("\n", base);
  const item = (key === undefined ? "" : `${JSON.stringify(key)}: `) + written;
  const at = trimEnd(text, close);
  const last = children.at(-1);
  if (!last) {
    const after = text.slice(at, close).includes("\n") || isFlat
      ? text.slice(at)
      : eol + unit.repeat(path.length) + text.slice(close);
    return text.slice(0, at) + (isFlat ? "" : base) + item + after;
  }
  const hasComma = commaIn(text, endOf(last), close) !== undefined;
  return text.slice(0, endOf(last)) + (hasComma ? "" : ",") + text.slice(endOf(last), at) +
    (isFlat ? " " : base) + item +
    text.slice(at);
}

/** Removes a property or an item with one comma, and with the white space before it. */
function remove(text: string, path: JSONPath): string {
  const value = nodeAt(text, path)!;
  const item = value.parent?.type === "property" ? value.parent : value;
  const siblings = item.parent!.children!;
  const index = siblings.indexOf(item);
  const before = siblings[index - 1];
  const [start, end] = [item.offset, endOf(item)];
  const next = siblings[index + 1];
  const comma = before
    ? commaIn(text, endOf(before), start)!
    : commaIn(text, end, next ? next.offset : endOf(item.parent!) - 1);
  const cut = trimEnd(text, start);
  const rest = before || comma === undefined
    ? text.slice(end)
    : text.slice(end, comma) + text.slice(comma + 1);
  const kept = before ? text.slice(0, comma) + text.slice(comma! + 1, cut) : text.slice(0, cut);
  // The end of a line is also that of a comment.
  const isInComment = /\/\/.*$/.test(kept) && !/^[ \t]*(?:\r?\n|$)/.test(rest);
  return kept + (isInComment ? text.slice(cut, start) : "") + rest;
}
