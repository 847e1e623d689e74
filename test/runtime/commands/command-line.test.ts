/** How a program ends: every end but that by a signal has a message and a documented exit code. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "stratagem-program-"));
afterAll(() => rmSync(folder, { recursive: true }));

const module = (path: string) => JSON.stringify(pathToFileURL(`runtime/dist/${path}`).href);

/** Runs a program with one command, whose action is given. */
function ended(action: string, ...flags: string[]) {
  const program = `
    import { Command } from ${JSON.stringify(import.meta.resolve("commander"))};
    import { print, runProgram } from ${module("commands/command-line.js")};
    import { realWait } from ${module("base/wait.js")};
    import { RuntimeError } from ${module("base/errors.js")};
    const add = async (to) => void to.command("act").action(async () => { ${action} });
    await runProgram(new Command("p").exitOverride(), [{ name: "act", add }]);
  `;
  const path = join(folder, "program.mjs");
  writeFileSync(path, program);
  const argv = [path, "act", ...flags];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  return { status, stdout, stderr };
}

test.each([
  ["a promise that nothing settles", "await new Promise(() => {});", "work pending"],
  ["a timer that is not waited for", "await new Promise((r) => setTimeout(r, 1e6).unref());", ""],
  ["an error", 'throw new TypeError("odd");', "TypeError: odd"],
  ["an error of a callback", 'setImmediate(() => { throw new Error("late"); });', "Error: late"],
  ["a rejection", 'void Promise.reject(new Error("lone"));', "Error: lone"],
])("%s is an internal error with exit code 1", (_, action, reason) => {
  const { status, stdout, stderr } = ended(action, "--json");
  expect(status).toBe(1);
  expect(stderr).toMatch(/^RUNTIME_INTERNAL internal error, please report it: /);
  expect(stderr).toContain(reason);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "RUNTIME_INTERNAL" } });
});

test("a command whose only work is a wait goes on after it", () => {
  const wait = "await realWait(20, new AbortController().signal);";
  const { status, stdout } = ended(`${wait} print({ exitCode: 2, text: "over", json: {} });`);
  expect([status, stdout]).toEqual([2, "over\n"]);
});

test("a shortage of the machine is no bug", () => {
  const error = 'Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" })';
  const { status, stderr } = ended(`throw ${error};`);
  expect(status).toBe(65);
  expect(stderr).toMatch(/^RUNTIME_MEANS EMFILE: too many open files; raise the limit/);
});
