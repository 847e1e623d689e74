/** A server killed at any step of an update starts again with a complete bundle. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sidecarOf } from "../../../../runtime/bundles/shipping/sidecars.ts";
import { Trust } from "../../../../runtime/bundles/trust/trust.ts";
import { FollowedPolicy } from "../../../../runtime/features/sources/followed-policy.ts";
import { HttpClient } from "../../../../runtime/features/sources/http-client.ts";
import { HttpSource } from "../../../../runtime/features/sources/http-source.ts";
import { PolicyStore } from "../../../../runtime/features/sources/policy-store.ts";
import { DISK, type StoreFiles } from "../../../../runtime/features/sources/store-files.ts";
import { someOf } from "../../../support/cases.ts";
import { PolicySite } from "../../../support/policy-site.ts";
import {
  bytesOf,
  type Published,
  published,
  signed,
  signer,
} from "../../../support/published-policy.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-cut-power-"));
const keyFile = join(folder, "team.pub");
const key = signer();
let site: PolicySite;

/** Of the steps, what `npm test` tries. */
const SHARE = 4;

const before = published();
const after = published({ sloMs: 120, models: { "small.onnx": bytesOf("another") } });

beforeAll(async () => {
  writeFileSync(keyFile, key.pem);
  site = await PolicySite.open();
});

afterAll(async () => {
  await site.close();
  rmSync(folder, { recursive: true });
});

function publish(what: Published, serial: number): void {
  site.put("/bundle.msgpack", what.bundle);
  site.put("/bundle.msgpack.dsse.json", signed(what, key, { serial }));
  for (const [file, bytes] of Object.entries(what.models)) site.put(`/${file}`, bytes);
}

/** Does its first steps, half of the next one, and nothing ever after. */
class Mortal implements StoreFiles {
  done = 0;
  isDead = false;
  readonly #steps: number;

  constructor(steps: number) {
    this.#steps = steps;
  }

  makeFolder(path: string): Promise<void> {
    return this.#step(() => DISK.makeFolder(path));
  }

  writeNew(path: string, bytes: Uint8Array): Promise<void> {
    const half = async () => {
      await DISK.writeNew(path, bytes);
      await truncate(path, bytes.length >> 1);
    };
    return this.#step(() => DISK.writeNew(path, bytes), half);
  }

  link(from: string, to: string): Promise<void> {
    return this.#step(() => DISK.link(from, to));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#step(() => DISK.rename(from, to));
  }

  remove(path: string): Promise<void> {
    return this.#step(() => DISK.remove(path));
  }

  async #step(whole: () => Promise<void>, half = async () => {}): Promise<void> {
    if (this.done < this.#steps) {
      this.done++;
      return whole();
    }
    if (!this.isDead) await half();
    this.isDead = true;
    throw new Error("killed");
  }
}

function trustIn(home: string): Promise<Trust> {
  const memory = join(home, "serials");
  return Trust.open({ keyFiles: [keyFile], labels: {}, memory, nowEpochMs: Date.now });
}

async function policyIn(
  home: string,
  files: StoreFiles,
  url: string,
  trust: Trust,
): Promise<FollowedPolicy> {
  const store = await PolicyStore.open(join(home, "store"), files);
  return new FollowedPolicy({
    source: new HttpSource(url, new HttpClient()),
    store,
    policy: await store.policy("team"),
    trust,
    hasOwnModels: false,
    pace: { pollMs: 60_000, random: () => 0.5 },
    nowEpochMs: Date.now,
    onNotice: () => {},
    onChange: () => {},
    wait: (_, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
  });
}

/** A start, and a look at what the source has. @returns digests of what it served, in turn. */
async function life(home: string, files: StoreFiles, url: string): Promise<string[]> {
  const trust = await trustIn(home);
  const policy = await policyIn(home, files, url, trust);
  const served: string[] = [];
  // A server remembers the serial of what it follows before anybody knows that it does.
  const remember = async () => {
    const { inForce } = policy.status;
    if (inForce?.claims) await trust.accept(inForce.claims);
  };
  try {
    await policy.start();
    served.push(policy.status.inForce?.revision.sha256 ?? "");
    await remember();
    const follow = async (path: string) => {
      const envelope = readFileSync(sidecarOf(path, "signature"));
      await trust.accept(await trust.expect(readFileSync(path), envelope));
      return { isFollowed: true, notice: "serving it" };
    };
    policy.run({ follow, inUse: () => [] }, Promise.resolve());
    await policy.look();
    served.push(policy.status.inForce?.revision.sha256 ?? "");
  } finally {
    await policy.close();
  }
  return served;
}

test("at any step it is killed at", async () => {
  const url = `${site.url}/bundle.msgpack`;
  publish(before, 1);
  const settled = join(folder, "settled");
  expect(await life(settled, DISK, url)).toEqual([before.sha256, before.sha256]);
  publish(after, 2);
  // How many steps an update has.
  const whole = new Mortal(Number.POSITIVE_INFINITY);
  const untouched = join(folder, "untouched");
  cpSync(settled, untouched, { recursive: true });
  expect(await life(untouched, whole, url)).toEqual([before.sha256, after.sha256]);
  expect(whole.done).toBeGreaterThan(12);
  const starts: string[] = [];
  const all = [...Array(whole.done).keys()];
  for (const steps of new Set([...someOf(all, SHARE), whole.done - 1])) {
    const home = join(folder, `killed-${steps}`);
    cpSync(settled, home, { recursive: true });
    const mortal = new Mortal(steps);
    await life(home, mortal, url).catch(() => {});
    expect(mortal.isDead).toBe(true);
    // The source is away at the next start, whatever was done by then.
    const [away = ""] = await life(home, DISK, "http://127.0.0.1:1/bundle.msgpack");
    starts.push(away);
    expect(await life(home, DISK, url)).toEqual([away, after.sha256]);
  }
  // First the one before, and from some step on the one after.
  const [first] = starts;
  const firstAfter = starts.indexOf(after.sha256);
  expect(first).toBe(before.sha256);
  expect(firstAfter).toBeGreaterThan(0);
  expect(new Set(starts.slice(0, firstAfter))).toEqual(new Set([before.sha256]));
  expect(new Set(starts.slice(firstAfter))).toEqual(new Set([after.sha256]));
});
