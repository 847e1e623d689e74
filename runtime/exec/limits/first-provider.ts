/** Provider `auto`: starts on the first provider whose devices run the models. */
import type { Provider } from "../../bundle/schema.ts";
import { messageOf } from "./retries.ts";

/** A provider that was tried, and why the workers do not run on it. */
export interface RefusedProvider {
  readonly provider: Provider;
  readonly reason: string;
}

/** Value of the setting that selects the first working provider. */
export const AUTO = "auto";

/** Order in which `auto` tries the providers. */
export const AUTO_PROVIDERS: readonly Provider[] = ["cuda", "webgpu", "cpu"];

/**
 * @param start rejects if the provider cannot run the models.
 * @param onRefused called for each provider that was refused before one worked.
 * @throws Error with the reasons of all if none works.
 */
export async function onFirstProvider<E>(
  start: (provider: Provider) => Promise<E>,
  onRefused: (refused: RefusedProvider) => void = () => {},
): Promise<E> {
  const reasons: string[] = [];
  for (const provider of AUTO_PROVIDERS) {
    try {
      return await start(provider);
    } catch (error) {
      const reason = messageOf(error);
      reasons.push(reason);
      if (provider !== AUTO_PROVIDERS.at(-1)) onRefused({ provider, reason });
    }
  }
  throw new Error(`no device runs the models. ${reasons.join(". ")}`);
}
