/** Source of bundles on a web server: a bundle, with its files and sidecars in the same folder. */
import { MAX_BUNDLE_BYTES } from "../../bundles/load-bundle.ts";
import type { ShippedPart } from "../../bundles/shipping/parts.ts";
import {
  MAX_SIDECAR_BYTES,
  SIDECAR_ENDINGS,
  type Sidecar,
} from "../../bundles/shipping/sidecars.ts";
import type { Answer, HttpClient } from "./http-client.ts";
import { type Found, MAX_PART_BYTES, type PolicySource } from "./policy-source.ts";
import { besideOf, redacted } from "./policy-url.ts";
import { AwayError } from "./source-error.ts";

/** Validators of the bundle and of its signature, which may be renewed separately. */
interface Validators {
  readonly bundle: string | null;
  readonly envelope: string | null;
}

export class HttpSource implements PolicySource {
  readonly name: string;
  readonly #url: string;
  readonly #client: HttpClient;

  constructor(url: string, client: HttpClient) {
    this.#url = url;
    this.name = redacted(url);
    this.#client = client;
  }

  async look(validator: string | null, signal: AbortSignal): Promise<Found | null> {
    const known = knownOf(validator);
    const envelopeUrl = this.#sidecar("signature");
    let bundle = await this.#get(this.#url, known.bundle, MAX_BUNDLE_BYTES, signal);
    let envelope = await this.#get(envelopeUrl, known.envelope, MAX_SIDECAR_BYTES, signal);
    if (bundle.kind === "unchanged") {
      if (isStill(envelope, known)) return null;
      bundle = await this.#get(this.#url, null, MAX_BUNDLE_BYTES, signal);
    }
    if (envelope.kind === "unchanged") {
      envelope = await this.#get(envelopeUrl, null, MAX_SIDECAR_BYTES, signal);
    }
    if (bundle.kind !== "found") {
      throw new AwayError(`${this.name}: expected a bundle, got 404 Not Found`);
    }
    const provenance = await this.#get(
      this.#sidecar("provenance"),
      null,
      MAX_SIDECAR_BYTES,
      signal,
    );
    const validators = { bundle: bundle.validator, envelope: validatorOf(envelope) };
    return {
      validator: bundle.validator === null ? null : JSON.stringify(validators),
      bundle: bundle.bytes,
      envelope: bytesOf(envelope),
      provenance: bytesOf(provenance),
      fetch: (part, path, until) => this.#fetch(part, path, until),
    };
  }

  #get(
    url: string,
    validator: string | null,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<Answer> {
    return this.#client.get(url, { validator, maxBytes, signal });
  }

  #fetch({ file }: ShippedPart, path: string, signal: AbortSignal): Promise<number> {
    const url = besideOf(this.#url, file);
    return this.#client.download(url, path, { maxBytes: MAX_PART_BYTES, signal });
  }

  #sidecar(sidecar: Sidecar): string {
    const url = new URL(this.#url);
    url.pathname += SIDECAR_ENDINGS[sidecar];
    return url.href;
  }
}

/** Whether the sidecar is unchanged, or still missing. */
function isStill({ kind }: Answer, { envelope }: Validators): boolean {
  return kind === "unchanged" || (kind === "missing" && envelope === null);
}

function bytesOf(answer: Answer): Uint8Array | null {
  return answer.kind === "found" ? answer.bytes : null;
}

function validatorOf(answer: Answer): string | null {
  return answer.kind === "found" ? answer.validator : null;
}

/** Reads a validator that `look` wrote; anything else counts as unknown. */
function knownOf(validator: string | null): Validators {
  const none = { bundle: null, envelope: null };
  if (validator === null) return none;
  try {
    const { bundle, envelope }: Record<string, unknown> = JSON.parse(validator);
    const text = (value: unknown) => (typeof value === "string" ? value : null);
    return { bundle: text(bundle), envelope: text(envelope) };
  } catch {
    return none;
  }
}
