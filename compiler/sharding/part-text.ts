/**
 * Text format of a part: a JSON line for its header, each level, branch and set of stages, and its
 * end.
 */

import { exactText, exactValue } from "./exact-json.ts";
import {
  type Part,
  type PartBranch,
  type PartHeader,
  type PartLevel,
  type PartStages,
  sha256,
} from "./part.ts";

const FORMAT = "stratagem-part/1";

/** Content of a part, as far as it is complete. */
export interface ReadPart extends Part {
  /** True if its end was read; an unfinished part has none. */
  readonly isWhole: boolean;
}

export function headerLine(header: PartHeader): string {
  return line({ format: FORMAT, ...header });
}

export function levelLine(level: PartLevel): string {
  return line({ solved: level });
}

export function branchLine(branch: PartBranch): string {
  return line({ searched: branch });
}

function stagesLine(stages: PartStages): string {
  return line({ stages });
}

/** Formats a complete part. */
export function partText({ header, levels, branches, stages }: Part): string {
  const lines = [
    headerLine(header),
    ...levels.map(levelLine),
    ...branches.map(branchLine),
    ...stages.map(stagesLine),
  ].join("");
  return lines + line({ end: { levels: levels.length, sha256: sha256(lines) } });
}

function line(content: object): string {
  return `${exactText(content)}\n`;
}

/**
 * Reads a part. An incomplete last line of an unfinished part is ignored.
 * @returns null if it is not a part, or damaged.
 */
export function readPartText(text: string): ReadPart | null {
  const end = text.lastIndexOf("\n", text.length - 2) + 1;
  const last = contentOf(text.slice(end));
  const isWhole = last !== null && "end" in last && isEndOf(last["end"], text.slice(0, end));
  if (last !== null && "end" in last && !isWhole) return null;
  const lines = text.slice(0, isWhole ? end : undefined).split("\n");
  const header = headerOf(contentOf(lines[0] ?? ""));
  if (header === null) return null;
  const levels: PartLevel[] = [];
  const branches: PartBranch[] = [];
  const stages: PartStages[] = [];
  // Text after the last line break is empty or incomplete.
  for (const one of lines.slice(1, -1)) {
    const content = contentOf(one);
    if (content === null) return null;
    if ("solved" in content) levels.push(content["solved"] as PartLevel);
    else if ("searched" in content) branches.push(content["searched"] as PartBranch);
    else if ("stages" in content) stages.push(content["stages"] as PartStages);
    else return null;
  }
  return { header, levels, branches, stages, isWhole };
}

/** The digest proves that the text is unchanged; the result is validated like every bundle. */
function isEndOf(end: unknown, before: string): boolean {
  return isRecord(end) && end["sha256"] === sha256(before);
}

function headerOf(content: Record<string, unknown> | null): PartHeader | null {
  if (content?.["format"] !== FORMAT) return null;
  const { format: _, ...header } = content;
  const { shard, app, compiler, fleet, divides, source } = header;
  const isHeader =
    typeof divides === "boolean" &&
    isRecord(shard) &&
    isRecord(source) &&
    isCount(shard["number"]) &&
    isCount(shard["of"]) &&
    [app, compiler, fleet].every((text) => typeof text === "string");
  return isHeader ? (header as unknown as PartHeader) : null;
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 1;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function contentOf(text: string): Record<string, unknown> | null {
  try {
    const content = exactValue(text);
    return isRecord(content) ? content : null;
  } catch {
    return null;
  }
}
