/**
 * Labels of sites, such as `site=berlin,tier=edge`: properties of a site, or the scope of a bundle.
 */

export type Labels = Readonly<Record<string, string>>;

export const LABELS_EXPECTED =
  "labels such as site=berlin,tier=edge, each name once, of letters, digits and . _ / -";

const MAX_LABELS = 32;
const WORD = /^[\w./-]{1,63}$/;

/** @param value text of that form, or a map of strings. @returns undefined for anything else. */
export function labelsOf(value: unknown): Labels | undefined {
  const pairs = typeof value === "string" ? pairsOf(value) : entriesOf(value);
  if (pairs === undefined || pairs.length > MAX_LABELS) return undefined;
  const areWords = pairs.every(([name, text]) => isWord(name) && isWord(text));
  const names = new Set(pairs.map(([name]) => name));
  if (!areWords || names.size !== pairs.length) return undefined;
  return Object.freeze(Object.fromEntries(pairs as [string, string][]));
}

/** Returns the labels in the order of their names; an empty text for no labels. */
export function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return pairs.sort().join(",");
}

/**
 * Whether a site has all labels of a scope, each with its value; an empty scope includes all sites.
 */
export function isInScope(scope: Labels, site: Labels): boolean {
  return Object.entries(scope).every(([name, value]) => {
    return Object.hasOwn(site, name) && site[name] === value;
  });
}

function pairsOf(text: string): (readonly [string, string])[] | undefined {
  const pairs: (readonly [string, string])[] = [];
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    if (at < 0) return undefined;
    pairs.push([pair.slice(0, at).trim(), pair.slice(at + 1).trim()]);
  }
  return pairs;
}

function entriesOf(value: unknown): (readonly [string, unknown])[] | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.entries(value);
}

function isWord(value: unknown): boolean {
  return typeof value === "string" && WORD.test(value);
}
