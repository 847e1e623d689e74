/** Tables of fields: what they read, what they refuse, and that they agree with an interface. */
import { expect, test } from "vitest";
import {
  integerIn,
  listOf,
  named,
  oneOf,
  or,
  orNull,
  text,
} from "../../../runtime/bundle/fields.ts";
import {
  dependent,
  type Fields,
  optional,
  record,
  tagged,
} from "../../../runtime/bundle/record.ts";
import { table } from "../../../runtime/bundle/tables.ts";

interface Lot {
  readonly kind: "small" | "large";
  readonly size: number;
  readonly taken: number;
  readonly label: string | null;
  readonly tags?: readonly string[];
}

const fields: Fields<Lot> = {
  kind: [oneOf(["small", "large"]), "Its kind."],
  size: [named("a size", integerIn(1, 9)), "Its size."],
  taken: [
    dependent<Pick<Lot, "size">, number>(integerIn(0, 9), ({ size }) => integerIn(0, size)),
    "What is taken of it.",
  ],
  label: [orNull(text), "Its label."],
  tags: optional(listOf([1, 2], text), "Its tags."),
};
const lot = record<Lot>(fields);
const valid = { label: "a", size: 3, kind: "small", taken: 3 };

test("a record is read in the order of its table, frozen, without what is left out", () => {
  const read = lot.read(valid, "lot");
  expect(Object.entries(read)).toEqual([
    ["kind", "small"],
    ["size", 3],
    ["taken", 3],
    ["label", "a"],
  ]);
  expect(Object.isFrozen(read)).toBe(true);
  expect(lot.read({ ...valid, tags: ["x"] }, "lot").tags).toEqual(["x"]);
});

test.each<[unknown, string]>([
  [null, "lot: expected a map, got null"],
  [{ ...valid, size: 0 }, "lot.size: expected an integer from 1 to 9, got 0"],
  [{ ...valid, taken: 4 }, "lot.taken: expected an integer from 0 to 3, got 4"],
  [{ ...valid, tags: [] }, "lot.tags: expected an array of 1 to 2, got 0 items"],
  [{ ...valid, tags: ["x", 1] }, "lot.tags[1]: expected a text"],
  [{ ...valid, colour: 1 }, 'only the keys kind, label, size, taken, tags, got the key "colour"'],
  [{ kind: "small" }, 'lot: expected the key "label", got no such key'],
])("refuses %o", (value, message) => {
  expect(() => lot.read(value, "lot")).toThrow(
    expect.objectContaining({
      code: "BUNDLE_SCHEMA",
      message: expect.stringContaining(message),
    }),
  );
});

type Form = { readonly form: "round" } | { readonly form: "square"; readonly side: number };

test("a map is read as the kind that its tag names, and refused as the first kind", () => {
  const form = tagged<"form", Form>("form", {
    round: record<Extract<Form, { form: "round" }>>({ form: [oneOf(["round"]), "It is round."] }),
    square: record<Extract<Form, { form: "square" }>>({
      form: [oneOf(["square"]), "It is square."],
      side: [integerIn(1, 9), "Its side."],
    }),
  });
  expect(form.read({ form: "square", side: 2 }, "form")).toEqual({ form: "square", side: 2 });
  expect(() => form.read({ form: "flat" }, "form")).toThrow('form.form: expected "round"');
  expect(() => form.read(undefined, "form")).toThrow("form: expected a map, got undefined");
});

test("what is said in words is what is read", () => {
  expect(or("auto", integerIn(1, 9)).words).toBe('"auto" or an integer from 1 to 9');
  expect(listOf([1, 4], orNull(lot)).words).toBe("an array of 1 to 4, each nil or a map");
  expect(table("float64", ["rows", "2"]).words).toBe("float64 [rows, 2]");
});

test("a table that does not agree with its interface is a type error", () => {
  const { kind, size, taken, label, tags } = fields;
  // @ts-expect-error a field is forgotten.
  record<Lot>({ kind, size, taken, label });
  // @ts-expect-error a field is of no property.
  record<Lot>({ kind, size, taken, label, tags, colour: label });
  // @ts-expect-error a value is forgotten.
  record<Lot>({ kind: [oneOf(["small"]), "Its kind."], size, taken, label, tags });
  // @ts-expect-error a value is of no property.
  record<Lot>({ kind: [oneOf(["small", "large", "no"]), "Its kind."], size, taken, label, tags });
  // @ts-expect-error null is forgotten.
  record<Lot>({ kind, size, taken, label: [text, "Its label."], tags });
  // @ts-expect-error a property is optional.
  record<Lot>({ kind, size, taken, label, tags: [listOf([1, 2], text), "Its tags."] });
  // @ts-expect-error a property is not optional.
  record<Lot>({ kind, size: optional(integerIn(1, 9), "Its size."), taken, label, tags });
});
