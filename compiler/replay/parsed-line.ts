/** Parses lines of a decision log; invalid lines are ignored. */
import {
  type ArrivalsLine,
  DECISIONS_FORMAT,
  type DecisionLine,
  type EventsLine,
  type LoggedDecision,
  type LoggedEntry,
  type LogLine,
  type LostLine,
  loggedNumber,
  type OpenedLine,
} from "stratagem-runtime/internal/features/decision-log/log-lines";

type Fields = Readonly<Record<string, unknown>>;

const READ: Readonly<Record<LogLine["kind"], (fields: Fields) => LogLine | null>> = {
  opened: (fields) => (isOpened(fields) ? fields : null),
  decision: (fields) => (isDecision(fields) ? fields : null),
  arrivals: (fields) => (isArrivals(fields) ? fields : null),
  events: eventsOf,
  lost: (fields) => (isLost(fields) ? fields : null),
};

/** Parses a line. @returns null if it is not a line of a decision log. */
export function parsedLine(text: string): LogLine | null {
  const fields = fieldsOf(text);
  const kind = fields?.["kind"];
  return fields !== null && isKind(kind) ? READ[kind](fields) : null;
}

/** @returns null if the text is not a JSON object. */
export function fieldsOf(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function isKind(kind: unknown): kind is LogLine["kind"] {
  return typeof kind === "string" && Object.hasOwn(READ, kind);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOpened(fields: object): fields is OpenedLine {
  return has(fields, {
    ...{ application: isText, revision: isText, method: isText, core: isCount, time: isText },
    ...{ sample: isNumber, maxPending: isCount, mask: isTexts },
    format: (value) => value === DECISIONS_FORMAT,
    hasEvents: (value) => typeof value === "boolean",
  });
}

function isDecision(fields: object): fields is DecisionLine {
  const ofText = { application: isText, model: isText, revision: isText, time: isText };
  const isOptional = (value: unknown) => value === undefined || isText(value);
  return has(fields, {
    ...ofText,
    ...{ id: isOptional, class: isOptional, rows: isNumber },
    decisions: (value) => Array.isArray(value) && value.every(isLoggedDecision),
    outcome: (value) => isFields(value) && isText(value["kind"]),
  });
}

function isLoggedDecision(value: unknown): value is LoggedDecision {
  const isOptional = (one: unknown) => one === undefined || isNumber(one);
  return has(value, {
    ...{ variant: isText, batch: isNumber, atMs: isNumber, level: isOptional, worker: isOptional },
    task: (one) => one === undefined || isText(one),
    places: (one) => one === undefined || isNumbers(one),
    state: (one) => has(one, { slackMs: isNumber, queued: isOptional }),
  });
}

function isArrivals(fields: object): fields is ArrivalsLine {
  return has(fields, {
    ...{ application: isText, model: isText, startUs: isCount, gapsUs: isCounts },
    rows: (value) => value === undefined || isCounts(value),
  });
}

function isLost(fields: object): fields is LostLine {
  return has(fields, { lines: isCount });
}

function eventsOf({ application, core, entries }: Fields): EventsLine | null {
  if (!isText(application) || !isCount(core) || !Array.isArray(entries)) return null;
  const read = entries.map(entryOf);
  const known = read.filter((entry) => entry !== null);
  return known.length === read.length
    ? { kind: "events", application, core, entries: known }
    : null;
}

/** Numbers that JSON cannot represent are strings in a log. */
function entryOf(value: unknown): LoggedEntry | null {
  if (!isFields(value)) return null;
  const fields = Object.entries(value).map(([name, given]) => {
    const isNamed = name === "kind" || name === "revision";
    return [name, isNamed ? given : (loggedNumber(given) ?? given)];
  });
  const entry: unknown = Object.fromEntries(fields);
  return isEntry(entry) ? entry : null;
}

function isEntry(entry: unknown): entry is LoggedEntry {
  if (!isFields(entry) || !isText(entry["kind"])) return false;
  return Object.entries(entry).every(([name, value]) => {
    if (name === "kind" || name === "revision") return isText(value);
    return typeof value === "number" || typeof value === "boolean" || isNumbers(value);
  });
}

type Checks = Readonly<Record<string, (value: unknown) => boolean>>;

function has(value: unknown, checks: Checks): boolean {
  if (!isFields(value)) return false;
  return Object.entries(checks).every(([name, isFine]) => isFine(value[name]));
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(isNumber);
}

function isCounts(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(isCount);
}
