/** The options that a command line gives to an experiment. */
export class Flags {
  readonly #values: Readonly<Record<string, readonly string[] | undefined>>;

  /** @param values of each option in their order. */
  constructor(values: Readonly<Record<string, readonly string[] | undefined>>) {
    this.#values = values;
  }

  /** Every value of an option. */
  texts(name: string): readonly string[] | undefined {
    return this.#values[name];
  }

  /** The last value of an option. */
  text(name: string): string | undefined {
    return this.#values[name]?.at(-1);
  }

  /** @throws RangeError where the value is no number. */
  number(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : numberOf(name, text);
  }

  /** Numbers that are given one by one or with commas between. @throws RangeError */
  numbers(name: string): readonly number[] | undefined {
    return this.texts(name)
      ?.flatMap((text) => text.split(","))
      .map((text) => numberOf(name, text));
  }

  /** The values of an option that are all of a list. @throws RangeError naming the list. */
  among<T extends string>(name: string, allowed: readonly T[]): readonly T[] | undefined {
    return this.texts(name)?.map((text) => {
      const found = allowed.find((one) => one === text);
      if (found !== undefined) return found;
      throw new RangeError(`--${name}: found ${text}, expected one of ${allowed.join(", ")}`);
    });
  }
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text !== "" && Number.isFinite(value)) return value;
  throw new RangeError(`--${name}: found ${text}, expected a number`);
}
