/** What `-o` does at every kind of place: refused by name with all as it was, or a whole file. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expectWritable, writeAtomically } from "stratagem/internal/base/atomic-write";
import { CLI } from "../experiments/harness/cli.ts";
import { makeFullDevice, makePipe, makeSocket, mountSmall, nobody, unmount } from "./odd-places.ts";
import type { Outcome } from "./part.ts";

interface Place {
  readonly about: string;
  /** Makes the place in an empty folder. @returns false where this user cannot. */
  readonly make: (folder: string) => boolean | undefined;
  /** What is given to `-o`, under that folder unless it begins with a slash. */
  readonly out: string;
  /** What the message says is there; null where the file is to be written. */
  readonly refused: string | null;
  /** What else must be so after it. */
  readonly holds?: (folder: string) => boolean;
  readonly isNobody?: boolean;
}

const PAGE_BYTES = 2 ** 16;
const TOO_LONG = "x".repeat(300);
const text = (path: string): string => readFileSync(path, "utf8");
const permissions = (path: string): number => statSync(path).mode & 0o7777;

/** Makes things and says that it could. */
function made(work: () => void): boolean {
  work();
  return true;
}

const PLACES: readonly Place[] = [
  { about: "a free name", make: () => true, out: "a", refused: null },
  { about: "a folder that can be made", make: () => true, out: "new/a", refused: null },
  { about: "two folders that are missing", make: () => true, out: "no/such/a", refused: "ENOENT" },
  { about: "a name too long", make: () => true, out: TOO_LONG, refused: "ENAMETOOLONG" },
  { about: "a name of a folder", make: () => true, out: "new/", refused: "EISDIR" },
  { about: "no name", make: () => true, out: "", refused: "EISDIR" },
  { about: "/proc", make: () => true, out: "/proc/a", refused: "ENOENT" },
  {
    // As /dev/stdout is one.
    about: "a link to an open descriptor",
    make: (at) => made(() => symlinkSync("/proc/self/fd/1", join(at, "a"))),
    out: "a",
    refused: "an open descriptor",
  },
  {
    about: "a folder",
    make: (at) => made(() => mkdirSync(join(at, "a"))),
    out: "a",
    refused: "EISDIR",
  },
  {
    about: "below a file",
    make: (at) => made(() => writeFileSync(join(at, "a"), "")),
    out: "a/b",
    refused: "ENOTDIR",
  },
  {
    about: "a named pipe",
    make: (at) => made(() => makePipe(join(at, "a"))),
    out: "a",
    refused: "a named pipe",
    holds: (at) => lstatSync(join(at, "a")).isFIFO(),
  },
  {
    about: "a device",
    make: (at) => makeFullDevice(join(at, "a")),
    out: "a",
    refused: "a device",
    holds: (at) => lstatSync(join(at, "a")).isCharacterDevice(),
  },
  {
    about: "a link to a device",
    make: (at) => made(() => symlinkSync("/dev/null", join(at, "a"))),
    out: "a",
    refused: "a device",
    holds: () => lstatSync("/dev/null").isCharacterDevice(),
  },
  {
    about: "a link to a file",
    make: (at) =>
      made(() => {
        mkdirSync(join(at, "far"));
        writeFileSync(join(at, "far/b"), "old");
        symlinkSync("far/b", join(at, "a"));
      }),
    out: "a",
    refused: null,
    holds: (at) =>
      readlinkSync(join(at, "a")) === "far/b" && readdirSync(join(at, "far")).length === 1,
  },
  {
    about: "a link to nothing",
    make: (at) => made(() => symlinkSync("b", join(at, "a"))),
    out: "a",
    refused: null,
    holds: (at) => lstatSync(join(at, "b")).isFile() && readlinkSync(join(at, "a")) === "b",
  },
  {
    about: "a link to itself",
    make: (at) => made(() => symlinkSync("a", join(at, "a"))),
    out: "a",
    refused: "ELOOP",
  },
  {
    about: "a file with another name",
    make: (at) =>
      made(() => {
        writeFileSync(join(at, "b"), "old");
        linkSync(join(at, "b"), join(at, "a"));
      }),
    out: "a",
    refused: null,
    holds: (at) => text(join(at, "b")) === "old",
  },
  {
    about: "a private file",
    make: (at) => made(() => writeFileSync(join(at, "a"), "old", { mode: 0o600 })),
    out: "a",
    refused: null,
    holds: (at) => permissions(join(at, "a")) === 0o600,
  },
  {
    about: "a file of somebody else",
    make: (at) => {
      if (nobody() === null) return false;
      writeFileSync(join(at, "a"), "old", { mode: 0o640 });
      return made(() => chownSync(join(at, "a"), 1234, 2345));
    },
    out: "a",
    refused: null,
    holds: (at) => statSync(join(at, "a")).uid === 1234 && permissions(join(at, "a")) === 0o640,
  },
  {
    about: "a full disk",
    make: (at) => mountSmall(at, 8) && made(() => writeFileSync(join(at, "a"), "old")),
    out: "a",
    refused: "ENOSPC",
    holds: (at) => text(join(at, "a")) === "old" && readdirSync(at).length === 1,
  },
  {
    about: "a folder that may not be written to",
    make: () => nobody() !== null,
    out: "a",
    refused: "EACCES",
    isNobody: true,
  },
  {
    about: "a file that may not be written",
    make: (at) =>
      nobody() !== null &&
      made(() => {
        chmodSync(at, 0o777);
        writeFileSync(join(at, "a"), "old", { mode: 0o644 });
      }),
    out: "a",
    refused: "EACCES",
    holds: (at) => text(join(at, "a")) === "old",
    isNobody: true,
  },
  {
    about: "a file of another in a sticky folder",
    make: (at) =>
      nobody() !== null &&
      made(() => {
        chmodSync(at, 0o1777);
        writeFileSync(join(at, "a"), "old");
        chmodSync(join(at, "a"), 0o666);
      }),
    out: "a",
    refused: "EPERM",
    holds: (at) => text(join(at, "a")) === "old",
    isNobody: true,
  },
];

