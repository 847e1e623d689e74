/** `--token to=file`: files with the token, or USER:PASSWORD, that other servers are shown. */
import { InvalidArgumentError, Option } from "commander";
import { listOf, splitPair } from "../kinds/device-kinds.ts";
import type { Kind } from "../kinds/kinds.ts";

type ShownTo = "sources" | "workers" | "cluster" | "metrics";

/** @param to servers that a command knows. */
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

/** The file whose token a server is shown; undefined for none. */
export function tokenFileFor(
  to: ShownTo,
  tokens: readonly string[] | null | undefined,
): string | undefined {
  return (tokens ?? []).map(splitPair).find(({ name }) => name === to)?.value;
}

/** The option of a command; it may be repeated. */
export function tokenOption(...to: readonly ShownTo[]): Option {
  const { sign, expected, read } = shownTokens(to);
  const help = `file with the token, or USER:PASSWORD, that ${to.join(", ")} are shown`;
  return new Option(`--token ${sign}`, help).argParser(
    (text: string, before: readonly string[] = []) => {
      const found = read([...before, text]);
      if (found === undefined) throw new InvalidArgumentError(`expected ${expected}`);
      return found;
    },
  );
}
