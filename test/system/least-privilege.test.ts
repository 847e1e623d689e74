/**
 * The server and its workers where they may do next to nothing: as nobody, on a root that is
 * read-only, without capabilities, new privileges or a folder to write to.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { testWith } from "./needs.ts";

const NO_WORKER = "65534";
const AS_NOBODY = [
  ...["setpriv", `--reuid=${NO_WORKER}`, `--regid=${NO_WORKER}`, "--clear-groups"],
  ...["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"],
];
const READ_ONLY = [
  ...["bwrap", "--unshare-all", "--share-net", "--die-with-parent", "--cap-drop", "ALL"],
  ...["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"],
  // This checkout may itself be a temporary one.
  ...["--tmpfs", "/tmp", "--ro-bind", resolve("."), resolve("."), "--remount-ro", "/tmp"],
  ...["--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--chdir", "/"],
];
const CONFINED = [...AS_NOBODY, ...READ_ONLY, process.execPath];
const CLI = resolve("runtime/dist/cli.js");

test("the recommended unit and pod are what docs/operate.md says", () => {
  const unit = readFileSync("docs/deploy/stratagem.service", "utf8");
  expect(unit).toMatch(/^NoNewPrivileges=yes$/m);
  expect(unit).toMatch(/^SystemCallFilter=@system-service$/m);
  expect(readFileSync("docs/deploy/pod.yaml", "utf8")).toContain("readOnlyRootFilesystem: true");
});

const verifies = testWith("systemd-analyze", runs("systemd-analyze", "--version"));
verifies("the recommended unit is one that systemd takes, and rates as little exposed", () => {
  const args = ["security", "--offline=true", "--threshold=20"];
  const unit = resolve("docs/deploy/stratagem.service");
  const { status, stdout } = spawnSync("systemd-analyze", [...args, unit], { encoding: "utf8" });
  expect(stdout).toMatch(/Overall exposure level for stratagem\.service: [01]\.\d/);
  expect(status).toBe(0);
});

const confined = testWith("setpriv, bwrap, root and node for all", runs(...CONFINED, "-e", "0"));
confined("answers as nobody on a read-only root, in the server and in its workers", async () => {
  const [program = "", ...args] = CONFINED;
  const server = spawn(
    program,
    [
      ...[...args, CLI, "serve", "--policy", resolve("policies/letters/bundle.msgpack")],
      ...["--models", resolve("models/image-classification"), "--http", "127.0.0.1:0", "--json"],
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(server, "exit");
  try {
    const url = await servedAt(server);
    const inputs = [{ name: "pixels", datatype: "UINT8", shape: [1, 4096], data: pixels() }];
    const answer = await fetch(`${url}/v2/models/letters/infer`, {
      method: "POST",
      body: JSON.stringify({ inputs }),
    });
    expect(answer.status).toBe(200);
    const nodes = descendantsOf(Number(server.pid)).filter((pid) => commandOf(pid) === "node");
    // The server, its worker and the standby.
    expect(nodes).toHaveLength(3);
    for (const pid of nodes) {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      expect(status).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);
      expect(status).toMatch(/^CapBnd:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    }
  } finally {
    server.kill("SIGTERM");
    await ended;
  }
});

function pixels(): number[] {
  return new Array(4096).fill(255);
}

function runs(program = "", ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
}

function descendantsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return children
    .split(" ")
    .filter((child) => child !== "")
    .flatMap((child) => [Number(child), ...descendantsOf(Number(child))]);
}

/** Where a server serves, once it does. */
async function servedAt(server: ChildProcess): Promise<string> {
  let said = "";
  for await (const chunk of server.stdout ?? []) {
    said += chunk;
    if (said.endsWith("}\n")) return JSON.parse(said).url;
  }
  throw new Error(`the server ended before it served: ${said}`);
}
