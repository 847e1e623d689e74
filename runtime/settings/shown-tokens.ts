/** `--token to=file`: files with the token, or USER:PASSWORD, for other servers. */
import { InvalidArgumentError, Option } from "commander";
import { listOf, splitPair } from "../kinds/device-kinds.ts";
import type { Kind } from "../kinds/kinds.ts";

type ShownTo = "sources" | "workers" | "cluster" | "metrics";

/** @param to servers that a command connects to. */
export function shownTokens(to: readonly ShownTo[]): Kind<readonly string[]> {
  return listOf({
    sign: "<to=file>",
    expected: `${to.join(", ")}, each once, "=" and a file, such as ${to[0]}=token.txt`,
    isOne: (text) => {
      const { name, value } = splitPair(text);
      return to.some((one) => one === name) && value !== "";
    },
    isEach: (all) => new Set(all.map((text) => splitPair(text).name)).size === all.length,
  });
}

/** Returns the file with the token for a server; undefined without one. */
export function tokenFileFor(
  to: ShownTo,
  tokens: readonly string[] | null | undefined,
): string | undefined {
  return (tokens ?? []).map(splitPair).find(({ name }) => name === to)?.value;
}

/** Returns the option of a command; it may be repeated. */
export function tokenOption(...to: readonly ShownTo[]): Option {
  const { sign, expected, read } = shownTokens(to);
  const help = `file with the token, or USER:PASSWORD, for ${to.join(", ")}`;
  return new Option(`--token ${sign}`, help).argParser(
    (text: string, before: readonly string[] = []) => {
      const found = read([...before, text]);
      if (found === undefined) throw new InvalidArgumentError(`expected ${expected}`);
      return found;
    },
  );
}
