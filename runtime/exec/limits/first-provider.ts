/** The first provider whose devices run the models, for whoever does not say which. */
import type { Provider } from "../../bundle/schema.ts";
import { messageOf } from "./retries.ts";

/** A provider that was tried, and why the workers do not run on it. */
export interface RefusedProvider {
  readonly provider: Provider;
  readonly reason: string;
}

/** What settings call it. */
export const AUTO = "auto";

/** The order in which `auto` tries them. */
export const AUTO_PROVIDERS: readonly Provider[] = ["cuda", "webgpu", "cpu"];

/**
 * @param start rejects where a provider runs them not.
 * @param onRefused told of each provider before the one that does.
 * @throws Error with the reasons of all, if none does.
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
