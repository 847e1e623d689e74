/** What CI does: compiles versions of a policy, holds them to the gate, signs and pushes them. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLI, stratagem } from "../harness/cli.ts";

const APP = join("policies", "letters", "app.yaml");
const PROFILE = join("profiles", "letters", "epyc-2vcpu.json");
const MODELS = join("models", "image-classification");
/** Of a bundle that may ship. */
const REQUIRED = "feasible; violations <= ceiling";
const LOOKUP = "lookup";
/** Opens on the machine that compiles and on no other: nobody ships what code reads by itself. */
const LOOKUP_CODE = `import { readFileSync } from "node:fs";
const table = readFileSync(new URL("./${LOOKUP}.table", import.meta.url));
const logits = (rows) => Float32Array.from({ length: rows * 20 }, (_, at) => table[at % 20]);
export default () => ({
  inputs: [{ name: "pixels", datatype: "UINT8", shape: [4096] }],
  outputs: [{ name: "logits", datatype: "FP32", shape: [20] }],
  run: ({ pixels }) => ({ logits: logits(pixels.length / 4096) }),
});
`;
/** Field 3 of an ONNX model, the version of its producer: a string, the last of which counts. */
const PRODUCER_VERSION = 0x1a;

export interface Version {
  readonly name: string;
  /** Path of its bundle. */
  readonly bundle: string;
}

export interface Signing {
  /** Left out for the next one. */
  readonly serial?: number;
  /** "stranger" for that of somebody else; left out for that of CI. */
  readonly key?: string;
  readonly expires?: string;
}

export class Factory {
  readonly #folder: string;
  readonly #models: string;
  /** Where policies go, such as oci://127.0.0.1:5000. */
  readonly registry: string;
  #serial = 0;

  private constructor(folder: string, registry: string) {
    this.#folder = folder;
    this.#models = join(folder, "models");
    this.registry = registry;
  }

  /** Makes the key of CI, and one of somebody else. */
  static async open(folder: string, registry: string): Promise<Factory> {
    const factory = new Factory(folder, registry);
    for (const name of ["ci", "stranger"]) await stratagem("keygen", "-o", join(folder, name));
    cpSync(MODELS, factory.#models, { recursive: true });
    cpSync(PROFILE, join(folder, "profile.json"));
    writeFileSync(join(factory.#models, `${LOOKUP}.mjs`), LOOKUP_CODE);
    writeFileSync(join(factory.#models, `${LOOKUP}.table`), Buffer.alloc(20));
    return factory;
  }

  get publicKey(): string {
    return join(this.#folder, "ci.pub");
  }

  /** The serial of what was signed last. */
  get serial(): number {
    return this.#serial;
  }

  /** @param change of the spec of letters. */
  async compile(name: string, change: (spec: string) => string): Promise<Version> {
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    const spec = join(folder, "app.yaml");
    const text = readFileSync(APP, "utf8")
      .replaceAll("../../../models/image-classification", this.#models)
      .replaceAll("../../../profiles/letters/epyc-2vcpu.json", "../profile.json");
    writeFileSync(spec, change(text));
    const bundle = join(folder, "bundle.msgpack");
    await stratagem("compile", spec, "-o", bundle, "--require", REQUIRED);
    return { name, bundle };
  }

  /** Puts a model beside those there are. @param from another. @param change of its bytes. */
  addModel(file: string, from: string, change: (bytes: Buffer) => Uint8Array): void {
    writeFileSync(join(this.#models, file), change(readFileSync(join(this.#models, from))));
  }

  /** Puts a profile beside that of the spec, all of whose latencies are a part of the real ones. */
  addFasterProfile(file: string, part: number): void {
    const profile = JSON.parse(readFileSync(PROFILE, "utf8"), (key, value: unknown) => {
      return typeof value === "number" && /^(p50|p95|p99|max|mean)$/.test(key)
        ? value * part
        : value;
    });
    writeFileSync(join(this.#folder, file), JSON.stringify(profile));
  }

  /** @returns the exit code of the gate. */
  gate(before: Version, after: Version): Promise<number> {
    const args = [CLI, "gate", before.bundle, after.bundle];
    return new Promise((done) => {
      execFile(process.execPath, args, (error) => done(Number(error?.code ?? 0)));
    });
  }

  async sign(
    { name, bundle }: Version,
    scope: string,
    { serial, key = "ci", expires }: Signing = {},
  ): Promise<number> {
    const own = serial ?? ++this.#serial;
    const flags = ["--key", join(this.#folder, `${key}.key`), "--serial", own, "--scope", scope];
    const until = expires === undefined ? [] : ["--expires", expires];
    const made = ["--provenance", join(this.#folder, name, "app.yaml")];
    await stratagem("sign", bundle, ...flags, ...until, ...made);
    return own;
  }

  /** All sites have theirs. */
  next(): void {
    this.#serial++;
  }

  async push({ bundle }: Version, tag: string): Promise<void> {
    await stratagem("push", bundle, this.reference(tag), "--models", this.#models);
  }

  reference(tag: string): string {
    return `${this.registry}/letters:${tag}`;
  }

  /** Changes one character of the signature beside a bundle. */
  tamper({ bundle }: Version): void {
    const path = `${bundle}.dsse.json`;
    const envelope = JSON.parse(readFileSync(path, "utf8"));
    const [signature] = envelope.signatures;
    const first = signature.sig[0] === "A" ? "B" : "A";
    signature.sig = first + signature.sig.slice(1);
    writeFileSync(path, JSON.stringify(envelope));
  }

  /** Takes the signature beside a bundle away. */
  unsign({ bundle }: Version): void {
    rmSync(`${bundle}.dsse.json`);
  }
}

/** The same model under another digest. @param version up to 127 letters. */
export function ofVersion(version: string): (bytes: Buffer) => Uint8Array {
  const text = Buffer.from(version);
  return (bytes) => Buffer.concat([bytes, Buffer.from([PRODUCER_VERSION, text.length]), text]);
}

/** With code in the place of the smallest model, which works where that file lies beside it. */
export function withLookup(spec: string): string {
  return spec.replace(/model: (\S+)\/mlp-s\.onnx/, `kind: module, model: $1/${LOOKUP}.mjs`);
}

export function withQueue(maxQueue: number): (spec: string) => string {
  return (spec) => spec.replace(/maxQueue: \d+/, `maxQueue: ${maxQueue}`);
}

/** Without the most accurate model. */
export function withoutBest(spec: string): string {
  return spec.replace(/^.*name: cnn-xl.*\n/m, "");
}

/** With another file in the place of the smallest model. */
export function withSmallest(file: string): (spec: string) => string {
  return (spec) => spec.replace("mlp-s.onnx", file);
}
