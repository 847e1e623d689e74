/** How a server is told at which step of an update its power is cut, and tells which there were. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Variables of the server: path of the plan, and folders that it writes to, between colons. */
export const CUT_PLAN = "STRATAGEM_EDGE_CUT_PLAN";
export const CUT_FOLDERS = "STRATAGEM_EDGE_CUT_FOLDERS";
/** Behind the path of the plan: the file of the steps there were, a line each. */
export const STEPS_TOLD = ".steps";

export class CutPlan {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** @param step its name; an empty text lets all be. */
  lay(step: string): void {
    rmSync(`${this.path}${STEPS_TOLD}`, { force: true });
    const whole = `${this.path}.new`;
    writeFileSync(whole, step);
    renameSync(whole, this.path);
  }

  /** @returns the steps since it was laid; the power was cut in the last one, if at all. */
  take(): string[] {
    rmSync(this.path, { force: true });
    return readFileSync(`${this.path}${STEPS_TOLD}`, "utf8").trim().split("\n");
  }
}
