/** Kinds of settings' values: how they are read from any source, and written. */
import { isIPv6 } from "node:net";

export interface Kind<T> {
  /** Placeholder of the value in the help of an option. */
  readonly sign: string;
  /** Allowed values, as in "expected …". */
  readonly expected: string;
  /**
   * @param value text of an option or a variable, or a value in a file.
   * @returns undefined if not allowed.
   */
  read(value: unknown): T | undefined;
  /** All allowed values, if there are few. */
  readonly choices?: readonly string[];
  /** Whether the option can be repeated. */
  readonly isList?: boolean;
  /** Whether an item of the list may contain commas. */
  readonly hasCommas?: boolean;
  /** Returns a value that `read` accepts. */
  write(value: T): string | number | boolean | readonly (string | number)[];
}

interface Bounds {
  readonly least?: number;
  readonly most?: number;
}

/** HOST:PORT. */
export interface Address {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

const MS_BY_UNIT: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1000, min: 60_000, h: 3_600_000 },
};
const BYTES_BY_UNIT: Readonly<Record<string, number>> = {
  ...{ B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 },
};
const QUANTITY = /^(\d{1,15}(?:\.\d{1,9})?) ?([A-Za-z]{0,4})$/;

export function count({ least = 0, most = Number.MAX_SAFE_INTEGER }: Bounds = {}): Kind<number> {
  return {
    sign: "<n>",
    expected: `a whole number${boundsText(least, most, String)}`,
    read: (value) => within(numberOf(value), { least, most, isWhole: true }),
    write: (value) => value,
  };
}

/** Milliseconds, written with a unit. */
export function duration({ least = 0, most = 2 ** 31 - 1 }: Bounds = {}): Kind<number> {
  const bounds = `${boundsText(least, most === 2 ** 31 - 1 ? undefined : most, msText)}`;
  return {
    sign: "<time>",
    expected: `a time such as 250ms, 30s or 5min${bounds}`,
    read: (value) => within(quantityOf(value, MS_BY_UNIT, "ms"), { least, most }),
    write: msText,
  };
}

/** Bytes, written with a unit. */
export function bytes({ least = 1, most = 2 ** 50 }: Bounds = {}): Kind<number> {
  const bounds = boundsText(least, most === 2 ** 50 ? undefined : most, bytesText);
  return {
    sign: "<bytes>",
    expected: `bytes such as 64KiB, 512MiB or 8GiB${bounds}`,
    read: (value) => {
      const found = quantityOf(value, BYTES_BY_UNIT, "B");
      return within(found, { least, most, isWhole: true });
    },
    write: bytesText,
  };
}

/** Memory limit of a process that runs models; Node and onnxruntime alone need the minimum. */
export const processMemory = bytes({ least: 2 ** 28 });

const SHARE = /^(\d{1,3}(?:\.\d{1,9})?)(%?)$/;

/** A share, 0..1; a text may use percent. */
export const share: Kind<number> = {
  sign: "<share>",
  expected: "a share such as 0.01 or 1%, at most 100%",
  read: (value) => {
    const match = SHARE.exec(String(value));
    const number = Number(match?.[1] ?? Number.NaN);
    return within(match?.[2] === "%" ? number / 100 : number, { most: 1 });
  },
  write: (value) => `${Number((100 * value).toPrecision(12))}%`,
};

export function oneOf<const T extends string>(choices: readonly T[]): Kind<T> {
  return {
    sign: "<name>",
    expected: choices.join(", "),
    choices,
    read: (value) => choices.find((choice) => choice === value),
    write: (value) => value,
  };
}

/** @param sign such as `<file>`. @param what description of allowed values. */
export function text(sign: string, what: string): Kind<string> {
  return {
    sign,
    expected: what,
    read: (value) => (typeof value === "string" && value !== "" ? value : undefined),
    write: (value) => value,
  };
}

/** List of texts; a variable separates them by commas. */
export function texts(sign: string, what: string): Kind<readonly string[]> {
  return {
    sign,
    expected: what,
    isList: true,
    read: (value) => {
      const list = typeof value === "string" ? value.split(",") : value;
      const isList = Array.isArray(list) && list.length > 0;
      if (!isList) return undefined;
      return list.every((one) => typeof one === "string" && one !== "") ? list : undefined;
    },
    write: (value) => value,
  };
}

export const truth: Kind<boolean> = {
  sign: "",
  expected: "true or false",
  read: (value) => {
    if (typeof value === "boolean") return value;
    return value === "true" || value === "1" ? true : isNo(value) ? false : undefined;
  },
  write: (value) => value,
};

export const address: Kind<Address> = {
  sign: "<host:port>",
  expected: "HOST:PORT such as 127.0.0.1:8000",
  read: (value) => {
    const match = /^([^\s]+):(\d{1,5})$/.exec(String(value));
    const port = Number(match?.[2]);
    const host = match?.[1]?.replace(/^\[(.*)\]$/, "$1");
    return host !== undefined && port <= 65_535 ? { host, port } : undefined;
  },
  write: ({ host, port }) => `${isIPv6(host) ? `[${host}]` : host}:${port}`,
};

function isNo(value: unknown): boolean {
  return value === "false" || value === "0";
}

function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
}

function quantityOf(value: unknown, sizes: Readonly<Record<string, number>>, base: string): number {
  if (typeof value === "number") return value;
  const match = QUANTITY.exec(typeof value === "string" ? value : "");
  const unit = match?.[2] === "" ? base : match?.[2];
  return Number(match?.[1] ?? Number.NaN) * (sizes[unit ?? ""] ?? Number.NaN);
}

function within(
  value: number,
  { least = 0, most = Number.MAX_SAFE_INTEGER, isWhole = false }: Bounds & { isWhole?: boolean },
): number | undefined {
  if (!(value >= least && value <= most)) return undefined;
  return isWhole && !Number.isInteger(value) ? undefined : value;
}

function boundsText(
  least: number,
  most: number | undefined,
  write: (value: number) => string,
): string {
  const from = least > 0 ? `, at least ${write(least)}` : "";
  const to = most === undefined || most === Number.MAX_SAFE_INTEGER ? "" : write(most);
  return to === "" ? from : `${from}, at most ${to}`;
}

function msText(ms: number): string {
  return withUnit(ms, MS_BY_UNIT);
}

function bytesText(size: number): string {
  return withUnit(size, BYTES_BY_UNIT);
}

/** Uses the largest unit with an integer value. */
function withUnit(value: number, sizes: Readonly<Record<string, number>>): string {
  const fitting = Object.entries(sizes).filter(([, size]) => value % size === 0 && value >= size);
  const [unit, size] = fitting.at(-1) ?? Object.entries(sizes)[0] ?? ["", 1];
  return `${value / size}${unit}`;
}
