/** Tables as people see them. */
import { SMALL, tinyBundle } from "../../../support/tiny-bundle.ts";
import { MARKUP, type ShownSubject } from "../shown.ts";

export const ramsisShown: ShownSubject = {
  bundle: tinyBundle({ workers: 2, loadsQps: [20, 40, 80] }),
  markedUp: tinyBundle({ variants: [{ ...SMALL, name: MARKUP }], loadsQps: [20] }),
  hasTables: true,
};
