/** Options of a module, read once each: a mistake says where, what was found, what is allowed. */

interface Range {
  readonly min: number;
  readonly max: number;
}

/** Reads one object; `done` refuses keys that were not read. */
export class OptionReader {
  readonly #at: string;
  readonly #given: Readonly<Record<string, unknown>>;
  readonly #asked = new Set<string>();

  /**
   * @param at the module's name, or the path of an object in its options.
   * @throws TypeError if they are no object.
   */
  constructor(at: string, options: unknown) {
    this.#at = at;
    if (options !== undefined && !isRecord(options))
      throw unfit(at, options, "an object of options");
    this.#given = options ?? {};
  }

  has(name: string): boolean {
    return this.#given[name] !== undefined && this.#given[name] !== null;
  }

  number(name: string, range: Range, otherwise?: number): number {
    const value = this.#value(name);
    if (value === undefined && otherwise !== undefined) return otherwise;
    if (isNumberIn(value, range)) return value;
    throw this.#unfit(name, `a number from ${range.min} to ${range.max}`);
  }

  integer(name: string, range: Range, otherwise?: number): number {
    const value = this.#value(name);
    if (value === undefined && otherwise !== undefined) return otherwise;
    if (isNumberIn(value, range) && Number.isInteger(value)) return value;
    throw this.#unfit(name, `an integer from ${range.min} to ${range.max}`);
  }

  /** Null where it is not given. */
  numberOrNull(name: string, range: Range): number | null {
    return this.#value(name) === undefined ? null : this.number(name, range);
  }

  flag(name: string, otherwise: boolean): boolean {
    const value = this.#value(name) ?? otherwise;
    if (typeof value === "boolean") return value;
    throw this.#unfit(name, "true or false");
  }

  text(name: string): string {
    const value = this.#value(name);
    if (typeof value === "string" && value !== "") return value;
    throw this.#unfit(name, "a text");
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], otherwise?: T): T {
    const value = this.#value(name) ?? otherwise;
    const found = allowed.find((one) => one === value);
    if (found !== undefined) return found;
    throw this.#unfit(name, `one of ${allowed.join(", ")}`);
  }

  someOf<T extends string>(name: string, allowed: readonly T[], otherwise: readonly T[]): T[] {
    const value = this.#value(name) ?? otherwise;
    const isFine =
      Array.isArray(value) && value.length > 0 && value.every((one) => allowed.includes(one as T));
    if (isFine) return [...new Set(value as T[])];
    throw this.#unfit(name, `a list of some of ${allowed.join(", ")}`);
  }

  /** Height and width. */
  size(name: string, max: number): readonly [number, number] {
    const value = this.#value(name);
    const isSize = (one: unknown) => isNumberIn(one, { min: 1, max }) && Number.isInteger(one);
    if (Array.isArray(value) && value.length === 2 && value.every(isSize)) {
      return [value[0], value[1]];
    }
    throw this.#unfit(name, `[height, width], each an integer from 1 to ${max}`);
  }

  /** One number for all of `count`, or a list of as many. */
  numbers(name: string, count: number, range: Range, otherwise: number): readonly number[] {
    const value = this.#value(name) ?? otherwise;
    if (isNumberIn(value, range)) return new Array<number>(count).fill(value);
    if (
      Array.isArray(value) &&
      value.length === count &&
      value.every((v) => isNumberIn(v, range))
    ) {
      return value;
    }
    throw this.#unfit(name, `a number from ${range.min} to ${range.max}, or a list of ${count}`);
  }

  /** Options within options; null where they are not given. */
  inner(name: string): OptionReader | null {
    const value = this.#value(name);
    return value === undefined ? null : new OptionReader(`${this.#at} ${name}`, value);
  }

  /** Returns a value as given, if it is not a single one. */
  raw(name: string): unknown {
    return this.#value(name);
  }

  /** The error of an option that only its module can judge. */
  unfit(name: string, allowed: string): TypeError {
    return this.#unfit(name, allowed);
  }

  /** @throws TypeError if there is an option that was not read. */
  done(): void {
    const unknown = Object.keys(this.#given).find((name) => !this.#asked.has(name));
    if (unknown === undefined) return;
    const allowed = [...this.#asked].sort().join(", ");
    throw new TypeError(`${this.#at}: found the option "${unknown}", allowed are ${allowed}`);
  }

  /** A null is as good as nothing. */
  #value(name: string): unknown {
    this.#asked.add(name);
    return this.#given[name] ?? undefined;
  }

  #unfit(name: string, allowed: string): TypeError {
    return unfit(`${this.#at} ${name}`, this.#given[name], allowed);
  }
}

function unfit(at: string, found: unknown, allowed: string): TypeError {
  return new TypeError(`${at}: expected ${allowed}, got ${textOf(found)}`);
}

function textOf(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNumberIn(value: unknown, { min, max }: Range): value is number {
  return typeof value === "number" && value >= min && value <= max;
}
