/** The check of a GPU: packed, and run on a machine that has neither Node nor this checkout. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect } from "vitest";
import type { TruthTable } from "../../lab/gpu/truth-table.ts";
import { testWith } from "./needs.ts";

const MIB = 2 ** 20;
/** In front of the command: a machine without this checkout, a home, a network, Node and xz. */
const BARE = [
  ...["--ro-bind", "/", "/", "--tmpfs", resolve("."), "--dev", "/dev", "--proc", "/proc"],
  ...["--unshare-net", "--unshare-pid", "--die-with-parent"],
  ...[process.execPath, ...found("xz")].flatMap((file) => ["--ro-bind", "/dev/null", file]),
];
const DRIVER = "/usr/lib/chromium/vk_swiftshader_icd.json";

const folder = mkdtempSync(join(tmpdir(), "stratagem-gpu-check-"));
const pack = join(folder, "pack.tar");
afterAll(() => rmSync(folder, { recursive: true }));

const isPacking = process.platform === "linux" && process.arch === "x64" && has("strip", "xz");
const packing = testWith("Linux on x86-64 with strip and xz", isPacking);
const running = testWith(
  "bwrap, and chromium's driver of Vulkan",
  isPacking && has("bwrap") && existsSync(DRIVER),
);

packing("the pack is small enough to travel and says what is in it", () => {
  const said = execFileSync("lab/gpu/check", ["--fast", "-o", pack], { encoding: "utf8" });
  expect(statSync(pack).size).toBeLessThan(60 * MIB);
  for (const part of ["node", "onnxruntime", "modules", "product", "models", "libraries", "all"]) {
    expect(said).toMatch(new RegExp(`^${part} +[0-9.]+ +[0-9.]+$`, "m"));
  }
});

running("a bare machine unpacks it and prints the table of what was asked for", () => {
  const bare = join(folder, "bare");
  mkdirSync(bare);
  const here = ["--bind", bare, "/tmp", "--ro-bind", pack, "/tmp/pack.tar", "--chdir", "/tmp"];
  const sections = "agreement,throughput";
  const script = `tar xf pack.tar && exec gpu-check/run --out table --sections ${sections}`;
  const { status, stdout, stderr } = spawnSync("bwrap", [...BARE, ...here, "sh", "-c", script], {
    encoding: "utf8",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", VK_ICD_FILENAMES: DRIVER },
  });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^software driver: figures say nothing about hardware \(vk_swiftshader/);
  expect(status).toBe(0);
  const file = join(bare, "table/table.json");
  const { sections: told } = JSON.parse(readFileSync(file, "utf8")) as TruthTable;
  expect(told.map(({ name, error, broken }) => [name, error, broken])).toEqual([
    ["agreement", null, 0],
    ["throughput", null, 0],
  ]);
  expect(told[0]?.rows.length).toBeGreaterThan(0);
  expect(told[1]?.rows).toHaveLength(2);
  const page = readFileSync(join(bare, "table/table.md"), "utf8");
  expect(page.split("\n").filter((line) => line.length > 100)).toEqual([]);
});

/** Whether programs are there, by name. */
function has(...programs: readonly string[]): boolean {
  return programs.every((name) => found(name).length > 0);
}

/** The file of a program, none where it is not there. */
function found(program: string): string[] {
  const { status, stdout } = spawnSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" });
  return status === 0 ? [realpathSync(stdout.trim())] : [];
}