/**
 * @param bundle path of one, to be reported on.
 * @param isShort whether all but users without rights are tried in this process.
 */
export async function placesTried(
  folder: string,
  bundle: string,
  isShort: boolean,
): Promise<Outcome> {
  chmodSync(folder, 0o755);
  const readable = join(folder, "bundle.msgpack");
  copyFileSync(bundle, readable);
  const lost: string[] = [];
  const skipped: string[] = [];
  let tried = 0;
  for (const [index, place] of PLACES.entries()) {
    const at = join(folder, `place-${index}`);
    mkdirSync(at);
    if (place.make(at) !== true) {
      skipped.push(place.about);
      continue;
    }
    tried++;
    const fault = await faultOf(place, at, readable, isShort);
    if (fault !== null) lost.push(`-o at ${place.about}: ${fault}`);
    if (place.refused === "ENOSPC") unmount(at);
  }
  const socket = join(folder, "socket");
  const close = await makeSocket(socket);
  const { stderr } = await (isShort ? written(socket) : reported(readable, socket, false));
  if (!stderr.includes("a socket")) lost.push(`-o at a socket: ${stderr}`);
  await close();
  const figures: Record<string, string> =
    skipped.length === 0 ? {} : { "this user cannot make": skipped.join("; ") };
  return { tried: tried + 1, lost, figures };
}

/** What went wrong, in words; null where all is as it should be. */
async function faultOf(
  place: Place,
  at: string,
  bundle: string,
  isShort: boolean,
): Promise<string | null> {
  const { out, refused, holds = () => true, isNobody = false } = place;
  const path = out === "" || out.startsWith("/") ? out : `${at}/${out}`;
  const { status, stderr } =
    isShort && !isNobody ? await written(path) : reported(bundle, path, isNobody);
  if (refused === null) {
    if (status !== 0) return `ended with ${status}: ${stderr}`;
    if (!text(path).endsWith("</html>\n")) return "is not whole";
  } else if (status !== 65 || !stderr.includes(`got: ${refused}`)) {
    return `expected a refusal for ${refused}, found exit ${status}: ${stderr}`;
  }
  const temporaries = readdirSync(at).filter((name) => name.includes(".tmp-"));
  if (temporaries.length > 0) return `left ${temporaries.join(", ")}`;
  try {
    return holds(at) ? null : "is not as it was";
  } catch (error) {
    return `is not as it was: ${error}`;
  }
}

interface Ran {
  readonly status: number | null;
  readonly stderr: string;
}

/** What the commands do with a page, as one of them would end. */
async function written(out: string): Promise<Ran> {
  try {
    await expectWritable(out);
    await writeAtomically(out, Buffer.from(`${"x".repeat(PAGE_BYTES)}</html>\n`));
    return { status: 0, stderr: "" };
  } catch (error) {
    return { status: 65, stderr: String(error) };
  }
}

function reported(bundle: string, out: string, isNobody: boolean): Ran {
  const args = [CLI, "report", bundle, "-o", out];
  return spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: 60_000,
    ...(isNobody ? (nobody() ?? {}) : {}),
  });
}
