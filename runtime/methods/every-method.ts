/** Every method, loaded at once, for programs that read bundles synchronously. */
import { accordion } from "./accordion/accordion.ts";
import { inferline } from "./inferline/inferline.ts";
import { loki } from "./loki/loki.ts";
import { ramsis } from "./ramsis/ramsis.ts";
import { keepOpen, type Methods } from "./registry.ts";
import { themis } from "./themis/themis.ts";

export {
  DROP as DROP_QUERY,
  RESHAPE as RESHAPE_QUERY,
  START as START_QUERY,
} from "./accordion/core/commands.ts";
export { methodNamed, methodOf } from "./registry.ts";

const METHODS = { ramsis, loki, inferline, themis, accordion } satisfies Methods;

for (const method of Object.values(METHODS)) keepOpen(method);
