/** Parses WWW-Authenticate headers. Source: RFC 9110 §11. */

export interface Challenge {
  /** In lower case, such as `basic` or `bearer`. */
  readonly scheme: string;
  /** Values by lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
}

const MAX_LENGTH = 8192;
const TOKEN = /[\w!#$%&'*+.^`|~-]/;

/** Parses the challenges of a header in their order, skipping invalid parts. */
export function challengesOf(header: string | undefined): Challenge[] {
  const text = (header ?? "").slice(0, MAX_LENGTH);
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = 0;
  while (at < text.length) {
    const name = tokenAt(text, at);
    if (name === "") {
      at++;
      continue;
    }
    const end = at + name.length;
    const equals = skipSpaces(text, end);
    const last = found.at(-1);
    if (text[equals] === "=" && last !== undefined) {
      const { value, next } = valueAt(text, skipSpaces(text, equals + 1));
      last.parameters.set(name.toLowerCase(), value);
      at = next;
    } else {
      found.push({ scheme: name.toLowerCase(), parameters: new Map() });
      at = end;
    }
  }
  return found;
}

function tokenAt(text: string, from: number): string {
  let end = from;
  while (TOKEN.test(text[end] ?? "")) end++;
  return text.slice(from, end);
}

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t") at++;
  return at;
}

/** Reads a token or a quoted text with backslash escapes. */
function valueAt(text: string, from: number): { readonly value: string; readonly next: number } {
  if (text[from] !== '"') {
    const value = tokenAt(text, from);
    return { value, next: Math.max(from + value.length, from + 1) };
  }
  let value = "";
  let at = from + 1;
  while (at < text.length && text[at] !== '"') {
    if (text[at] === "\\") at++;
    value += text[at] ?? "";
    at++;
  }
  return { value, next: at + 1 };
}
