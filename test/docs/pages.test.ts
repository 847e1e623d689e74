/** The pages a reader sees: links lead somewhere, and README fits two screens. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  anchorsOf,
  documentationFiles,
  linksOf,
  readMarkdown,
  readmesOfParts,
} from "./markdown.ts";

describe("README and docs/", () => {
  test("README fits two screens", () => {
    const { text, fences } = readMarkdown("README.md");
    const fenced = fences.reduce((sum, fence) => sum + fence.lines.length + 2, 0);
    expect(text.length + fenced).toBeLessThanOrEqual(96);
  });

  test("every method has a page of its own and a page of experiments", () => {
    for (const method of ["ramsis", "loki", "inferline", "themis", "accordion"]) {
      expect(existsSync(`docs/methods/${method}.md`)).toBe(true);
      expect(existsSync(`docs/experiments/${method}.md`)).toBe(true);
    }
  });
});

describe("every page", () => {
  const pages = [...documentationFiles(), ...readmesOfParts()];

  test.each(pages)("%s has links only to what exists", (page) => {
    const broken = linksOf(readMarkdown(page).text).filter((link) => !leadsSomewhere(page, link));
    expect(broken).toEqual([]);
  });
});

/** Whether a link's file exists, with its anchor; links to other sites are not looked up. */
function leadsSomewhere(file: string, link: string): boolean {
  if (/^[a-z]+:/.test(link)) return true;
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? file : join(dirname(file), path);
  if (target.startsWith("..") || !existsSync(target)) return false;
  return anchor === undefined || anchorsOf(readMarkdown(target).text).has(anchor);
}

describe("files that a page names", () => {
  const pages = ["CONTRIBUTING.md", "docs/architecture.md"];
  const rooms = ["compiler", "runtime", "kit", "test", "lab"];
  const files = rooms.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: "utf8" }).map((name) => `${room}/${name}`),
  );

  test.each(pages)("are there (%s)", (page) => {
    const text = readFileSync(page, "utf8");
    const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map((match) => match[1] ?? "");
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`)))).toEqual(
      [],
    );
  });
});
