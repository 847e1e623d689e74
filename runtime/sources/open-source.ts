/** The source of a URL; of registries nothing is loaded where none is named. */
import type { HttpClient } from "./http-client.ts";
import { HttpSource } from "./http-source.ts";
import type { PolicySource } from "./policy-source.ts";
import type { PolicyUrl } from "./policy-url.ts";

export interface OpenSourceOptions {
  readonly client: HttpClient;
  /** Where a file of that digest is put together. */
  readonly partOf: (sha256: string) => string;
  /** Variables that say who we are to a registry. */
  readonly environment: NodeJS.ProcessEnv;
  /** Aborting it ends whatever is under way. */
  readonly signal: AbortSignal;
}

/** @throws RuntimeError RUNTIME_USAGE for a URL that is none of its kind. */
export async function openSource(
  { kind, text }: PolicyUrl,
  options: OpenSourceOptions,
): Promise<PolicySource> {
  switch (kind) {
    case "web":
      return new HttpSource(text, options.client);
    case "registry": {
      const { RegistrySource } = await import("./registry-source.ts");
      return new RegistrySource(text, options);
    }
  }
}
