/** Whether a site follows a bundle: every way in which a signature does not hold, by its code. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { RuntimeError } from "../../../../runtime/base/errors.ts";
import { signedBytes } from "../../../../runtime/bundles/trust/envelope.ts";
import type { Labels } from "../../../../runtime/bundles/trust/labels.ts";
import { statementBytes } from "../../../../runtime/bundles/trust/statement.ts";
import { Trust } from "../../../../runtime/bundles/trust/trust.ts";
import { casesOf } from "../../../support/cases.ts";
import {
  envelopeAround,
  envelopeOf,
  signatureFolder,
  statementAbout,
  testKey,
} from "../../../support/signatures.ts";

const folder = signatureFolder();
afterAll(() => rmSync(folder, { recursive: true }));

const BUNDLE = Buffer.from("any bytes at all, for nothing is decoded before the signature holds");
const OTHER = Buffer.from("other bytes");
const NOW_MS = Date.UTC(2026, 10, 23, 12);
const ours = testKey(folder, "ours");
const next = testKey(folder, "next");
const theirs = testKey(folder, "theirs");
let memories = 0;

interface Site {
  readonly keyFiles?: readonly string[];
  readonly labels?: Labels | null;
  readonly nowMs?: number;
  readonly memory?: string | null;
}

function trustOf({ keyFiles = [ours.pub], labels = {}, nowMs = NOW_MS, memory = null }: Site = {}) {
  return Trust.open({ keyFiles, labels, nowEpochMs: () => nowMs, memory });
}

function newMemory(): string {
  return join(folder, `serials-${memories++}`, "deep");
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "accepted",
    (error) => {
      expect(error).toBeInstanceOf(RuntimeError);
      return (error as RuntimeError).code;
    },
  );
}

describe("a signature", () => {
  test("that holds says what it says, and by which key", async () => {
    const statement = statementAbout(BUNDLE, { expiresAt: "2026-11-23T12:00:01Z" });
    const claims = await (await trustOf()).expect(BUNDLE, envelopeOf(statement, ours));
    expect(claims).toEqual({ ...statement, keyId: ours.id });
  });

  test("is of type, lengths and payload, as the format's own example has it", () => {
    const signed = signedBytes("http://example.com/HelloWorld", Buffer.from("hello world"));
    expect(Buffer.from(signed).toString()).toBe(
      "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
    );
  });

  test.each([
    ["none", "RUNTIME_UNSIGNED", {}, () => null],
    ["another key's", "RUNTIME_WRONG_KEY", {}, () => envelopeOf(statementAbout(BUNDLE), theirs)],
    ["another file's", "RUNTIME_SIGNATURE", {}, () => envelopeOf(statementAbout(OTHER), ours)],
    [
      "one that expires now",
      "RUNTIME_EXPIRED",
      {},
      () => envelopeOf(statementAbout(BUNDLE, { expiresAt: "2026-11-23T12:00:00Z" }), ours),
    ],
    [
      "another site's",
      "RUNTIME_SCOPE",
      { labels: { site: "paris" } },
      () => envelopeOf(statementAbout(BUNDLE, { scope: { site: "berlin" } }), ours),
    ],
    [
      "that of a site, where the site has no labels",
      "RUNTIME_SCOPE",
      {},
      () => envelopeOf(statementAbout(BUNDLE, { scope: { site: "berlin" } }), ours),
    ],
  ])("%s is %s", async (_name, code, site: Site, envelope) => {
    const trust = await trustOf(site);
    expect(await codeOf(trust.expect(BUNDLE, envelope()))).toBe(code);
  });

  test("of a site holds there, and where no site is asked for", async () => {
    const envelope = envelopeOf(statementAbout(BUNDLE, { scope: { site: "berlin" } }), ours);
    for (const labels of [{ site: "berlin", tier: "edge" }, null]) {
      const trust = await trustOf({ labels });
      expect((await trust.expect(BUNDLE, envelope)).serial).toBe(7);
    }
  });

  test("by a key that was put in the place of another's name does not hold", async () => {
    const impostor = { ...theirs, id: ours.id };
    const envelope = envelopeOf(statementAbout(BUNDLE), impostor);
    expect(await codeOf((await trustOf()).expect(BUNDLE, envelope))).toBe("RUNTIME_SIGNATURE");
  });

  test("of another type of payload does not hold", async () => {
    const payload = statementBytes(statementAbout(BUNDLE));
    const envelope = envelopeAround(payload, [ours], "application/vnd.in-toto+json");
    expect(await codeOf((await trustOf()).expect(BUNDLE, envelope))).toBe("RUNTIME_SIGNATURE");
    const relabelled = Buffer.from(
      Buffer.from(envelope)
        .toString()
        .replace("application/vnd.in-toto+json", "application/vnd.stratagem.signature.v1+json"),
    );
    expect(await codeOf((await trustOf()).expect(BUNDLE, relabelled))).toBe("RUNTIME_SIGNATURE");
  });

  test.each([
    ["a field that is not known", { notBefore: "2030-01-01" }],
    ["a later version", { version: 2 }],
    ["a serial that is no whole number", { serial: 1.5 }],
    ["a time that is none", { expiresAt: "soon" }],
    ["a folder in the name of a file", { models: [{ file: "../x", sha256: "2".repeat(64) }] }],
    ["labels that are a text", { scope: "site=berlin" }],
  ])("by a trusted key that says %s is refused", async (_name, other) => {
    const said = { ...JSON.parse(String(statementBytes(statementAbout(BUNDLE)))), ...other };
    const envelope = envelopeAround(Buffer.from(JSON.stringify(said)), [ours]);
    expect(await codeOf((await trustOf()).expect(BUNDLE, envelope))).toBe("RUNTIME_SIGNATURE");
  });

  test("is refused, or says the same, whatever byte of it is changed", async () => {
    const statement = statementAbout(BUNDLE, { scope: { site: "berlin" } });
    const good = envelopeOf(statement, ours);
    const trust = await trustOf({ labels: { site: "berlin" } });
    const change = fc.record({
      at: fc.nat({ max: good.length - 1 }),
      to: fc.nat({ max: 255 }),
      isCut: fc.boolean(),
    });
    const property = fc.asyncProperty(change, async ({ at, to, isCut }) => {
      const changed = Uint8Array.from(isCut ? good.subarray(0, at) : good);
      if (!isCut) changed[at] = to;
      const claims = await trust.expect(BUNDLE, changed).catch((error) => {
        expect(error).toBeInstanceOf(RuntimeError);
        return null;
      });
      if (claims !== null) expect(claims).toEqual({ ...statement, keyId: ours.id });
    });
    await fc.assert(property, { numRuns: casesOf(3000) });
  });

  test("is refused whatever byte of the bundle is changed", async () => {
    const trust = await trustOf();
    const envelope = envelopeOf(statementAbout(BUNDLE), ours);
    for (const at of BUNDLE.keys()) {
      const changed = Uint8Array.from(BUNDLE);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await codeOf(trust.expect(changed, envelope))).toBe("RUNTIME_SIGNATURE");
    }
  });
});

describe("keys", () => {
  test("are replaced one after the other, without a bundle that is refused", async () => {
    const statement = statementAbout(BUNDLE);
    const signedBy = { old: envelopeOf(statement, ours), both: envelopeOf(statement, ours, next) };
    const atNew = await trustOf({ keyFiles: [next.pub] });
    expect(await codeOf(atNew.expect(BUNDLE, signedBy.old))).toBe("RUNTIME_WRONG_KEY");
    expect((await atNew.expect(BUNDLE, signedBy.both)).keyId).toBe(next.id);
    const atOld = await trustOf();
    expect((await atOld.expect(BUNDLE, signedBy.both)).keyId).toBe(ours.id);
    const atBoth = await trustOf({ keyFiles: [ours.pub, next.pub] });
    expect((await atBoth.expect(BUNDLE, signedBy.old)).keyId).toBe(ours.id);
  });

  test("are trusted as long as they are in their files", async () => {
    const path = join(folder, "rotated.pub");
    writeFileSync(path, readFileSync(ours.pub));
    const trust = await trustOf({ keyFiles: [path] });
    const envelope = envelopeOf(statementAbout(BUNDLE), ours);
    expect(await codeOf(trust.expect(BUNDLE, envelope))).toBe("accepted");
    writeFileSync(path, readFileSync(next.pub));
    expect(await codeOf(trust.expect(BUNDLE, envelope))).toBe("RUNTIME_WRONG_KEY");
    writeFileSync(path, `${readFileSync(next.pub)}${readFileSync(ours.pub)}`);
    expect(await codeOf(trust.expect(BUNDLE, envelope))).toBe("accepted");
    rmSync(path);
    expect(await codeOf(trust.expect(BUNDLE, envelope))).toBe("RUNTIME_UNREADABLE");
  });

  test.each([
    ["nothing", "", "got something else"],
    ["a private key", ours.key.export({ type: "pkcs8", format: "pem" }), "got a private key"],
    ["a block that is cut", readFileSync(ours.pub, "utf8").slice(0, 60), "a file that ends before"],
    [
      "a block that is not a key",
      "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
      "got a block that is not a key",
    ],
  ])("of a file with %s are refused", async (name, content, message) => {
    const path = join(folder, `${name}.pub`.replaceAll(" ", "-"));
    writeFileSync(path, content);
    const opening = trustOf({ keyFiles: [path] });
    await expect(opening).rejects.toMatchObject({
      code: "RUNTIME_KEY",
      message: expect.stringContaining(message),
    });
  });
});

describe("a serial", () => {
  const signed = (serial: number, bundle = BUNDLE) => {
    return envelopeOf(statementAbout(bundle, { serial }), ours);
  };

  test("that is older than one that was followed is refused, after a restart too", async () => {
    const memory = newMemory();
    const first = await trustOf({ memory });
    await first.accept(await first.expect(BUNDLE, signed(7)));
    for (const trust of [first, await trustOf({ memory })]) {
      expect(await codeOf(trust.expect(BUNDLE, signed(6)))).toBe("RUNTIME_ROLLBACK");
      expect(await codeOf(trust.expect(BUNDLE, signed(7)))).toBe("accepted");
      expect(await codeOf(trust.expect(OTHER, signed(7, OTHER)))).toBe("RUNTIME_ROLLBACK");
      expect(await codeOf(trust.expect(OTHER, signed(8, OTHER)))).toBe("accepted");
    }
  });

  test("is remembered once it is accepted, and not when it is looked at", async () => {
    const trust = await trustOf({ memory: newMemory() });
    await trust.expect(BUNDLE, signed(9));
    expect(await codeOf(trust.expect(BUNDLE, signed(8)))).toBe("accepted");
  });

  test("that is followed goes on after its expiry, but is not taken up then", async () => {
    const memory = newMemory();
    const statement = statementAbout(BUNDLE, { expiresAt: "2026-11-24" });
    const envelope = envelopeOf(statement, ours);
    const before = await trustOf({ memory });
    const claims = await before.expect(BUNDLE, envelope);
    const after = await trustOf({ memory, nowMs: NOW_MS + 86_400_000 });
    expect(await codeOf(after.expect(BUNDLE, envelope))).toBe("RUNTIME_EXPIRED");
    await before.accept(claims);
    expect(await codeOf(after.expect(BUNDLE, envelope))).toBe("accepted");
    const later = envelopeOf({ ...statement, serial: 8 }, ours);
    expect(await codeOf(after.expect(BUNDLE, later))).toBe("RUNTIME_EXPIRED");
  });

  test("is of its application alone", async () => {
    const trust = await trustOf({ memory: newMemory() });
    await trust.accept(await trust.expect(BUNDLE, signed(9)));
    const other = statementAbout(BUNDLE, { serial: 1, application: "an/other ☃" });
    const claims = await trust.expect(BUNDLE, envelopeOf(other, ours));
    await trust.accept(claims);
    expect(await codeOf(trust.expect(BUNDLE, signed(8)))).toBe("RUNTIME_ROLLBACK");
  });

  test("never falls, in whatever order it is accepted", async () => {
    const serials = fc.array(fc.nat({ max: Number.MAX_SAFE_INTEGER }), {
      minLength: 1,
      maxLength: 8,
    });
    const property = fc.asyncProperty(serials, async (accepted) => {
      const memory = newMemory();
      const trust = await trustOf({ memory });
      for (const serial of accepted) {
        await trust.accept({ ...statementAbout(BUNDLE, { serial }), keyId: ours.id });
      }
      const highest = Math.max(...accepted);
      expect(readdirSync(memory)).toHaveLength(1);
      expect(await codeOf(trust.expect(BUNDLE, signed(highest)))).toBe("accepted");
      if (highest === 0) return;
      expect(await codeOf(trust.expect(BUNDLE, signed(highest - 1)))).toBe("RUNTIME_ROLLBACK");
    });
    await fc.assert(property, { numRuns: casesOf(200) });
  });

  test("half written when the power was cut is as if it had not been", async () => {
    const memory = newMemory();
    const before = await trustOf({ memory });
    await before.accept(await before.expect(BUNDLE, signed(7)));
    const [name = ""] = readdirSync(memory);
    writeFileSync(join(memory, `${name.replace(/7\.json$/, "9.json")}.new`), '{"appl');
    const after = await trustOf({ memory });
    expect(await codeOf(after.expect(BUNDLE, signed(8)))).toBe("accepted");
    await after.accept(await after.expect(BUNDLE, signed(10)));
    expect(readdirSync(memory)).toEqual([name.replace(/07\.json$/, "10.json")]);
  });

  test("whose file is damaged refuses all, rather than none", async () => {
    const memory = newMemory();
    const trust = await trustOf({ memory });
    await trust.accept(await trust.expect(BUNDLE, signed(7)));
    const [name = ""] = readdirSync(memory);
    writeFileSync(join(memory, name), "");
    expect(await codeOf(trust.expect(BUNDLE, signed(8)))).toBe("RUNTIME_SERIALS");
  });

  test("that cannot be stored is reported when the site starts", async () => {
    const memory = join(folder, "a-file", "serials");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "a-file"), "");
    expect(await codeOf(trustOf({ memory }))).toBe("RUNTIME_SERIALS");
  });
});
