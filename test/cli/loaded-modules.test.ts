/** A command loads its own code, the method of its bundle and libraries that it uses, no more. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type ApplicationSketch, writeApplication } from "../contract/application.ts";
import { SUBJECTS } from "../contract/subjects.ts";
import { loadedModules } from "../support/loaded-modules.ts";

const CLI = "compiler/dist/cli.js";
const RUNTIME_CLI = "runtime/dist/cli.js";
const folder = mkdtempSync(join(tmpdir(), "stratagem-loaded-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What nothing needs that only reads specs and bundles. */
const HEAVY = ["@grpc/grpc-js", "@observablehq/plot", "linkedom", "mathjs", "undici"];
/** Rooms of a server, and of workers of others. */
const OF_SERVERS = /^runtime\/(server\/(http|grpc|json)|remote|cluster|agent|sources)\//;
/** A task of its plans may have a table, so that its solver has that of tables. */
const SOLVED_WITH = new Map([["loki", ["loki", "ramsis"]]]);

describe.each(SUBJECTS)("of $method", ({ method, compiled }) => {
  const home = mkdtempSync(join(folder, "app-"));
  const bundle = join(home, "bundle.msgpack");

  test("compile loads no other method, no server and no heavy library", () => {
    const app = writeApplication(home, compiled);
    const { own, packages, methods } = loadedModules(CLI, ["compile", app, "-o", bundle]);
    const solvedWith = SOLVED_WITH.get(method) ?? [method];
    expect(methods).toEqual({ compiler: solvedWith, runtime: solvedWith });
    expect(own.filter((path) => OF_SERVERS.test(path))).toEqual([]);
    expect(packages.filter((name) => HEAVY.includes(name))).toEqual([]);
  });

  test("inspect on an edge node loads that method, and two libraries", () => {
    const { own, packages, methods } = loadedModules(RUNTIME_CLI, ["inspect", bundle]);
    expect(methods).toEqual({ compiler: [], runtime: [method] });
    expect(own.filter((path) => OF_SERVERS.test(path))).toEqual([]);
    expect(packages).toEqual(["commander", "msgpackr"]);
  });
});

test("the version is told with nothing but what reads it", () => {
  for (const script of [CLI, RUNTIME_CLI]) {
    const { own, packages } = loadedModules(script, ["--version"]);
    expect(packages).toEqual(["commander"]);
    expect(own.filter((path) => /command-line|cli$|errors?$|version/.test(path))).not.toEqual([]);
    expect(own.length).toBeLessThan(15);
  }
});

test("a spec that names no model is compiled without what reads models", () => {
  const themis = SUBJECTS.find(({ method }) => method === "themis");
  if (themis === undefined) throw new Error("themis is a subject");
  const home = mkdtempSync(join(folder, "no-model-"));
  const app = writeApplication(home, withoutModels(themis.compiled));
  const args = ["compile", app, "-o", join(home, "bundle.msgpack")];
  const { own, packages } = loadedModules(CLI, args);
  expect(own.filter((path) => path.startsWith("runtime/exec/"))).toEqual([]);
  // It was 482 when every command loaded all methods and all verbs; 271 are there now.
  expect(own.length).toBeLessThan(300);
  expect(packages).not.toContain("onnxruntime-node");
});

function withoutModels(sketch: ApplicationSketch): ApplicationSketch {
  const text = JSON.stringify(sketch, (key, value) => (key === "model" ? undefined : value));
  return JSON.parse(text);
}
