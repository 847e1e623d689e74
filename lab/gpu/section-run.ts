/** Runs a section in a process group of its own, until its time is over. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Section, Told } from "./section.ts";
import type { Settings } from "./settings.ts";

/** What a section came to. */
export interface SectionResult {
  readonly name: string;
  readonly title: string;
  readonly seconds: number;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Rows in which something promised does not hold; none where that is only told. */
  readonly broken: number;
  readonly notes: readonly string[];
  /** Why it has no more rows; null where it ended by itself. */
  readonly error: string | null;
}

const PROCESS = fileURLToPath(new URL("./section-process.js", import.meta.url));
/** Of what it says on standard error, what an error quotes. */
const QUOTED = 600;
/** Lines of onnxruntime that tell a developer, not a reader of the table. */
const CHATTER = /\[W:onnxruntime|VerifyEachNodeIsAssigned|Rerunning with verbose/;

/**
 * @param env of the process, with the device's driver.
 * @param leftSeconds of the whole check; a section's own limit holds too.
 */
export async function runSection(
  section: Section,
  settings: Settings,
  env: NodeJS.ProcessEnv,
  leftSeconds: number,
): Promise<SectionResult> {
  const { name, title, isOfValues } = section;
  const limitSeconds = Math.max(0, Math.floor(Math.min(section.limitSeconds, leftSeconds)));
  const startMs = performance.now();
  const child = spawn(process.execPath, [PROCESS, name, JSON.stringify(settings)], {
    stdio: ["ignore", "pipe", "pipe"],
    env,
    detached: true,
  });
  const end = () => endGroup(child.pid);
  process.once("exit", end);
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    end();
  }, 1000 * limitSeconds);
  const lines: Told[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(JSON.parse(line) as Told));
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-20 * QUOTED);
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  clearTimeout(timer);
  process.off("exit", end);
  end();
  const why = isOver ? `its ${limitSeconds} s were over` : `it ended with ${signal ?? code}`;
  return {
    name,
    title,
    seconds: Math.round((performance.now() - startMs) / 100) / 10,
    ...together(lines, isOfValues || !settings.isSoftware),
    error: code === 0 ? null : `${why}${quoted(said, isOver)}`,
  };
}

function together(lines: readonly Told[], isJudged: boolean) {
  const rows = lines.filter((line) => line.kind === "row");
  const no = isJudged ? "NO" : "no";
  const judged = (isKept: boolean | null) => (isKept === null ? "" : isKept ? "yes" : no);
  const hasVerdicts = rows.some(({ isKept }) => isKept !== null);
  const names = lines.findLast((line) => line.kind === "columns")?.names ?? [];
  return {
    columns: hasVerdicts ? [...names, "kept"] : names,
    rows: rows.map(({ cells, isKept }) => (hasVerdicts ? [...cells, judged(isKept)] : cells)),
    broken: isJudged ? rows.filter(({ isKept }) => isKept === false).length : 0,
    notes: lines.filter((line) => line.kind === "note").map(({ text }) => text),
  };
}

/** What it said last, unless it was ended in the midst of its work. */
function quoted(said: string, isOver: boolean): string {
  const lines = said.split("\n").filter((line) => line.trim() !== "" && !CHATTER.test(line));
  return isOver || lines.length === 0 ? "" : `: ${lines.join(" ").slice(-QUOTED)}`;
}

/** Its servers and their workers too. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // They have all ended.
  }
}
