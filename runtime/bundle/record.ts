/**
 * Records: a kind of map is a table that states each field once, with its name, shape and meaning.
 * It defines reading and refusing, is checked against the interface, and generates
 * docs/bundle-format.md.
 */
import { type AnyShape, type FieldShape, keysOf, type Shape } from "./fields.ts";

/** The shape of a field, and its meaning in one or two sentences. */
export type Field<Value> = readonly [shape: Shape<Value>, meaning: string];
type OptionalField<Value> = readonly [shape: Shape<Value>, meaning: string, "optional"];

/** One entry for each property of an interface, of exactly its type; in the order of reading. */
export type Fields<R> = {
  readonly [Name in keyof R]-?: object extends Pick<R, Name>
    ? OptionalField<Exclude<R[Name], undefined>>
    : Field<R[Name]>;
};

/** A field whose key may be left out. */
export function optional<Value>(shape: Shape<Value>, meaning: string): OptionalField<Value> {
  return [shape, meaning, "optional"];
}

/**
 * A map with all of these fields and no others; optional ones may be missing.
 * @param last fields that messages list after all others, which they list in ascending order.
 */
export function record<R extends object>(
  table: Fields<R>,
  last: readonly (keyof R & string)[] = [],
): Shape<R> {
  const fields = fieldsOf(table);
  const isLast = ({ name }: FieldShape) => last.some((each) => each === name);
  const namesOf = (some: readonly FieldShape[]) => some.map(({ name }) => name).sort();
  const required = fields.filter(({ isOptional }) => !isOptional);
  const added = fields.filter((field) => field.isOptional && !isLast(field));
  const mapAt = keysOf(namesOf(required), [...namesOf(added), ...last]);
  return {
    words: "a map",
    maps: [{ fields }],
    read(value, path) {
      const found = mapAt(value, path);
      const prefix = path === "" ? "" : `${path}.`;
      const read: Record<string, unknown> = {};
      for (const { name, shape, isOptional } of fields) {
        const field = found[name];
        if (field === undefined && isOptional) continue;
        read[name] = shape.read(field, prefix + name, read);
      }
      return Object.freeze(read) as R;
    },
  };
}

function fieldsOf<R extends object>(table: Fields<R>): readonly FieldShape[] {
  const entries = Object.entries<readonly [AnyShape, string, "optional"?]>(table);
  return entries.map(([name, [shape, meaning, mark]]) => {
    return { name, shape, meaning, isOptional: mark === "optional" };
  });
}

/** A map with these keys, each of the same shape. */
export function mapOf<Value>(
  keys: readonly string[],
  item: Shape<Value>,
): Shape<Readonly<Record<string, Value>>> {
  const mapAt = keysOf(keys);
  return {
    ...item,
    words: `a map, each value ${item.words}`,
    read(value, path) {
      const found = mapAt(value, path);
      const items = keys.map((key) => [key, item.read(found[key], `${path}.${key}`)] as const);
      return Object.freeze(Object.fromEntries(items));
    },
  };
}

/**
 * A map of one of several kinds, chosen by the text in one field. A value with an unknown text is
 * read, and refused, as the first kind.
 */
export function tagged<Tag extends string, R extends Readonly<Record<Tag, string>>>(
  tag: Tag,
  kinds: { readonly [Name in R[Tag]]: Shape<Extract<R, Readonly<Record<Tag, Name>>>> },
): Shape<R> {
  const shapes = new Map(Object.entries(kinds as Readonly<Record<string, AnyShape>>));
  const [first] = shapes.values();
  if (first === undefined) throw new RangeError("there is a kind");
  return {
    words: "a map",
    maps: [...shapes.values()].flatMap(({ maps = [] }) => maps),
    read(value, path) {
      const found = (value as Readonly<Record<string, unknown>> | null | undefined)?.[tag];
      return (shapes.get(found as string) ?? first).read(value, path) as R;
    },
  };
}

/**
 * A shape that depends on fields of the same table which precede it.
 * @param documented shape that the format page describes.
 */
export function dependent<Before extends object, Value>(
  documented: Shape<Value>,
  shapeAfter: (before: Before) => Shape<Value>,
): Shape<Value> {
  return {
    ...documented,
    read(value, path, before) {
      return shapeAfter(before as Before).read(value, path);
    },
  };
}
