/**
 * Before all tests: builds dist/, because the command-line tests run what ships, and makes their
 * folder.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Set once the packages are built: every project of the run asks for it. */
const BUILT = "STRATAGEM_TESTS_BUILT";

/** @returns what to do after them: whatever they left in the folder for temporary files goes. */
export default function setup(): () => void {
  if (process.env[BUILT] !== undefined) return () => {};
  process.env[BUILT] = "yes";
  execFileSync("npm", ["run", "-s", "build"], { stdio: "inherit" });
  const folder = mkdtempSync(join(tmpdir(), "stratagem-tests-"));
  process.env["TMPDIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
