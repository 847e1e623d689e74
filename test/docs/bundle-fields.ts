/** Writes the lists of fields into docs/bundle-format.md, from the tables of the bundle readers. */
import type { AnyShape, FieldShape, MapShape } from "../../runtime/bundle/fields.ts";
import { accordionBundle } from "../../runtime/methods/accordion/bundle/fields.ts";
import { inferlineBundle } from "../../runtime/methods/inferline/bundle/fields.ts";
import { lokiBundle } from "../../runtime/methods/loki/bundle/fields.ts";
import { ramsisBundle } from "../../runtime/methods/ramsis/bundle/fields.ts";
import { themisBundle } from "../../runtime/methods/themis/bundle/fields.ts";
import { anchorsOf, type TextLine, wrapped } from "./markdown.ts";

const BUNDLES = new Map<string, AnyShape>([
  ["ramsis", ramsisBundle],
  ["loki", lokiBundle],
  ["inferline", inferlineBundle],
  ["themis", themisBundle],
  ["accordion", accordionBundle],
]);
/** What stands before a list, such as `<!-- fields of loki.tasks -->`, and behind it. */
const BEGIN = /^<!-- fields of ([\w.]+) -->$/;
const END = "<!-- end of fields -->";

/**
 * The page with its lists as the tables say. A map with a list of its own is linked to elsewhere.
 * @throws Error if a list is not closed, names no map, or if a map would be listed twice.
 */
export function withFields(page: string): string {
  const lines = page.split("\n");
  const anchors = listAnchors(lines);
  const listed = new Set<MapShape>();
  const written: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    written.push(line);
    const path = BEGIN.exec(line)?.[1];
    if (path === undefined) continue;
    at = lines.indexOf(END, at);
    if (at < 0) throw new Error(`the list of ${path} is not closed`);
    written.push("", ...linesOf(mapsAt(path), "", { anchors, listed }), "", END);
  }
  return written.join("\n");
}

/** The methods whose bundles are listed from their first field on. */
export function listedMethods(page: string): string[] {
  const paths = page.split("\n").map((line) => BEGIN.exec(line)?.[1] ?? "");
  return paths.filter((path) => BUNDLES.has(path));
}

export const METHODS = [...BUNDLES.keys()];

/** Names of all fields that may be left out, each once, ascending. */
export function optionalFieldNames(): string[] {
  const seen = new Set<MapShape>();
  const names = new Set<string>();
  const open = [...BUNDLES.values()].flatMap(({ maps = [] }) => maps);
  for (const map of open) {
    if (seen.has(map)) continue;
    seen.add(map);
    for (const { name, shape, isOptional } of map.fields) {
      if (isOptional) names.add(name);
      open.push(...(shape.maps ?? []));
    }
  }
  return [...names].sort();
}

interface Page {
  /** The anchor of the heading over a map's list. */
  readonly anchors: ReadonlyMap<MapShape, string>;
  readonly listed: Set<MapShape>;
}

function listAnchors(lines: readonly string[]): Map<MapShape, string> {
  const anchors = new Map<MapShape, string>();
  let anchor = "";
  const text: TextLine[] = [];
  for (const [line, content] of lines.entries()) {
    text.push({ line, text: content });
    if (content.startsWith("#")) anchor = [...anchorsOf(text)].at(-1) ?? "";
    const path = BEGIN.exec(content)?.[1];
    for (const map of path === undefined ? [] : mapsAt(path)) anchors.set(map, anchor);
  }
  return anchors;
}

/** The maps that a path leads to, from a method's bundle on. @throws Error if there is none. */
function mapsAt(path: string): readonly MapShape[] {
  const [method = "", ...names] = path.split(".");
  let maps = BUNDLES.get(method)?.maps ?? [];
  for (const name of names) {
    const fields = maps.flatMap((map) => map.fields);
    maps = fields.find((field) => field.name === name)?.shape.maps ?? [];
  }
  if (maps.length === 0) throw new Error(`${path} is no map of a bundle`);
  return maps;
}

/**
 * Bullets for each field. Of several maps the first field tells them apart; the others are below.
 */
function linesOf(maps: readonly MapShape[], indent: string, page: Page): string[] {
  return maps.flatMap((map) => {
    if (page.listed.has(map)) {
      throw new Error(`give the map of ${map.fields.map(({ name }) => name)} a list of its own`);
    }
    page.listed.add(map);
    return map.fields.flatMap((field, index) =>
      linesOfField(field, maps.length > 1 && index > 0 ? `${indent}  ` : indent, page),
    );
  });
}

function linesOfField(
  { name, shape, meaning, isOptional }: FieldShape,
  indent: string,
  page: Page,
): string[] {
  const { maps = [] } = shape;
  const [first] = maps;
  const anchor = first && page.anchors.get(first);
  const words = inMarkdown(shape.words);
  const linked = anchor === undefined ? words : words.replace(/map$/, `[$&](#${anchor})`);
  const bullet = `- \`${name}\`${isOptional ? "?" : ""}: ${linked}. ${meaning}`;
  const below = anchor === undefined ? linesOf(maps, `${indent}  `, page) : [];
  return [...wrapped(bullet, indent), ...below];
}

/** Shorter words for what a shape allows, in their order. */
const SHORTER: readonly [RegExp, string][] = [
  [/\bnil or (.*)/, "$1 or nil"],
  [/\b(number|integer) from (\S+) to (\S+)/g, "$1 $2–$3"],
  [/\bnumber above (\S+), at most (\S+)/g, "number > $1, ≤ $2"],
  [/\bnumber above (\S+) and below (\S+)/g, "number > $1, < $2"],
  [/\barray of (\d+) to (\d+), each /g, "array[$1–$2] of "],
  [/\barray of (\d+): /g, "array[$1] of "],
  [/\ba map, each value /g, "map of "],
  [/\btrue or false/g, "boolean"],
  [/" or "/g, '", "'],
  [/\ban? (?=array|map|number|integer|text|time|ratio|rate|digest|throughput|URL|device)/g, ""],
  [/\ba (?=relative path|file name|specifier|letter)/g, ""],
];

/** Texts as code, large numbers as people write them. */
function inMarkdown(words: string): string {
  const short = SHORTER.reduce((text, [from, to]) => text.replace(from, to), words);
  return short
    .replace(/"[^"]*"/g, (text) => `\`${text}\``)
    .replace(/(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]\d+)?(?!\w)/g, (digits) =>
      numberTold(Number(digits)),
    );
}

const POWERS_OF_TWO = new Map([
  [2 ** 31, "2³¹"],
  [2 ** 32 - 1, "2³² − 1"],
  [Number.MAX_SAFE_INTEGER, "2⁵³ − 1"],
]);

function numberTold(value: number): string {
  if (value < 0) return `−${numberTold(-value)}`;
  const power = Math.round(Math.log10(value));
  if ((value >= 1e9 || (value > 0 && value < 1e-3)) && value === Number(`1e${power}`)) {
    const digits = [...`${Math.abs(power)}`].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);
    return `10${power < 0 ? "⁻" : ""}${digits.join("")}`;
  }
  const plain = value < 10_000 ? `${value}` : value.toLocaleString("en-US");
  return POWERS_OF_TWO.get(value) ?? plain;
}
