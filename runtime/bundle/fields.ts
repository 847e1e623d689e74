/** Shapes of single values: each says in words what is allowed, and reads or refuses a value. */
import { clip, refuse, refuseAs, UNPRINTABLE } from "./refuse.ts";

/** A shape of values. The type is exact: a shape of fewer values is not a shape of more. */
export interface Shape<in out Value> extends AnyShape {
  /**
   * Returns the value itself, or a frozen copy in memory of its own.
   * @param path position of the value, "" for the payload. @param before fields of the same map
   * that were read before it. @throws BundleError BUNDLE_SCHEMA
   */
  read(value: unknown, path: string, before?: object): Value;
}

export interface AnyShape {
  /** Allowed values, in the words of the format page. */
  readonly words: string;
  /** Range of the number, or of the numbers that its items are; absent for other shapes. */
  readonly range?: readonly [min: number, max: number];
  /** The maps that a value may consist of, if any; several if they are alternatives. */
  readonly maps?: readonly MapShape[];
  read(value: unknown, path: string, before?: object): unknown;
}

/** A kind of map: its fields in the order in which they are read. */
export interface MapShape {
  readonly fields: readonly FieldShape[];
}

export interface FieldShape {
  readonly name: string;
  readonly shape: AnyShape;
  /** One or two sentences for the format page. */
  readonly meaning: string;
  readonly isOptional: boolean;
}

/** Longest text of a bundle, in UTF-16 units. */
const MAX_TEXT_LENGTH = 1024;

/** Returns the same shape under another name on the format page. */
export function named<Value>(words: string, shape: Shape<Value>): Shape<Value> {
  return { ...shape, words };
}

export const boolean: Shape<boolean> = {
  words: "true or false",
  read(value, path) {
    return typeof value === "boolean" ? value : refuse(path, value, "true or false");
  },
};

/** Non-empty text on one line. */
export const text: Shape<string> = {
  words: "a text",
  read(value, path) {
    if (typeof value !== "string" || value === "" || value.length > MAX_TEXT_LENGTH) {
      return refuse(path, value, `a text of 1 to ${MAX_TEXT_LENGTH} characters`);
    }
    if (UNPRINTABLE.test(value)) refuse(path, value, "a text without control characters");
    return value;
  },
};

/** Text that matches a form. @param allowed the form, in words. @param words name on the page. */
export function textOf(form: RegExp, allowed: string, words = allowed): Shape<string> {
  return {
    words,
    read(value, path) {
      const found = text.read(value, path);
      return form.test(found) ? found : refuse(path, value, allowed);
    },
  };
}

/** A file name without directories. */
export const fileName = textOf(
  /^(?!\.{1,2}$)[^\\/]*$/,
  "a file name without directories",
  "a file name",
);

/** A path relative to some folder, with forward slashes. */
export const relativePath = textOf(
  /^(?!\/|[a-z]:)[^\\]*$/i,
  "a relative path with forward slashes",
  "a relative path",
);

export const sha256 = textOf(
  /^[0-9a-f]{64}$/,
  "a SHA-256 as 64 hexadecimal digits in lower case",
  "a digest",
);

export function oneOf<Value extends string>(values: readonly Value[]): Shape<Value> {
  const words = values.map((each) => `"${each}"`).join(" or ");
  return {
    words,
    read(value, path) {
      return values.find((each) => each === value) ?? refuse(path, value, words);
    },
  };
}

/**
 * A number from `min` to `max`, both included. Negative zero has no encoding of its own and is
 * refused.
 */
export function numberIn(min: number, max: number): Shape<number> {
  const words = `a number from ${min} to ${max}`;
  return {
    words,
    range: [min, max],
    read(value, path) {
      if (typeof value === "number" && value >= min && value <= max && !Object.is(value, -0)) {
        return value;
      }
      return refuse(path, value, words);
    },
  };
}

/** A number above 0, at most `max`. */
export function positive(max: number): Shape<number> {
  const words = `a number above 0, at most ${max}`;
  return {
    words,
    range: [Number.MIN_VALUE, max],
    read(value, path) {
      if (typeof value === "number" && value > 0 && value <= max) return value;
      return refuse(path, value, words);
    },
  };
}

/** Smallest distance from an excluded bound. */
const EDGE = 1e-9;

/** A number between `min` and `max`, both excluded by at least a billionth. */
export function numberBetween(min: number, max: number): Shape<number> {
  const words = `a number above ${min} and below ${max}`;
  return {
    words,
    range: [min + EDGE, max - EDGE],
    read(value, path) {
      const isBetween = typeof value === "number" && value >= min + EDGE && value <= max - EDGE;
      return isBetween ? value : refuse(path, value, words);
    },
  };
}

export function integerIn(min: number, max: number): Shape<number> {
  const words = `an integer from ${min} to ${max}`;
  return {
    words,
    range: [min, max],
    read(value, path) {
      if (!Number.isInteger(value) || Number(value) < min || Number(value) > max) {
        return refuse(path, value, words);
      }
      if (Object.is(value, -0)) refuse(path, value, `a number from ${min} to ${max}`);
      return Number(value);
    },
  };
}

type Word = string | number | null;

/** Allows one value besides those of the shape. */
export function or<Apart extends Word, Value>(
  apart: Apart,
  shape: Shape<Value>,
): Shape<Apart | Value> {
  return {
    ...shape,
    words: `${apart === null ? "nil" : JSON.stringify(apart)} or ${shape.words}`,
    read(value, path, before) {
      // Negative zero is not 0.
      return Object.is(value, apart) ? apart : shape.read(value, path, before);
    },
  };
}

/** Allows nil, which stands for an absent value; keys are never missing, except optional fields. */
export function orNull<Value>(shape: Shape<Value>): Shape<Value | null> {
  return or(null, shape);
}

/** An array of `minCount` to `maxCount` items. */
export function listOf<Item>(
  [minCount, maxCount]: readonly [number, number],
  item: Shape<Item>,
): Shape<readonly Item[]> {
  const allowed = `an array of ${minCount === maxCount ? "" : `${minCount} to `}${maxCount}`;
  return {
    ...item,
    words: `${allowed}${maxCount === 1 ? ": " : ", each "}${item.words}`,
    read(value, path) {
      if (!Array.isArray(value)) return refuse(path, value, allowed);
      if (value.length < minCount || value.length > maxCount) {
        refuseAs(path, `${value.length} items`, allowed);
      }
      const items: Item[] = [];
      for (let index = 0; index < value.length; index++) {
        items.push(item.read(value[index], `${path}[${index}]`));
      }
      return Object.freeze(items);
    },
  };
}

/** Reads a map of exactly these keys. @param added keys that it may have besides. */
export function keysOf(
  keys: readonly string[],
  added: readonly string[] = [],
): (value: unknown, path: string) => Readonly<Record<string, unknown>> {
  const all = [...keys, ...added];
  const known = new Set(all);
  return (value, path) => {
    if (!isMap(value)) return refuse(path, value, "a map");
    const found = Object.keys(value);
    // Fast path: most maps have their keys in file order, so one comparison is enough.
    if (found.length === keys.length && found.every((key, at) => key === keys[at])) return value;
    for (const key of found) {
      if (!known.has(key)) {
        refuseAs(path, `the key ${clip(key)}`, `only the keys ${all.join(", ")}`);
      }
    }
    for (const key of keys) {
      if (!Object.hasOwn(value, key)) refuseAs(path, "no such key", `the key "${key}"`);
    }
    return value;
  };
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value)
  );
}
