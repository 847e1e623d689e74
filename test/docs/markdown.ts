/**
 * Reads what the documentation tests need of Markdown: fences with their marks, headings, links.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A fenced block. `line` is that of its opening, from 1; `mark` is the comment in the line before.
 */
export interface Fence {
  readonly file: string;
  readonly line: number;
  readonly language: string;
  readonly mark: string | undefined;
  readonly lines: readonly string[];
}

/** A line outside fences. `line` counts from 1. */
export interface TextLine {
  readonly line: number;
  readonly text: string;
}

/** README, CONTRIBUTING, CHANGELOG and every page of docs/, relative to the repository. */
export function documentationFiles(): string[] {
  const pages = readdirSync("docs", { recursive: true, encoding: "utf8" });
  const markdown = pages.filter((page) => page.endsWith(".md")).map((page) => join("docs", page));
  return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...markdown.sort()];
}

/** The READMEs that lie beside models and tools, relative to the repository. */
export function readmesOfParts(): string[] {
  const beside = ["models", "lab", "lab/models"].flatMap((part) =>
    readdirSync(part, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(part, entry.name, "README.md")),
  );
  return [...beside.filter((path) => existsSync(path)).sort(), join("runtime/models", "README.md")];
}

/** The fences of a file and what is outside them. @throws Error if a fence is not closed. */
export function readMarkdown(file: string): { fences: Fence[]; text: TextLine[] } {
  const lines = readFileSync(file, "utf8").split("\n");
  const fences: Fence[] = [];
  const text: TextLine[] = [];
  for (let at = 0; at < lines.length; at++) {
    const opening = /^\s*```(\w*)/.exec(lines[at] ?? "");
    if (opening === null) {
      text.push({ line: at + 1, text: lines[at] ?? "" });
      continue;
    }
    const end = lines.findIndex((line, index) => index > at && /^\s*```\s*$/.test(line));
    if (end < 0) throw new Error(`${file}:${at + 1}: the fence is not closed`);
    const comment = /^\s*<!--\s*(.*?)\s*-->\s*$/.exec(lines[at - 1] ?? "");
    fences.push({
      file,
      line: at + 1,
      language: opening[1] ?? "",
      mark: comment?.[1],
      lines: lines.slice(at + 1, end),
    });
    at = end;
  }
  return { fences, text };
}

/** Anchors of a page's headings, as GitHub makes them; the second of the same name ends with -1. */
export function anchorsOf(text: readonly TextLine[]): Set<string> {
  const anchors = new Set<string>();
  const seen = new Map<string, number>();
  for (const { text: line } of text) {
    const heading = /^#+\s+(.*)$/.exec(line);
    if (heading === null) continue;
    const title = (heading[1] ?? "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = title.replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** The targets of a page's links, code spans left out. A link may go over several lines. */
export function linksOf(text: readonly TextLine[]): string[] {
  const prose = text.map((line) => line.text).join("\n");
  const targets = prose.replace(/`[^`\n]*`/g, "").matchAll(/\]\(([^()\s]+)\)/g);
  return [...targets].map((match) => match[1] ?? "");
}

/** A paragraph or bullet in lines of 100 columns; the lines after the first are indented by two. */
export function wrapped(text: string, indent = ""): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    const isFirst = line.trim() === "";
    if (!isFirst && line.length + 1 + word.length > 100) {
      lines.push(line);
      line = `${indent}  ${word}`;
    } else line += isFirst ? word : ` ${word}`;
  }
  return [...lines, line];
}
