/** What CI does: compiles versions of a policy, holds them to the gate, signs and pushes them. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { CLI, stratagem } from "../harness/cli.ts";

const APP = join("policies", "letters", "app.yaml");
const MODELS = join("models", "image-classification");
/** Of a bundle that may ship. */
const REQUIRED = "feasible; violations <= ceiling";

export interface Version {
  readonly name: string;
  /** Path of its bundle. */
  readonly bundle: string;
}

export class Factory {
  readonly #folder: string;
  /** Where policies go, such as oci://127.0.0.1:5000. */
  readonly registry: string;
  #serial = 0;

  private constructor(folder: string, registry: string) {
    this.#folder = folder;
    this.registry = registry;
  }

  /** Makes the key of CI, and one of somebody else. */
  static async open(folder: string, registry: string): Promise<Factory> {
    for (const name of ["ci", "stranger"]) await stratagem("keygen", "-o", join(folder, name));
    return new Factory(folder, registry);
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
    const spec = join(this.#folder, `${name}.yaml`);
    const text = readFileSync(APP, "utf8").replaceAll("../../", `${resolve(".")}/`);
    writeFileSync(spec, change(text));
    const bundle = `${folder}.msgpack`;
    await stratagem("compile", spec, "-o", bundle, "--require", REQUIRED);
    return { name, bundle };
  }

  /** @returns the exit code of the gate. */
  gate(before: Version, after: Version): Promise<number> {
    const args = [CLI, "gate", before.bundle, after.bundle];
    return new Promise((done) => {
      execFile(process.execPath, args, (error) => done(Number(error?.code ?? 0)));
    });
  }

  /** @param serial left out for the next one. @param key "stranger" for that of somebody else. */
  async sign(
    { bundle }: Version,
    scope: string,
    { serial, key = "ci" }: { readonly serial?: number; readonly key?: string } = {},
  ): Promise<number> {
    const own = serial ?? ++this.#serial;
    const keyFile = join(this.#folder, `${key}.key`);
    await stratagem("sign", bundle, "--key", keyFile, "--serial", own, "--scope", scope);
    return own;
  }

  /** All sites have theirs. */
  next(): void {
    this.#serial++;
  }

  async push({ bundle }: Version, tag: string): Promise<void> {
    await stratagem("push", bundle, this.reference(tag), "--models", MODELS);
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
}
