/** What the installed packages of a release must be able to do, each trial in a sentence. */
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { command, printed, scripted, whileServing } from "./installed.ts";

export interface Homes {
  /** Where the runtime alone is installed. */
  readonly edge: string;
  /** Where the compiler is, with the runtime. */
  readonly ci: string;
  readonly version: string;
}

export interface Trial {
  readonly name: string;
  /** @returns what was seen. @throws Error with what is wrong. */
  readonly run: (homes: Homes) => string | Promise<string>;
}

const BUNDLE = "letters.msgpack";
const ENVELOPE = `${BUNDLE}.dsse.json`;
const MODELS = "models/image-classification";
const KEY = "release-check";
/** Exit code of a verification that failed. */
const NOT_VERIFIED = 3;
const PIXELS = 64 * 64;
/** Where fixtures of all editions of the bundle format lie. */
const FORMATS = resolve("test/fixtures/formats");

/** In this order: later ones use what earlier ones wrote. */
export const TRIALS: readonly Trial[] = [
  { name: "versions", run: toldVersions },
  { name: "compile", run: compiledAsCommitted },
  { name: "sign", run: signed },
  { name: "tampered", run: tamperedRefused },
  { name: "serve", run: servedSigned },
  { name: "unsigned", run: unsignedRefused },
  { name: "formats", run: formatsRead },
];

/** Lays the examples beside the packages. */
export function layExamples({ edge, ci }: Homes): void {
  for (const data of ["models", "profiles", "policies"]) {
    cpSync(data, join(ci, data), { recursive: true });
  }
  cpSync(MODELS, join(edge, MODELS), { recursive: true });
}

function toldVersions({ edge, ci, version }: Homes): string {
  const told = [
    printed(edge, "stratagem-runtime", ["--version"]).trim(),
    printed(ci, "stratagem-runtime", ["--version"]).trim(),
    printed(ci, "stratagem", ["--version"]).trim(),
  ];
  expectThat(
    told.every((each) => each === version),
    `commands told ${told}, not ${version}`,
  );
  return `all three commands tell ${version}`;
}

function compiledAsCommitted({ ci }: Homes): string {
  printed(ci, "stratagem", ["compile", "policies/letters/app.yaml", "-o", BUNDLE]);
  const bytes = readFileSync(join(ci, BUNDLE));
  const committed = readFileSync("policies/letters/bundle.msgpack");
  expectThat(bytes.equals(committed), "policies/letters is compiled to other bytes than committed");
  return `policies/letters is the committed ${bytes.length} bytes`;
}

function signed({ edge, ci }: Homes): string {
  printed(ci, "stratagem", ["keygen", "-o", KEY]);
  printed(ci, "stratagem", ["sign", BUNDLE, "--key", `${KEY}.key`]);
  for (const file of [BUNDLE, ENVELOPE, `${KEY}.pub`]) cpSync(join(ci, file), join(edge, file));
  printed(ci, "stratagem", ["verify", BUNDLE, "--key", `${KEY}.pub`]);
  printed(edge, "stratagem-runtime", ["verify", BUNDLE, "--key", `${KEY}.pub`]);
  return "both command lines verify what was signed";
}

function tamperedRefused({ edge, ci }: Homes): string {
  const other = `other-${BUNDLE}`;
  cpSync("policies/scenes/bundle.msgpack", join(edge, other));
  cpSync(join(ci, ENVELOPE), join(edge, `${other}.dsse.json`));
  const args = ["verify", other, "--key", `${KEY}.pub`];
  const { status, stdout, stderr } = command(edge, "stratagem-runtime", args);
  expectThat(
    status === NOT_VERIFIED,
    `another bundle under that signature ended with ${status}: ${stdout}${stderr}`,
  );
  return "another bundle under that signature is refused";
}

async function servedSigned({ edge }: Homes): Promise<string> {
  const args = ["--policy", BUNDLE, "--models", MODELS, "--require-signature", `${KEY}.pub`];
  const status = await whileServing(edge, args, async (url) => {
    const data = new Array<number>(PIXELS).fill(255);
    const inputs = [{ name: "pixels", datatype: "UINT8", shape: [1, PIXELS], data }];
    const body = JSON.stringify({ inputs });
    const answer = await fetch(`${url}/v2/models/letters/infer`, { method: "POST", body });
    return answer.status;
  });
  expectThat(status === 200, `an inference was answered ${status}`);
  return "the signed bundle is served, and an inference answered";
}

function unsignedRefused({ edge }: Homes): string {
  const bare = `bare-${BUNDLE}`;
  cpSync(join(edge, BUNDLE), join(edge, bare));
  const args = ["serve", "--policy", bare, "--models", MODELS, "--http", "127.0.0.1:0"];
  const asked = [...args, "--require-signature", `${KEY}.pub`];
  const { status, stderr } = command(edge, "stratagem-runtime", asked);
  expectThat(
    status !== 0 && status !== null && stderr.includes("RUNTIME_UNSIGNED"),
    `a bundle without a signature ended with ${status}: ${stderr}`,
  );
  return "a bundle without a signature is not served";
}

/** Loads every file by the library of the installed runtime, and prints how many there were. */
const LOAD_ALL = `
  import { loadBundle } from "stratagem-runtime";
  for (const file of process.argv.slice(1)) await loadBundle(file);
  console.log(process.argv.length - 1);
`;

function formatsRead({ edge }: Homes): string {
  const files = formatFixtures();
  const { status, stdout, stderr } = scripted(edge, LOAD_ALL, files);
  expectThat(status === 0 && stdout.trim() === `${files.length}`, `formats: ${stderr.trim()}`);
  return `${files.length} bundles of all editions of the format are read`;
}

function formatFixtures(): string[] {
  const files = readdirSync(FORMATS, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".msgpack"))
    .sort();
  expectThat(files.length > 0, `${FORMATS}: expected bundles of all editions, found none`);
  return files.map((name) => join(FORMATS, name));
}

function expectThat(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}
