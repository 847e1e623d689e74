/**
 * Fills the disk of a server's logs and frees it again: requests are answered, and every line is
 * whole, or counted as lost.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startServe } from "../experiments/harness/live.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import { asked, INFER_BODY, MODEL } from "./wire/letters.ts";

/** Room of the disk for each request: a line has some 600 bytes. */
const LINE_BYTES = 1024;
/** What a file leaves of it at first: less than half of the lines. */
const LEFT_BYTES = 64 * 1024;

export const DISKS: Part = {
  name: "disks",
  about: "fills the disk of the access log and frees it",
  unit: "requests",
  sizes: { full: 5000, short: 600 },
  minutes: 2,
  run,
};

async function run({ size, folder }: Attack): Promise<Outcome> {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  const options = `size=${size * LINE_BYTES}`;
  if (spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", disk]).status !== 0) {
    return { tried: 0, lost: [], figures: { disks: "none: mount needs more rights" } };
  }
  try {
    return await fillAndFree(disk, size);
  } finally {
    spawnSync("umount", ["-l", disk]);
  }
}

async function fillAndFree(disk: string, size: number): Promise<Outcome> {
  const [log, ballast] = [join(disk, "access.log"), join(disk, "ballast")];
  writeFileSync(ballast, Buffer.alloc(size * LINE_BYTES - LEFT_BYTES));
  const args = ["--models", "models/image-classification", "--access-log", log];
  const policy = "policies/letters/bundle.msgpack";
  const server = await startServe(policy, args, { isQuiet: true });
  const lost: string[] = [];
  const ask = async (count: number) => {
    for (let one = 0; one < count; one++) {
      const { status } = await asked(`${server.url}/v2/models/${MODEL}/infer`, INFER_BODY);
      if (status !== 200 && status !== 503) lost.push(`request ${one}: ${status}`);
    }
  };
  await ask(size / 2);
  const full = await lostLines(server.url);
  if (full === 0) lost.push("no line is counted as lost on a full disk");
  rmSync(ballast);
  await ask(size / 2);
  const dropped = await lostLines(server.url);
  const code = await server.stop();
  if (code !== 0) lost.push(`it ended with ${code}`);
  const lines = readFileSync(log, "utf8").split("\n");
  if (lines.pop() !== "") lost.push("the last line has no end");
  const whole = lines.filter(isJson).length;
  // The requests for metrics have lines too.
  const expected = 2 * Math.floor(size / 2) + 2 - dropped;
  if (whole !== expected) lost.push(`${whole} whole lines, expected ${expected}`);
  const figures = { "lines lost": `${dropped}`, "lines cut": `${lines.length - whole}` };
  return { tried: size, lost, figures };
}

async function lostLines(url: string): Promise<number> {
  const { text } = await asked(`${url}/metrics`);
  const found = /^stratagem_log_records_total\{log="access",outcome="lost"\} (\d+)$/m.exec(text);
  return Number(found?.[1] ?? Number.NaN);
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
