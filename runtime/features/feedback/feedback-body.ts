/** Reads the body of feedback on one request or several. */
import { requestIdOf } from "../../server/requests/trace-context.ts";
import { BadRequest } from "../../server/tensors/bad-request.ts";
import type { Label } from "../../server/tensors/predictions.ts";

/** Limit of the items in one body. */
const MAX_ITEMS = 1024;

/** Feedback on one request. */
export interface FeedbackItem {
  /** Prefix of the fields, such as `feedback[2].`; empty for a single item. */
  readonly path: string;
  readonly id: string;
  /** Per row: its class, or whether the answer was right. */
  readonly truth:
    | { readonly kind: "label"; readonly rows: readonly Label[] }
    | { readonly kind: "correct"; readonly rows: readonly boolean[] };
}

type Fields = Readonly<Record<string, unknown>>;

export interface FeedbackBody {
  readonly items: readonly FeedbackItem[];
  /** Whether the body is a list, some of whose requests may be unknown. */
  readonly isList: boolean;
}

/** @throws BadRequest for the first invalid field. */
export function readFeedback(body: Fields): FeedbackBody {
  const { feedback, ...others } = body;
  if (feedback === undefined) return { items: [itemOf(body, "")], isList: false };
  const [other] = Object.keys(others);
  if (other !== undefined) throw new BadRequest(other, "expected only feedback", others[other]);
  if (!Array.isArray(feedback) || feedback.length === 0 || feedback.length > MAX_ITEMS) {
    const expected = `expected an array of 1 to ${MAX_ITEMS} objects`;
    const found: unknown = Array.isArray(feedback) ? feedback.length : feedback;
    throw new BadRequest("feedback", expected, found);
  }
  const items = feedback.map((item: unknown, index) => {
    const path = `feedback[${index}]`;
    if (!isFields(item)) throw new BadRequest(path, "expected an object", item);
    return itemOf(item, `${path}.`);
  });
  return { items, isList: true };
}

function itemOf({ id, label, correct, ...others }: Fields, path: string): FeedbackItem {
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw new BadRequest(`${path}${other}`, "expected only id, label and correct", others[other]);
  }
  const own = requestIdOf(id);
  if (own === undefined) {
    const expected = "expected a request id of 1 to 128 visible ASCII characters";
    throw new BadRequest(`${path}id`, expected, id);
  }
  if ((label === undefined) === (correct === undefined)) {
    const expected = "expected exactly one of label and correct";
    if (label === undefined) throw new BadRequest(`${path}label`, expected, label);
    throw new BadRequest(`${path}correct`, expected, correct);
  }
  if (label === undefined) {
    const rows = rowsOf(correct, `${path}correct`, booleanOf);
    return { path, id: own, truth: { kind: "correct", rows } };
  }
  return { path, id: own, truth: { kind: "label", rows: rowsOf(label, `${path}label`, labelOf) } };
}

function rowsOf<T>(value: unknown, path: string, read: (value: unknown, path: string) => T): T[] {
  if (!Array.isArray(value)) return [read(value, path)];
  if (value.length === 0) throw new BadRequest(path, "expected one value per row", value);
  return value.map((one: unknown, row) => read(one, `${path}[${row}]`));
}

function labelOf(value: unknown, path: string): Label {
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "number" && Number.isInteger(value)) return value;
  throw new BadRequest(path, "expected the index or the name of a class", value);
}

function booleanOf(value: unknown, path: string): boolean {
  if (typeof value === "boolean") return value;
  throw new BadRequest(path, "expected true or false", value);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
