/** How the values of options are read that several commands have. */
import { InvalidArgumentError } from "commander";

const MAX_TIMEOUT_MS = 86_400_000;

/** An option value such as 90s or 5min, in ms. */
export function timeoutMs(text: string): number {
  const match = /^(\d{1,6})(s|min)$/.exec(text);
  const ms = Number(match?.[1]) * (match?.[2] === "min" ? 60_000 : 1000);
  if (ms >= 1000 && ms <= MAX_TIMEOUT_MS) return ms;
  throw new InvalidArgumentError("expected 1s to 24 h in s or min, such as 90s");
}

/** An option value such as 0, a whole number up to 100. */
export function count(text: string): number {
  if (/^(\d{1,2}|100)$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number from 0 to 100");
}

/** Gathers the values of an option that may be repeated. */
export function collect(value: string, earlier: readonly string[]): string[] {
  return [...earlier, value];
}

/** Values of an option that may be repeated, each of which may hold several. */
export function joined(value: string, earlier: unknown): string {
  return typeof earlier === "string" ? `${earlier}; ${value}` : value;
}
