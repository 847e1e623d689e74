/**
 * `compile --shard` and `merge` as processes, on bundles that lie in the repository, in 1, 3 and 7
 * parts. It takes four minutes on two cores that others use, too.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type CliRun, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-shards-"));
afterAll(() => rmSync(folder, { recursive: true }));

const part = (policy: string, number: number, of: number) => {
  return join(folder, `${policy}-${number}-of-${of}.part`);
};

function shard(policy: string, number: number, of: number, out = part(policy, number, of)): CliRun {
  const app = `policies/${policy}/app.yaml`;
  return stratagem("compile", app, "--shard", `${number}/${of}`, "-o", out, "--json");
}

/** All five methods, a cascade, and of inferline more shards than levels: they divide searches. */
const POLICIES = ["voice", "scenes", "ocr-inferline", "cascade", "scaling", "malleable"] as const;
const CASES = POLICIES.flatMap((policy) => [1, 3, 7].map((of) => ({ policy, of })));

test.each(CASES)("$of parts of $policy are the bundle that is there", ({ policy, of }) => {
  const numbers = Array.from({ length: of }, (_, index) => index + 1);
  for (const number of numbers) expect(shard(policy, number, of).status).toBe(0);
  const parts = numbers.map((number) => part(policy, number, of));
  const checked = `policies/${policy}/bundle.msgpack`;
  // Stages of models lie beside it, and are compared too.
  const check = stratagem(
    "merge",
    ...parts,
    "-o",
    checked,
    "--check",
    "--require",
    "none",
    "--json",
  );
  expect(check).toMatchObject({ status: 0, stderr: "" });
  const merged = { solvedHere: 0, searchedHere: 0, differing: 0 };
  expect(JSON.parse(check.stdout)).toMatchObject({ same: true, merged });
  if (of === 1) return;
  const lost = stratagem("merge", ...parts.slice(0, -1), "-o", join(folder, "lost"));
  expect(lost.status).toBe(65);
  expect(lost.stderr).toContain(`shard ${of} is lost`);
});

test("a shard goes on from what an interrupted one has left", () => {
  const [out, again] = [join(folder, "whole.part"), join(folder, "again.part")];
  expect(shard("voice", 1, 1, out).status).toBe(0);
  const lines = readFileSync(out, "utf8").split("\n");
  // A header, two levels, and the beginning of a third, as where a machine was taken away.
  const left = `${lines.slice(0, 3).join("\n")}\n${lines[3]?.slice(0, 50)}`;
  writeFileSync(`${again}.partial`, left);
  const status = stratagem("merge", again, "--status", "--json");
  expect(JSON.parse(status.stdout)).toMatchObject({
    complete: false,
    shards: [{ state: "unfinished", levels: 2, planned: 4 }],
  });
  const unfinished = stratagem("merge", again, "-o", join(folder, "unfinished"));
  expect(unfinished.status).toBe(65);
  expect(unfinished.stderr).toContain("shard 1 is unfinished");
  expect(JSON.parse(shard("voice", 1, 1, again).stdout)).toMatchObject({ kept: 2 });
  const bundle = join(folder, "voice.msgpack");
  expect(stratagem("merge", again, "-o", bundle, "--require", "none").status).toBe(0);
  expect(readFileSync(bundle).equals(readFileSync("policies/voice/bundle.msgpack"))).toBe(true);
});

test("parts that were damaged, and other files, are refused by name", () => {
  const damaged = join(folder, "damaged.part");
  copyFileSync(join(folder, "whole.part"), damaged);
  writeFileSync(damaged, readFileSync(damaged, "utf8").slice(0, -40));
  for (const path of [damaged, "README.md"]) {
    const run = stratagem("merge", path, "-o", join(folder, "none"));
    expect(run.status).toBe(65);
    expect(run.stderr).toContain(`INPUT_PARTS ${path}: expected a part`);
  }
  expect(stratagem("merge", damaged).status).toBe(64);
  const app = "policies/voice/app.yaml";
  expect(stratagem("compile", app, "--shard", "4/3", "-o", damaged).status).toBe(64);
});
