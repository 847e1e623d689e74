/** Bundles as somebody publishes them: with their models, and signed where somebody has a key. */
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import type { ModelFile } from "../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { envelopeBytes, signedBytes } from "../../runtime/bundles/trust/envelope.ts";
import { keyIdOf } from "../../runtime/bundles/trust/keys.ts";
import {
  SIGNATURE_TYPE,
  type Statement,
  statementBytes,
} from "../../runtime/bundles/trust/statement.ts";
import { tinyBundle } from "./tiny-bundle.ts";

export interface Published {
  readonly bundle: Uint8Array;
  readonly sha256: string;
  /** By the names of files. */
  readonly models: Readonly<Record<string, Uint8Array>>;
}

export interface PublishedOptions {
  readonly application?: string;
  /** What makes it another bundle. */
  readonly sloMs?: number;
  /** Content of its models, by name; left out, both variants have one of a few bytes. */
  readonly models?: Readonly<Record<string, Uint8Array>>;
  /** Whether its models are code. */
  readonly isCode?: boolean;
}

const TENSOR = { dtype: "float32", shape: [-1, 2] } as const;

/** A bundle of two variants, each with a model file. Nobody runs them. */
export function published(options: PublishedOptions = {}): Published {
  const { application = "tiny", sloMs = 100, isCode = false } = options;
  const models = options.models ?? {
    "small.onnx": bytesOf("small"),
    "large.onnx": bytesOf("large"),
  };
  const names = Object.keys(models);
  const tiny = tinyBundle({ sloMs });
  const tasks = tiny.tasks.map((task) => ({
    ...task,
    variants: task.variants.map((variant, index) => {
      const file = names[index % names.length] ?? "";
      const content = models[file] ?? bytesOf("");
      const model: ModelFile = {
        file,
        sha256: digestOf(content),
        inputs: [{ name: "x", ...TENSOR }],
        outputs: [{ name: "y", ...TENSOR }],
        ...(isCode ? { module: { specifier: null, options: "{}" } } : {}),
      };
      return { ...variant, model };
    }),
  }));
  const bundle = encodeBundle({ ...tiny, application, tasks });
  return { bundle, sha256: digestOf(bundle), models };
}

export interface Signer {
  readonly key: KeyObject;
  readonly pem: string;
}

export function signer(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { key: privateKey, pem: publicKey.export({ type: "spki", format: "pem" }).toString() };
}

/** @param claims of the statement that are other than usual. */
export function signed(
  { bundle, sha256, models }: Published,
  { key, pem }: Signer,
  claims: Partial<Statement> = {},
): Uint8Array {
  const payload = statementBytes({
    ...{ sha256, bytes: bundle.length, application: "tiny", serial: 1 },
    issuedAt: "2026-11-23T12:00:00.000Z",
    expiresAt: null,
    scope: {},
    models: Object.entries(models).map(([file, bytes]) => ({ file, sha256: digestOf(bytes) })),
    ...claims,
  });
  const signature = sign(null, signedBytes(SIGNATURE_TYPE, payload), key);
  const keyId = keyIdOf(createPublicKey(pem));
  return envelopeBytes({
    payloadType: SIGNATURE_TYPE,
    payload,
    signatures: [{ keyId, signature }],
  });
}

export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}
