import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import {
  expectWritable,
  writeAllAtomically,
  writeAtomically,
} from "../../../compiler/base/atomic-write.ts";
import { ABANDONED_AFTER_MS, ownedName } from "../../../compiler/base/owned-names.ts";
import {
  makeFullDevice,
  makePipe,
  makeSocket,
  mountSmall,
  unmount,
} from "../../../lab/campaign/odd-places.ts";

const root = mkdtempSync(join(tmpdir(), "stratagem-write-"));
afterAll(() => rmSync(root, { recursive: true }));

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(root, "case-"));
});

const bytes = (text: string): Uint8Array => Buffer.from(text);
const at = (name: string): string => join(folder, name);

test("writes all files over old ones, those made when their turn comes too", async () => {
  writeFileSync(at("a"), "old and longer");
  await writeAllAtomically([
    { path: at("a"), bytes: bytes("new") },
    { path: at("b"), bytes: () => bytes("made") },
  ]);
  expect(readFileSync(at("a"), "utf8")).toBe("new");
  expect(readFileSync(at("b"), "utf8")).toBe("made");
  expect(readdirSync(folder).sort()).toEqual(["a", "b"]);
});

test("changes none where one of them cannot be written", async () => {
  writeFileSync(at("a"), "old");
  const files = [
    { path: at("a"), bytes: bytes("new") },
    { path: at("no/such/folder/b"), bytes: bytes("new") },
  ];
  await expect(writeAllAtomically(files)).rejects.toThrow(/no\/such\/folder\/b: expected a place/);
  expect(readFileSync(at("a"), "utf8")).toBe("old");
  expect(readdirSync(folder)).toEqual(["a"]);
});

test("leaves nothing behind where one of them cannot be put in its place", async () => {
  mkdirSync(at("taken"));
  const files = [{ path: at("taken"), bytes: bytes("new") }];
  await expect(writeAllAtomically(files)).rejects.toThrow(/taken: expected a place/);
  expect(readdirSync(folder)).toEqual(["taken"]);
});

test("changes none once it is aborted, however late", async () => {
  writeFileSync(at("a"), "old");
  const controller = new AbortController();
  const files = [
    { path: at("a"), bytes: bytes("new") },
    {
      path: at("b"),
      bytes: () => {
        controller.abort(new Error("interrupted"));
        return bytes("new");
      },
    },
  ];
  await expect(writeAllAtomically(files, controller.signal)).rejects.toThrow("interrupted");
  expect(readFileSync(at("a"), "utf8")).toBe("old");
  expect(readdirSync(folder)).toEqual(["a"]);
});

test.each([
  ["a-folder", "EISDIR"],
  ["a-file/x", "ENOTDIR"],
  ["no/such/x", "ENOENT"],
])("says before the work that %s cannot be written (%s)", async (name, code) => {
  mkdirSync(at("a-folder"));
  writeFileSync(at("a-file"), "");
  await expect(expectWritable(at(name))).rejects.toThrow(`got: ${code}`);
  expect(readdirSync(folder).sort()).toEqual(["a-file", "a-folder"]);
});

test.each(["a-file", "new", "made/new"])("has nothing against writing %s", async (name) => {
  writeFileSync(at("a-file"), "");
  await expect(expectWritable(at(name))).resolves.toBeUndefined();
});

