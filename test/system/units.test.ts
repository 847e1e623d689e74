/** The unit, alone and with the drop-in for edge nodes, by systemd's own checks. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { testWith } from "./needs.ts";

const UNIT = "stratagem.service";
const EDGE = "stratagem-edge.conf";
const folder = mkdtempSync(join(tmpdir(), "stratagem-units-"));
afterAll(() => rmSync(folder, { recursive: true }));
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
const verifies = testWith("systemd-analyze", hasSystemd);

/** Lays the unit where systemd looks for it, with this machine's Node and changed at will. */
function laid(name: string, dropIns: readonly string[], change = (text: string) => text): string {
  const path = join(folder, name);
  mkdirSync(join(path, `${UNIT}.d`), { recursive: true });
  const lay = (file: string, to: string): void => {
    const text = readFileSync(`docs/deploy/${file}`, "utf8");
    writeFileSync(to, change(text.replaceAll("/usr/bin/node", process.execPath)));
  };
  lay(UNIT, join(path, UNIT));
  for (const dropIn of dropIns) lay(dropIn, join(path, `${UNIT}.d`, dropIn));
  return path;
}

/** What systemd says of the unit, and with which status. */
function verified(path: string): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", UNIT], {
    env: { ...process.env, SYSTEMD_UNIT_PATH: `${path}:/usr/lib/systemd/system` },
    encoding: "utf8",
  });
  const own = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("stratagem"));
  return { status, said: own.join("\n") };
}

verifies("systemd verifies the unit", () => {
  expect(verified(laid("base", []))).toEqual({ status: 0, said: "" });
});

verifies("systemd verifies the unit of an edge node", () => {
  expect(verified(laid("edge", [EDGE]))).toEqual({ status: 0, said: "" });
});

verifies("systemd tells a key that there is not, in the unit and in the drop-in", () => {
  const inUnit = (text: string): string => text.replace("NoNewPrivileges=", "NoNewPrivilege=");
  expect(verified(laid("bad", [], inUnit)).said).toMatch(/Unknown key.*NoNewPrivilege/);
  const inDropIn = (text: string): string => text.replace("LoadCredential=", "LoadCredentials=");
  expect(verified(laid("bad-edge", [EDGE], inDropIn)).said).toMatch(/Unknown key.*LoadCredentials/);
});

test("an edge node keeps its revisions where systemd gives it a folder", () => {
  const dropIn = readFileSync(`docs/deploy/${EDGE}`, "utf8");
  expect(dropIn).toMatch(/^StateDirectory=stratagem$/m);
  // The first line clears what the unit starts.
  expect(dropIn.match(/^ExecStart=.*$/gm)?.[0]).toBe("ExecStart=");
});
