/** What a package brings, by the lock file; and the folder that installs just that. */
import { expect, test } from "vitest";
import { installDocuments } from "../../../lab/release/install-folder.ts";
import { closureOf, type Lock, readLock } from "../../../lab/release/lock.ts";

/** An app with a nested package, an optional one, a link, and one that only development needs. */
const LOCK: Lock = {
  packages: {
    "": { name: "root", version: "1.0.0" },
    app: { name: "the-app", version: "1.0.0", dependencies: { lib: "1.0.0", a: "^1" } },
    "app/node_modules/a": { version: "1.5.0", integrity: "sha512-nested", devOptional: true },
    lib: {
      name: "lib",
      version: "1.0.0",
      dependencies: { a: "^2" },
      optionalDependencies: { b: "1", gone: "1" },
    },
    "node_modules/lib": { resolved: "lib", link: true },
    "node_modules/a": { version: "2.0.0", dependencies: { c: "1" } },
    "node_modules/b": { version: "1.0.0", optional: true, dependencies: { c: "1", d: "1" } },
    "node_modules/c": { version: "1.0.0" },
    "node_modules/d": { version: "1.0.0" },
    "node_modules/dev-only": { version: "1.0.0", dev: true },
  },
};
const APP = { workspace: "app", file: "/somewhere/app-1.0.0.tgz", integrity: "sha512-app" };
const LIB = { workspace: "lib", file: "/somewhere/lib-1.0.0.tgz", integrity: "sha512-lib" };

test("a package brings what it needs as Node finds it, and nothing of development", () => {
  const closure = closureOf(LOCK, "app");
  expect(closure.map(({ folder, isOptional }) => [folder, isOptional])).toEqual([
    ["app", false],
    ["app/node_modules/a", false],
    ["lib", false],
    ["node_modules/a", false],
    ["node_modules/b", true],
    ["node_modules/c", false],
    ["node_modules/d", true],
  ]);
  expect(closure[0]).toMatchObject({ name: "the-app", needs: ["lib", "app/node_modules/a"] });
});

test("a package that is not pinned is named with who needs it", () => {
  const packages = { app: { version: "1.0.0", dependencies: { absent: "1" } } };
  expect(() => closureOf({ packages }, "app")).toThrow(/expected absent, which app needs/);
});

test("the folder of an install has the workspaces as packages among the others", () => {
  const { manifest, pins } = installDocuments(LOCK, [LIB, APP]);
  const dependencies = { lib: "file:lib-1.0.0.tgz", "the-app": "file:app-1.0.0.tgz" };
  expect(manifest).toMatchObject({ dependencies: expect.objectContaining(dependencies) });
  expect(pins).toMatchObject({
    lockfileVersion: 3,
    packages: {
      "node_modules/the-app": { resolved: "file:app-1.0.0.tgz", integrity: "sha512-app" },
      "node_modules/lib": { resolved: "file:lib-1.0.0.tgz", integrity: "sha512-lib" },
      "node_modules/the-app/node_modules/a": { version: "1.5.0", integrity: "sha512-nested" },
      "node_modules/b": { optional: true },
    },
  });
  expect(JSON.stringify(pins)).not.toContain("devOptional");
  expect(JSON.stringify(pins)).not.toContain("dev-only");
});

test("a workspace that another one needs must be among the tarballs", () => {
  expect(() => installDocuments(LOCK, [APP])).toThrow(/^lib: expected a tarball of it/);
});

test("of this repository, the runtime brings no solver and the compiler brings the runtime", () => {
  const lock = readLock();
  const runtime = closureOf(lock, "runtime").map(({ name }) => name);
  const compiler = closureOf(lock, "compiler").map(({ name }) => name);
  expect(runtime).toEqual(expect.arrayContaining(["onnxruntime-node", "msgpackr"]));
  expect(runtime).not.toContain("glpk.js");
  expect(compiler).toEqual(expect.arrayContaining([...runtime, "glpk.js"]));
  expect(compiler).not.toContain("vitest");
});