describe("a place without a regular file", () => {
  /** Refused before the work and at its end, and still there. */
  async function isRefused(name: string, reason: string): Promise<void> {
    const { mode, ino } = lstatSync(at(name));
    const message = `${at(name)}: expected a place that can be written, got: ${reason}`;
    await expect(expectWritable(at(name))).rejects.toThrow(message);
    await expect(writeAtomically(at(name), bytes("new"))).rejects.toThrow(message);
    expect(lstatSync(at(name))).toMatchObject({ mode, ino });
    expect(readdirSync(folder).filter((entry) => entry.includes("tmp"))).toEqual([]);
  }

  test("a named pipe is refused, also behind a link", async () => {
    makePipe(at("pipe"));
    symlinkSync("pipe", at("link"));
    await isRefused("pipe", "a named pipe; only files are replaced");
    await isRefused("link", "a named pipe; only files are replaced");
  });

  test("a socket is refused", async () => {
    const close = await makeSocket(at("socket"));
    await isRefused("socket", "a socket; only files are replaced");
    await close();
  });

  test("a device is refused", async ({ skip }) => {
    skip(!makeFullDevice(at("full")), "this user may make no devices");
    await isRefused("full", "a device; only files are replaced");
  });

  test("a circle of links is refused", async () => {
    symlinkSync("b", at("a"));
    symlinkSync("a", at("b"));
    await isRefused("a", "ELOOP");
  });

  test("a name that ends as a folder's does is refused", async () => {
    await expect(expectWritable(`${at("new")}/`)).rejects.toThrow("got: EISDIR");
    await expect(writeAtomically(`${at("new")}/`, bytes("x"))).rejects.toThrow("got: EISDIR");
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("links", () => {
  test("stay, and what they lead to is replaced, over two links and folders", async () => {
    mkdirSync(at("far"));
    writeFileSync(at("far/target"), "old");
    symlinkSync("target", at("far/near"));
    symlinkSync(at("far"), at("folder"));
    symlinkSync("folder/near", at("link"));
    await writeAtomically(at("link"), bytes("new"));
    expect(readFileSync(at("far/target"), "utf8")).toBe("new");
    expect(readlinkSync(at("link"))).toBe("folder/near");
    expect(readlinkSync(at("far/near"))).toBe("target");
    expect(readdirSync(at("far")).sort()).toEqual(["near", "target"]);
  });

  test("whose target is missing stay, and the target is made", async () => {
    symlinkSync("target", at("link"));
    await expectWritable(at("link"));
    await writeAtomically(at("link"), bytes("new"));
    expect(readlinkSync(at("link"))).toBe("target");
    expect(readFileSync(at("target"), "utf8")).toBe("new");
  });

  test("to a descriptor that is open are refused", async ({ skip }) => {
    skip(process.platform !== "linux", "only Linux has such links");
    symlinkSync("/proc/self/fd/1", at("out"));
    await expect(expectWritable(at("out"))).rejects.toThrow("an open descriptor");
    await expect(expectWritable("/dev/stdout")).rejects.toThrow("an open descriptor");
  });

  test("that are hard keep the old bytes under their other names", async () => {
    writeFileSync(at("a"), "old");
    linkSync(at("a"), at("b"));
    await writeAtomically(at("a"), bytes("new"));
    expect([readFileSync(at("a"), "utf8"), readFileSync(at("b"), "utf8")]).toEqual(["new", "old"]);
  });
});

describe("permissions", () => {
  test.each([0o600, 0o640, 0o755, 0o666])("%o stay", async (mode) => {
    writeFileSync(at("a"), "old");
    chmodSync(at("a"), mode);
    await writeAtomically(at("a"), bytes("new"));
    expect(statSync(at("a")).mode & 0o7777).toBe(mode);
  });

  test("of a new file follow the umask", async () => {
    await writeAtomically(at("a"), bytes("new"));
    expect(statSync(at("a")).mode & 0o777).toBe(0o666 & ~process.umask());
  });

  test("stay with owner and group", async ({ skip }) => {
    skip(process.getuid?.() !== 0, "only root gives files away");
    writeFileSync(at("a"), "old");
    chownSync(at("a"), 1234, 2345);
    chmodSync(at("a"), 0o640);
    await writeAtomically(at("a"), bytes("new"));
    expect(statSync(at("a"))).toMatchObject({ uid: 1234, gid: 2345, mode: 0o100640 });
  });
});

describe("what killed processes left", () => {
  const HOUR_MS = 3_600_000;
  const PREFIX = ".stratagem.tmp-";

  function leave(name: string, ageMs = 0): string {
    writeFileSync(at(name), "half");
    const seconds = (Date.now() - ageMs) / 1000;
    utimesSync(at(name), seconds, seconds);
    return name;
  }

  /** A name of the same place with another process. */
  function nameOf(pid: number, start?: string): string {
    const [realm, , own, chance] = ownedName("").split("-");
    return `${PREFIX}${realm}-${pid}-${start ?? own}-${chance}`;
  }

  const elsewhere = (): string => `${PREFIX}${"ab".repeat(6)}-1-1-${"cd".repeat(8)}`;

  test("goes at the next writing, if the process is gone or its number is another's", async () => {
    const { pid } = spawnSync("true");
    leave(nameOf(pid));
    leave(nameOf(process.pid, "1"));
    await writeAtomically(at("a"), bytes("new"));
    expect(readdirSync(folder)).toEqual(["a"]);
  });

  test("stays while the process lives, however old", async () => {
    const ours = leave(ownedName(PREFIX), 100 * ABANDONED_AFTER_MS);
    await writeAtomically(at("a"), bytes("new"));
    expect(readdirSync(folder).sort()).toEqual([ours, "a"].sort());
  });

  test("of a process that cannot be seen goes by its age", async () => {
    const young = leave(elsewhere(), ABANDONED_AFTER_MS - HOUR_MS);
    leave(elsewhere().replace("ab", "cd"), ABANDONED_AFTER_MS + HOUR_MS);
    leave(`${PREFIX}3f0e0f4c-6a5e-4c07-9d0b-1f8f0c3a2b11`, ABANDONED_AFTER_MS + HOUR_MS);
    await writeAtomically(at("a"), bytes("new"));
    expect(readdirSync(folder).sort()).toEqual([young, "a"].sort());
  });

  test("is distinguished from files with similar names", async () => {
    const others = [`${PREFIX}mine`, ".stratagem.tmp", "x.tmp-1"];
    for (const name of others) leave(name, 100 * ABANDONED_AFTER_MS);
    await writeAtomically(at("a"), bytes("new"));
    expect(readdirSync(folder).sort()).toEqual([...others, "a"].sort());
  });
});

test("a full disk leaves the old file and nothing else", async ({ skip }) => {
  skip(!mountSmall(folder, 64), "this user may mount nothing");
  try {
    writeFileSync(at("a"), "old");
    const large = { path: at("a"), bytes: new Uint8Array(2 ** 20) };
    await expect(writeAllAtomically([large])).rejects.toThrow("got: ENOSPC");
    expect(readFileSync(at("a"), "utf8")).toBe("old");
    expect(readdirSync(folder)).toEqual(["a"]);
  } finally {
    unmount(folder);
  }
});

test("two writers of one file leave the whole of one", async () => {
  const contents = ["a", "b"].map((letter) => letter.repeat(2 ** 20));
  for (let round = 0; round < 10; round++) {
    await Promise.all(contents.map((text) => writeAtomically(at("x"), bytes(text))));
    expect(contents).toContain(readFileSync(at("x"), "utf8"));
    expect(readdirSync(folder)).toEqual(["x"]);
  }
});
