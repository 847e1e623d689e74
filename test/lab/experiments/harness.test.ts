/** What every experiment prints with and is asked by, and the commands that pages name. */
import { describe, expect, test, vi } from "vitest";
import { Flags } from "../../../lab/experiments/harness/flags.ts";
import { type Format, Page } from "../../../lab/experiments/harness/page.ts";
import { METHODS } from "../../../lab/experiments/methods.ts";
import { documentationFiles, readMarkdown } from "../../docs/markdown.ts";

function printed(format: Format): string[] {
  const lines: string[] = [];
  const page = new Page(format, (line) => lines.push(line));
  page.table(
    ["who", "late"],
    [
      ["ours", 0],
      ["a | b", "12.5%"],
    ],
  );
  return lines;
}

test("a table has columns: names begin and numbers end where the others do", () => {
  expect(printed("text")).toEqual(["who     late", "ours       0", "a | b  12.5%"]);
});

test("a table is Markdown where a page is to have it", () => {
  expect(printed("markdown")).toEqual([
    "| who | late |",
    "| --- | ---: |",
    "| ours | 0 |",
    "| a \\| b | 12.5% |",
  ]);
});

describe("options", () => {
  const flags = new Flags({ load: ["0.8", "1,1.2"], seeds: ["many"], slo: ["strict"] });

  test("are numbers, one by one or with commas between", () => {
    expect(flags.numbers("load")).toEqual([0.8, 1, 1.2]);
    expect(flags.numbers("low")).toBeUndefined();
  });

  test("that are no number are refused with what was found", () => {
    expect(() => flags.number("seeds")).toThrow("--seeds: found many, expected a number");
  });

  test("that are not of a list are refused with the list", () => {
    expect(flags.among("slo", ["strict", "relaxed"])).toEqual(["strict"]);
    expect(() => flags.among("slo", ["relaxed"])).toThrow("found strict, expected one of relaxed");
  });
});

test("every experiment that a page names is there, with the options that the page gives", () => {
  const commands = documentationFiles().flatMap((file) => {
    const { fences, text } = readMarkdown(file);
    const lines = [...text.map((line) => line.text), ...fences.flatMap((fence) => fence.lines)];
    return [...lines.join("\n").matchAll(/npm run experiment -- ([a-z]+)((?: [\w-]+)*)/g)];
  });
  expect(commands.length).toBeGreaterThan(10);
  for (const [command, method = "", rest = ""] of commands) {
    const known = METHODS[method] ?? [];
    const words = rest.split(" ").filter((word) => word !== "");
    const end = words.findIndex((word) => word.startsWith("--"));
    const names = words.slice(0, end < 0 ? undefined : end);
    const options = words.filter((word) => word.startsWith("--")).map((word) => word.slice(2));
    expect(
      known.map(({ name }) => name),
      command,
    ).toEqual(expect.arrayContaining(names));
    const chosen = known.filter(({ name }) => names.length === 0 || names.includes(name));
    const allowed = chosen.flatMap((one) => Object.keys(one.options ?? {}));
    expect(allowed, command).toEqual(expect.arrayContaining(options));
  }
});

test("no two experiments of a method have one name", () => {
  for (const experiments of Object.values(METHODS)) {
    const names = experiments.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  }
});

test.each(Object.keys(METHODS))(
  "%s --help lists its experiments and their options",
  async (method) => {
    const lines: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line) => lines.push(line));
    const argv = process.argv;
    process.argv = ["node", "run", method, "--help"];
    // A name of its own for each run: the modules of other tests are not forgotten.
    const file = new URL("../../../lab/experiments/run.ts", import.meta.url).pathname;
    await import(/* @vite-ignore */ `${file}?${method}`);
    process.argv = argv;
    log.mockRestore();
    const text = lines.join("\n");
    for (const { name, about, options = {} } of METHODS[method] ?? []) {
      expect(text).toContain(name);
      expect(text).toContain(about);
      for (const option of Object.keys(options)) expect(text).toContain(`--${option}: `);
    }
    expect(process.exitCode ?? 0).toBe(0);
  },
);
