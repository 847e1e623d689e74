/** Shapes of dense tables: typed arrays with sizes of their axes. */
import { integerIn, keysOf, listOf, numberIn, oneOf, type Shape } from "./fields.ts";
import { refuse, refuseAs } from "./refuse.ts";
import type { Table } from "./schema.ts";

const SIZE = integerIn(1, 2 ** 31);
const SIZE_OR_NONE = integerIn(0, 2 ** 31);

/**
 * A table of one element type with the named axes. Typed arrays are kept; bytes, as decoded, are
 * copied once into a fresh, aligned typed array.
 * @param mayBeEmpty whether the first axis may have size 0.
 */
export function table(
  dtype: Table["dtype"],
  axes: readonly string[],
  mayBeEmpty = false,
): Shape<Table> {
  const mapAt = keysOf(["data", "dtype", "shape"]);
  const type = oneOf([dtype]);
  const sizes = listOf([axes.length, axes.length], {
    ...SIZE,
    read(size: unknown, path: string): number {
      return (mayBeEmpty && path.endsWith("[0]") ? SIZE_OR_NONE : SIZE).read(size, path);
    },
  });
  return {
    words: `${dtype} [${axes.join(", ")}]`,
    read(value, path) {
      const fields = mapAt(value, path);
      type.read(fields["dtype"], `${path}.dtype`);
      const shape = sizes.read(fields["shape"], `${path}.shape`);
      const count = shape.reduce((product, size) => product * size, 1);
      const at = `${path}.data`;
      if (dtype === "float64") {
        const data = elements(fields["data"], at, count, Float64Array);
        return Object.freeze({ dtype, shape, data });
      }
      const data = elements(fields["data"], at, count, Uint16Array);
      return Object.freeze({ dtype, shape, data });
    },
  };
}

/**
 * A float64 table of numbers from `min` to `max`.
 * @param apart a number that is allowed besides.
 */
export function numberTable(
  axes: readonly string[],
  [min, max]: readonly [number, number],
  apart: number | null = null,
): Shape<Table> {
  const cells = table("float64", axes);
  const cell = numberIn(min, max);
  return {
    ...cells,
    read(value, path) {
      const read = cells.read(value, path);
      const bad = read.data.findIndex(
        (found: number) => !((found >= min && found <= max) || found === apart),
      );
      if (bad >= 0) cell.read(read.data[bad], `${path}.data[${bad}]`);
      return read;
    },
  };
}

interface TypedArrayConstructor<Data> {
  new (buffer: ArrayBuffer): Data;
  readonly BYTES_PER_ELEMENT: number;
}

function elements<Data extends Float64Array | Uint16Array>(
  data: unknown,
  path: string,
  count: number,
  Type: TypedArrayConstructor<Data>,
): Data {
  const byteCount = count * Type.BYTES_PER_ELEMENT;
  const isTyped = data instanceof Type;
  if (!isTyped && !(data instanceof Uint8Array)) {
    return refuse(path, data, `${byteCount} bytes`);
  }
  if (data.byteLength !== byteCount) {
    refuseAs(path, `${data.byteLength} bytes`, `${byteCount} bytes, as the shape says`);
  }
  if (isTyped) return data;
  const buffer = new ArrayBuffer(byteCount);
  new Uint8Array(buffer).set(data);
  return new Type(buffer);
}
