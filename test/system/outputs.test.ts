/** Outputs of the commands: killed at every moment, and in places where none belongs. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makePipe, nobody } from "../../lab/campaign/odd-places.ts";
import { accordionApplication } from "../support/accordion-application.ts";
import { stratagem } from "../support/run-cli.ts";

const root = mkdtempSync(join(tmpdir(), "stratagem-outputs-"));
afterAll(() => rmSync(root, { recursive: true }));

const KILLER = resolve("lab/campaign/killed-at.cjs");
const CLI = resolve("compiler/dist/cli.js");
const BUNDLE = resolve("test/fixtures/bundles/v1.msgpack");

/** Runs a command that is killed at a moment. @returns the signal that ended it. */
function killedAt(moment: string, ...args: string[]): NodeJS.Signals | null {
  const env = { ...process.env, STRATAGEM_KILLED_AT: moment };
  return spawnSync(process.execPath, ["--require", KILLER, CLI, ...args], { env }).signal;
}

describe("a report that is killed", () => {
  const folder = mkdtempSync(join(root, "report-"));
  const out = join(folder, "page.html");
  const args = ["report", BUNDLE, "-o", out];

  test.each([
    ["write:1", "old"],
    ["sync:1", "old"],
    ["rename:1", "old"],
    ["renamed:1", "new"],
  ])("at %s leaves the %s page whole, and the next run clears up", (moment, left) => {
    writeFileSync(out, "old");
    expect(killedAt(moment, ...args)).toBe("SIGKILL");
    const text = readFileSync(out, "utf8");
    expect(text === "old" ? "old" : text.endsWith("</html>\n") ? "new" : "part").toBe(left);
    expect(readdirSync(folder)).toHaveLength(left === "old" ? 2 : 1);
    expect(stratagem(...args)).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(folder)).toEqual(["page.html"]);
  });
});

test("a compile that is killed between its files leaves the old bundle with its stages", () => {
  const app = accordionApplication();
  const spec = join(app, "app.yaml");
  const home = join(app, "out");
  const out = join(home, "places.msgpack");
  expect(stratagem("compile", spec, "-o", out).status).toBe(0);
  const before = readFileSync(out);
  const whole = readdirSync(home).sort();
  for (const moment of ["sync:3", "rename:8", "renamed:4"]) {
    expect(killedAt(moment, "compile", spec, "-o", out)).toBe("SIGKILL");
    expect(Buffer.compare(readFileSync(out), before)).toBe(0);
    expect(readdirSync(home).length).toBeGreaterThan(whole.length);
  }
  expect(stratagem("compile", spec, "-o", out).status).toBe(0);
  expect(readdirSync(home).sort()).toEqual(whole);
});

test("a pipe where the output belongs is refused before the work, in one line", () => {
  const out = join(root, "pipe");
  makePipe(out);
  expect(stratagem("report", BUNDLE, "-o", out)).toEqual({
    status: 65,
    stdout: "",
    stderr:
      `COMPILER_UNWRITABLE ${out}: expected a place that can be written, got: a named pipe; ` +
      "only files are replaced\n",
  });
  expect(lstatSync(out).isFIFO()).toBe(true);
});

test("a pipe is no bundle to compare with, and nothing waits for its writer", () => {
  const out = join(root, "compared");
  makePipe(out);
  const spec = "policies/letters/app.yaml";
  const { status, stderr } = stratagem("compile", spec, "-o", out, "--check");
  expect(stderr).toBe(`INPUT_UNREADABLE ${out}: cannot be read (not a file)\n`);
  expect(status).toBe(65);
});

describe("a user who is not root", () => {
  const user = nobody();
  const folder = mkdtempSync(join(root, "user-"));
  // The folder of all tests is private, and nobody is to look in.
  if (user !== null) chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o011);
  chmodSync(root, 0o755);
  chmodSync(folder, 0o755);
  copyFileSync(BUNDLE, join(folder, "bundle"));

  function asNobody(out: string): { status: number | null; stderr: string } {
    const args = [CLI, "report", join(folder, "bundle"), "-o", out];
    const { status, stderr } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      ...(user ?? {}),
    });
    return { status, stderr };
  }

  test("is told before the work where nothing may be written", ({ skip }) => {
    skip(user === null, "only root becomes another user");
    const readOnly = join(folder, "read-only");
    writeFileSync(readOnly, "old");
    mkdirSync(join(folder, "open"), { mode: 0o777 });
    chmodSync(join(folder, "open"), 0o777);
    writeFileSync(join(folder, "open/root's"), "old", { mode: 0o644 });
    for (const out of [join(folder, "new"), readOnly, join(folder, "open/root's")]) {
      const { status, stderr } = asNobody(out);
      expect(stderr).toBe(
        `COMPILER_UNWRITABLE ${out}: expected a place that can be written, got: EACCES\n`,
      );
      expect(status).toBe(65);
    }
    expect(readFileSync(readOnly, "utf8")).toBe("old");
    expect(readdirSync(join(folder, "open"))).toEqual(["root's"]);
  });
});
