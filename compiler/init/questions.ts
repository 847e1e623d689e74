/** Questions of `init` on a terminal; an empty answer selects the default in brackets. */
import { createInterface } from "node:readline/promises";
import { InterruptedError } from "../base/errors.ts";
import { readQuantity } from "../spec/document/quantity.ts";
import type { Targets } from "./default-targets.ts";

export type Ask = (question: string) => Promise<string>;

/** Repeats a question until the answer is valid. */
async function askedFor<T>(
  ask: Ask,
  question: string,
  otherwise: string,
  read: (text: string) => T | undefined,
  expected: string,
): Promise<T> {
  for (let hint = ""; ; hint = `expected ${expected}\n`) {
    const answer = (await ask(`${hint}${question} [${otherwise}] `)).trim();
    const value = read(answer === "" ? otherwise : answer);
    if (value !== undefined) return value;
  }
}

export async function askedTargets(ask: Ask, { slo, loads }: Targets): Promise<Targets> {
  return {
    slo: await askedFor(ask, "Latency SLO of a request?", slo, readSlo, SLO_EXPECTED),
    loads: await askedFor(
      ask,
      "Loads in requests per second?",
      loads.join(", "),
      readLoads,
      LOADS_EXPECTED,
    ),
  };
}

/** Asks for the accuracy of a variant; null if unknown. */
export function askedAccuracy(ask: Ask, name: string): Promise<number | null> {
  const read = (text: string) => (text === "unknown" ? null : readAccuracy(text));
  return askedFor(ask, `Accuracy of ${name}?`, "unknown", read, ACCURACY_EXPECTED);
}

export const SLO_EXPECTED = "a time with its unit such as 150 ms";
export const LOADS_EXPECTED = "rates above 0, ascending, such as 1, 10, 100";
const ACCURACY_EXPECTED = "a ratio such as 0.93 or 93%, or unknown";

export function readSlo(text: string): string | undefined {
  const reading = readQuantity(text, "time", false);
  return reading.ok && reading.value > 0 ? text : undefined;
}

export function readLoads(text: string): number[] | undefined {
  const loads = text.split(",").map((load) => Number(load.trim() || "0"));
  const areAscending = loads.every((load, index) => load > (loads[index - 1] ?? 0));
  return areAscending ? loads : undefined;
}

export function readAccuracy(text: string): number | undefined {
  const [, digits = "", unit] = /^(\d+(?:\.\d+)?|\.\d+)\s*(%?)$/.exec(text) ?? [];
  const accuracy = Number(digits) / (unit === "%" ? 100 : 1);
  return digits !== "" && accuracy <= 1 ? accuracy : undefined;
}

/**
 * Asks on a terminal; must be closed to end the process.
 * @throws InterruptedError from `ask` at the end of the input, as after Ctrl-D or Ctrl-C.
 */
export function terminalAsk(
  input: NodeJS.ReadableStream = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): { readonly ask: Ask; readonly close: () => void } {
  const terminal = createInterface({ input, output });
  // A question that is open then is never answered otherwise.
  const ended = new Promise<never>((_, reject) => {
    terminal.once("close", () => reject(new InterruptedError()));
  });
  ended.catch(() => {});
  return {
    ask: (question) => Promise.race([terminal.question(question), ended]),
    close: () => terminal.close(),
  };
}
