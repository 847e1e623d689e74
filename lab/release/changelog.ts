/** Whether the changelog says what a release has. */
import { readFileSync } from "node:fs";
import { versionOf } from "./versions.ts";

const FILE = "CHANGELOG.md";

/**
 * What is missing, each in a sentence: before a release its changes stand under "Unreleased", and
 * in it under the version, which has a date.
 */
export function changelogFaults(root = "."): string[] {
  const text = readFileSync(`${root}/${FILE}`, "utf8");
  const version = versionOf(root);
  const sections = sectionsOf(text);
  const isReleased = [...sections.keys()].some((title) => title.startsWith(`${version} (`));
  const newest = [...sections][0];
  if (newest === undefined) return [`${FILE}: expected a section "## Unreleased", found none`];
  const [title, lines] = newest;
  const isDated = /^\S+ \(\d{4}-\d{2}-\d{2}\)$/.test(title);
  const expected = `expected "Unreleased" or "${version} (YYYY-MM-DD)" first, found "${title}"`;
  const isKnown = title === "Unreleased" || (isReleased && isDated && title.startsWith(version));
  return [
    ...(isKnown ? [] : [`${FILE}: ${expected}`]),
    ...(lines.some((line) => line.startsWith("- ")) ? [] : [`${FILE}: "${title}" says nothing`]),
  ];
}

/** Lines of each section by its title, in their order. */
function sectionsOf(text: string): Map<string, string[]> {
  const sections = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of text.split("\n")) {
    const title = /^## (.*)$/.exec(line)?.[1];
    if (title !== undefined) {
      lines = [];
      sections.set(title, lines);
    } else lines.push(line);
  }
  return sections;
}
